"""The operations on the runs of a home that a server offers to people and programs, over HTTP, pages or MCP."""
