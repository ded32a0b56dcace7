"""A stored replay beside the published figures, and the defects of both."""
