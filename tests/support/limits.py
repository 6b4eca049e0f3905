"""A value of each limit, and whether a run that is prepared with it is held to it: for runs of every kind."""

import json

from actors.run.limits import LIMITS, seconds_of
from runtime.core.ledger import MICRO

VALUES = {
    "max_calls": 7,
    "max_tokens": 9_000,
    "max_cost": 2.5,
    "deadline": "2h",
    "active_time": "15m",
    "patience": 90.0,
    "stop_below": 0.25,
    "keep_trying": True,
    "at_limit": "ask",
    "output_tokens_max": 777,
    "timeout": "45s",
    "compact": True,
}
HELD = {
    "max_calls": ("calls", 7),
    "max_tokens": ("tokens", 9_000),
    "max_cost": ("micro_usd", 2.5 * MICRO),
    "deadline": ("deadline", None),
    "active_time": ("active_seconds", 900.0),
    "patience": ("patience_seconds", 90.0),
    "stop_below": ("stop_below", 0.25),
    "keep_trying": ("stop_below", 0.0),
    "at_limit": ("at_limit", "ask"),
}
"""What the run is held to after each: a field of the ledger's limits, and its value."""


def check_limit(name, request, usual):
    """Check that a run which is prepared with a limit of `VALUES` is held to it, and a usual one is not."""
    if name not in HELD:
        written = (request.config if hasattr(request, "config") else request.pinned).model_dump_json()
        value = seconds_of(VALUES[name]) if LIMITS[name].unit == "time" else VALUES[name]
        assert json.dumps(value) in written
        return
    field, value = HELD[name]
    held = getattr(request.limits, field)
    if name == "deadline":
        assert usual.limits.deadline is None
        assert held > 7_200
    else:
        assert held == value != getattr(usual.limits, field)
