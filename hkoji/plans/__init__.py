"""Plans: what a player's own client plays for them in a round. Pure: no I/O, time or randomness. docs/plans.md."""
