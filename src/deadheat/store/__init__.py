"""Every run, kept whole in one SQLite file."""

from deadheat.store.records import Gate, TrialRecord
from deadheat.store.store import Store, StoreError, home

__all__ = ["Gate", "Store", "StoreError", "TrialRecord", "home"]
