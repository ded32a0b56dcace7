"""Runs, but never listens."""

import signal

print("waiting for the database", flush=True)
signal.pause()
