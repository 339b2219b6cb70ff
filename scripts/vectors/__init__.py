"""Test vectors of the log format, a module for each file: formulas of the specification, and tables."""
