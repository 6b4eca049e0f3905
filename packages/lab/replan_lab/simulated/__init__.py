"""The simulated author: a model for experiments whose replies depend on a seed.

Its artifacts are wrong at known rates and for known causes.
"""
