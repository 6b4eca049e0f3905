"""The search: which step may be tried, retried or redone next, within its limits of visits and attempts."""
