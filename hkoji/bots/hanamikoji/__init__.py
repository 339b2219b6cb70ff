"""The bots for Hanamikoji: a small model of a round, the worth of markers, beliefs, and play."""
