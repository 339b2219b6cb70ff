"""`hkoji play`: a game at the prompt."""
