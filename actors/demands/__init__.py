"""Finds what the user's texts ask for (demands), and shows how a plan treats each demand."""
