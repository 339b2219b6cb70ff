"""What a player's client keeps on disk: files and their locks, the player's home, and a folder for each game.

Nothing in here asks a service.
"""
