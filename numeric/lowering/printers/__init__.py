"""Printers: one for each target, which writes steps as its source."""
