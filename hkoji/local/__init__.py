"""Games on one machine, without any set-up: a service over a folder, in this process, and a bot as the opponent.

Keys, signatures, receipts and logs are as in a game by correspondence, and both seats are played through
`hkoji.client`. The package is independent of the command line.
"""
