"""`hkoji arena` and `hkoji bot`."""
