"""The files of a player's client and their locks: the player's home, and a folder for each game.

Nothing in here asks a service.
"""
