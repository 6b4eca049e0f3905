"""The demands of the user's texts, and what a plan does about each."""
