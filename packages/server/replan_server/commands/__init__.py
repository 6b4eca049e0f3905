"""The commands of replan-server."""
