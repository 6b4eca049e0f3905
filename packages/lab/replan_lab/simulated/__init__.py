"""The simulated author: a seeded model for experiments. Its artifacts are wrong at known rates and for known causes."""
