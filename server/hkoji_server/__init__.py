"""The turn service: keeps every game as a signed, append-only log, referees moves, shows each seat its own cards.

Layers, each knowing only those below: app (composition root) > routes (HTTP) > service (use cases) > store > settings.
"""
