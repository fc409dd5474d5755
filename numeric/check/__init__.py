"""Whether a derivative is right: differences, many digits, and what holds them side by side."""
