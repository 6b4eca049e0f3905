"""The search: which step may be tried, retried or gone back to, within visits and attempts."""
