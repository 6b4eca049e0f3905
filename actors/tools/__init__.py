"""The user's tools: the tools file, what a plan's names stand for, the workspace, and the actors that make calls."""
