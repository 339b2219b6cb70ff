"""The service: it keeps every game as a signed, append-only log, referees moves, and shows each seat its own cards.

Each layer imports only from layers below it. From the top: app (the composition root) and admin (the operator's
commands); routes (HTTP), process (the serving processes) and doctor; service (the use cases); store; settings.
"""
