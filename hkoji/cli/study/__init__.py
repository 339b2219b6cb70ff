"""`hkoji replay` and `hkoji stats`."""
