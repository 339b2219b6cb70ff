"""The player's side as a library: `Client` does what the commands do, and is what programs import.

Light to import on purpose; it knows no command line.
"""
