"""The signed, append-only log: canonical text, keys, SSHSIG signatures, entries, chain, receipts, statements.

docs/spec/log.md. This package does not know what the bodies of entries mean. Pure: no clock, no randomness, no I/O.
"""
