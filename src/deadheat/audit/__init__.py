"""Then and now: a stored replay beside the published figures, and what those are worth."""
