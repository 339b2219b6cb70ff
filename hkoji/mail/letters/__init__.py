"""Letters: what the service writes to players who play by mail, as text and as bytes. No I/O, no clock."""
