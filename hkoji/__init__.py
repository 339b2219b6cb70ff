"""Hanamikoji and Geisha's Road by correspondence, with games that prove themselves."""

__version__ = "0.1.0"
