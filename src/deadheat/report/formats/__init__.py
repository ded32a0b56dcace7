"""One file for each report format."""
