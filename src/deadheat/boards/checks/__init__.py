"""Pure checks of a board: figures in, findings out."""
