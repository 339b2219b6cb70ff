"""The use cases. HTTP, and later mail, call these and nothing below; they know no web framework."""
