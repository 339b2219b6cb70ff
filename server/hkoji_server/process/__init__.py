"""Processes that serve: listening, connections and their deadlines, workers, logs. It knows no game and no store."""
