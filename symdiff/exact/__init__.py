"""What is known exactly: values to any number of digits, components, patterns and counts."""
