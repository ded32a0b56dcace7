"""Plan, build, start, verify, warm, measure, store."""
