"""`replan mcp`: serves the runs of a home to programs that speak the Model Context Protocol, over stdio or HTTP."""
