"""The simulated author: a seeded world in which an artifact can be wrong for a cause that lies further up."""
