"""The use cases, which know no web framework. The routes call them; for plain reads they also call the store."""
