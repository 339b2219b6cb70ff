"""The serving processes: sockets, connections with deadlines, workers, log lines. They know no game and no store."""
