"""The user's tools: the tools file, what names in plans stand for, the workspace, and the actors that call tools."""
