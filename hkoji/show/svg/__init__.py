"""Drawings as SVG text: what the tables of all games share, and bar charts.

A drawing reads a position as one observer knows it and nothing else, so it can show no more. All art is this project's
own; every colour has a letter or a number beside it, so that nobody has to distinguish colours.
"""
