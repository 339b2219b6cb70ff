"""Play by mail, without I/O: what mails say, what letters say, and what binds them to entries of a log."""
