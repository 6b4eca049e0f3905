"""The planning machine: events, messages, state, and the four pure functions over them."""
