"""Reports of a stored run: one file a format."""
