"""The player: identity, registration, keys, settings, and a check of the set-up."""
