"""Race HTTP servers honestly: build, start, verify and load them, and say which are a dead heat."""

__version__ = "0.2.0"
