"""What a user's own text asks for: a reader of demands, and pairs of them that contradict each other."""
