"""Geisha's Road for people: its board and its drawing."""
