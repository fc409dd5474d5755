"""Tests of the checks of derivatives."""
