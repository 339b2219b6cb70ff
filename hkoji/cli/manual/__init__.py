"""`hkoji rules` and `hkoji deck`: pages to read."""
