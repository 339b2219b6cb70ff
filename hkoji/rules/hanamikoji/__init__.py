"""Hanamikoji, all editions: ruleset (options), state (the machine), actions, scoring, notation."""
