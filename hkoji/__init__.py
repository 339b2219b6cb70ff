"""Hanamikoji and Geisha's Road by correspondence; every game is a signed log that anyone can check."""

__version__ = "0.1.0"
