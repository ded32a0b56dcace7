"""`StoreError`: what the store's readers and writers raise."""

from deadheat.errors import DeadheatError


class StoreError(DeadheatError):
    """The store cannot be opened, read or written."""
