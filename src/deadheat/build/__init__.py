"""Builds servers from their lock files, several at a time, in folders named by content."""
