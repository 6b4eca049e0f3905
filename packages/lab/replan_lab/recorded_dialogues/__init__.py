"""Recorded dialogues of real models: policies that choose the next move, schedules, and the simulated author."""
