"""The study of games: what each seat saw at the time, the stops of a replay, and counts over many games.

This package does no I/O; the command line handles files, terminals and processes. It trusts signatures, as replay does.
The audit checks whether a log is genuine.
"""
