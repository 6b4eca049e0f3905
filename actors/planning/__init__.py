"""The planning machine: events, messages, state, and the four pure functions that use them."""
