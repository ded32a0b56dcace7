"""Validity checks of one trial: each has a reading, a threshold and advice."""
