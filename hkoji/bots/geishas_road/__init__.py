"""The bots for Geisha's Road: a small model of a round, the worth of a round, beliefs, and play."""
