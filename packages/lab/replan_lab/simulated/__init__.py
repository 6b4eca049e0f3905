"""The simulated author: a seeded model for experiments whose artifacts are wrong at known rates, for known causes."""
