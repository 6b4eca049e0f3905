"""The user's tools: the tools file, the meaning of a plan's names, the workspace, and the actors that make calls."""
