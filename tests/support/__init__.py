"""What tests share: oracles, generators, tables and cases."""
