"""Promises that the shell does not keep yet. The simulation leaves them out; set one to True to see who breaks it."""

WAKES_AT_THE_DEADLINE = False
"""A run that waits for people is ended when it is driven after its deadline, as the `next_wake` of its row asks for."""

ERRORS_AMID_APPENDS = False
"""A driver that is cancelled from outside, or cannot renew its lease, says so and lets the run go, at any moment."""

STOPS_BEFORE_THE_START = False
"""A stop that is wished for before a new run has its first record asks for nothing."""
