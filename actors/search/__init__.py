"""The search: it decides which step is tried, retried or redone next, within limits on visits and attempts."""
