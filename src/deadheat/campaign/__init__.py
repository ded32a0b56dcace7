"""Campaigns: plan, enter, race or run alone, conclude, resume."""
