"""The user's tools: the tools file, its bindings to names in plans, the workspace, and the actors that call tools."""
