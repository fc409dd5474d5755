"""Helpers that tests share: oracles, generators, tables and cases."""
