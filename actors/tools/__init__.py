"""The user's tools: the tools file, the meaning of names in plans, the workspace, and the actors that call tools."""
