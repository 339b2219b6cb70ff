"""Geisha's Road: ruleset (options), state (the machine), road (places and lanterns), actions, scoring, notation."""
