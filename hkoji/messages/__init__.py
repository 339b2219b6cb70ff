"""Messages that can be shown in another language."""
