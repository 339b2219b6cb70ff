"""Games as logs: kinds of entry, dealing, the course of a game, replays and positions. This package does no I/O.

Time, entropy and keys are arguments; files, sockets and databases belong to the callers.
"""
