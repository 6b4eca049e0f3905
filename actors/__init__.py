"""Planning, execution and acquisition: their pure machines, the actors that do the work, and the guards."""
