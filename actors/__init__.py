"""Planning and execution: their pure machines, the actors that do the work, and the guards."""
