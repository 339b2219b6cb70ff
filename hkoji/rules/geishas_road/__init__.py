"""Geisha's Road: ruleset (options and the machine), position (and scoring), road (lanterns), actions (and notation)."""
