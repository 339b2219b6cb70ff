"""Fuzzing of everything that reads what comes from outside. `scripts/fuzz` runs it; docs/quality.md has the figures."""
