"""Drawings as SVG text: positions of each game, and bar charts. Pure: the same input gives the same bytes.

A drawing of a position reads a position as one observer knows it and nothing else, so it can show no more. All art is
this project's own; every colour has a letter or a number beside it, so that nobody has to tell colours apart.
"""
