"""Hanamikoji for people: its board, its drawing, and its cards on the Everdeck."""
