"""One file for each format of a board; `read` finds out which one a file has."""
