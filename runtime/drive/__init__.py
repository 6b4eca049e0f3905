"""Driving one run: the supervisor, its actors, the lease and the run's records."""
