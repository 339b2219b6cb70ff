"""Games on one machine, with nothing to set up: a service over a folder in this process, and a bot that sits opposite.

Nothing is pretended: keys, signatures, receipts and logs are those of a game by correspondence, and both seats are
played through `hkoji.client`. It knows no command line.
"""
