"""`hkoji admin`: what the command line prints of a service."""
