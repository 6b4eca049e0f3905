"""Names of processes, which show whether a process still runs; and commands in their own process groups."""
