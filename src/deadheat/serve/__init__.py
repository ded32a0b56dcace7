"""The page in a browser: every stored run, and one that is under way. Reads the store only."""
