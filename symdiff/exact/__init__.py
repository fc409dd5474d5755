"""Exact facts about expressions: values to any number of digits, components, patterns, counts."""
