"""Matches between bots over duplicate deals: every deal is played twice, with the seats exchanged.

This package uses the bots, the rules and the referee, but no client, service or command line.
"""
