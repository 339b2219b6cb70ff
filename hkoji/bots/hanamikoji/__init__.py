"""How bots think about Hanamikoji: a small model of a round, what markers are worth, beliefs, play."""
