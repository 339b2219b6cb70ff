"""Matches between bots over duplicate deals: every deal is played twice, with the seats exchanged.

This package knows the bots, the rules and the referee, but no client, service or command line. Callers pass the clock
and the folder.
"""
