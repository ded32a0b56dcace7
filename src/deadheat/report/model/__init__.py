"""A stored run as a report sees it."""
