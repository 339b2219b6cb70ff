"""Hanamikoji, all editions: ruleset (options and the machine), position (and scoring), actions (and notation)."""
