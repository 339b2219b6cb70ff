"""Studying games: what each seat saw at the time, where to stop in a replay, and counts over many games.

Pure, like the rules: files, terminals and processes are the command line's affair. It trusts signatures, as replay
does; whether a log is genuine the audit says.
"""
