"""Statistics: pure functions on arrays. Nothing here imports another room of deadheat."""
