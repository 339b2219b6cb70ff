"""Players: names and keys, logins, limits, and the mailboxes of those who play by mail.

A player is a name with a key. Everything that a player says is signed, so the service keeps no passwords. The service
holds the key of a player who plays by mail only, and certifies that it does.
"""
