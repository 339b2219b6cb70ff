"""Drawings as SVG text: what the tables of all games share, and bar charts.

A drawing reads only a position as one observer knows it, so it cannot show more. All art is this project's own. Beside
every colour stands a letter or a number, so that readers need not distinguish colours.
"""
