"""How bots think about Geisha's Road: a small model of a round, beliefs, play."""
