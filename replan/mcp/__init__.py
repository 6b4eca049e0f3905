"""`replan mcp`: the runs of a home for programs that speak the Model Context Protocol, over stdio or HTTP."""
