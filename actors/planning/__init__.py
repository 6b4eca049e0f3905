"""The planning machine: events, messages, state, and four pure functions on them."""
