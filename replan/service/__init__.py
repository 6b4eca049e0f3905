"""What programs and people may do to the runs of one home through a server, whatever they speak: HTTP, pages or MCP."""
