"""What every agent has, whatever it works on: calls, waits, questions, messages of its user, parking and its end. Pure."""
