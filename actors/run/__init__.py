"""The parts that every kind of agent shares: calls, waits, questions, user messages, parking and the end. Pure."""
