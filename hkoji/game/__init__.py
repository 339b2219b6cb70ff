"""Where rules and log meet: dealing, refereeing, replaying, viewing and auditing, all without I/O.

Time, entropy and keys come in as arguments; files, sockets and databases belong to the callers.
"""
