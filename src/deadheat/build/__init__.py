"""Builds servers from their lock files, content-addressed, several at a time."""
