"""`hkoji serve` and `hkoji admin`: runs a service and maintains it."""
