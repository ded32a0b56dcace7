"""What a stored run shows: ranks, conclusions, cautions, limits."""
