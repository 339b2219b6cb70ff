"""Games by correspondence: actions, watching, export."""
