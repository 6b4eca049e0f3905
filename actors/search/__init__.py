"""The search: which step may be tried, retried or redone next, within limits on visits and attempts."""
