"""Games on one machine, without any set-up: a service over a folder, in this process, and a bot as the opponent.

Keys, signatures, receipts and logs are those of a game by correspondence, and both seats are played through
`hkoji.client`. It knows no command line.
"""
