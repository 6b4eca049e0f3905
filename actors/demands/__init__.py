"""The demands of the user's texts, and how a plan treats each demand."""
