"""Play by mail, without I/O: what mails say, what letters say, and what binds them to entries of a log.

`mail` reads a mail once, into the value `Mail`. Everything else that is asked of a mail is asked of that value.
"""
