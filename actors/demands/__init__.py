"""What a user's own text asks for, and what a plan does about it."""
