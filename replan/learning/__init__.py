"""What recorded runs say about the numbers of a belief policy."""
