"""From ratios with joint intervals to verdicts and ranks."""
