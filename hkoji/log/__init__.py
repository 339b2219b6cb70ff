"""The signed, append-only log: canonical text, keys, SSHSIG signatures, entries, chain, receipts, statements.

docs/spec/log.md. Bodies are opaque here: the log does not know what it carries. Pure: no clock, no randomness, no I/O.
"""
