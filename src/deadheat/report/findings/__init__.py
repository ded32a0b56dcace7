"""What follows from a run: ranks, conclusions, cautions, limits."""
