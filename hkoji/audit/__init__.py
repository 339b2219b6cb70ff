"""The audit of finished and running logs, of evidence, and of many logs against one another. Pure."""
