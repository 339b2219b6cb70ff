"""Files of logs: finding them, splitting them, reading the games in them."""
