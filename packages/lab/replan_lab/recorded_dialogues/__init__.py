"""Uses recorded dialogues of real models: evaluates policies and orders of work, and fits the simulated author."""
