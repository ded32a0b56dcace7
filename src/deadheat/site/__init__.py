"""A static gallery of runs: files that a browser shows without a server and without network."""
