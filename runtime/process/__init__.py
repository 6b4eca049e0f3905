"""Names of processes, which show whether the process still runs, and commands in their own process groups."""
