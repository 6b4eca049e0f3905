"""The planning: pure machines, the actors that are their hands, and the guards."""
