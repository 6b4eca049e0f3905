"""Assigns runs to workers with the job queues of Procrastinate. A job is only a hint: no run depends on it."""
