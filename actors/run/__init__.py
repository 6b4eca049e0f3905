"""The parts that every agent has: calls, waits, questions, messages of its user, parking and its end. Pure."""
