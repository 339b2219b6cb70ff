"""Matches between bots over duplicate deals: every deal is played twice, with the seats exchanged.

Knows bots, rules and the referee; no client, no service and no command line. Clock and folder are handed in.
"""
