"""Starts, verifies, warms and measures one instance."""
