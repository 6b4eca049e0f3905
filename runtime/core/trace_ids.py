"""The ids of traces and spans: hashes of a run's id and of places in it, so every process makes the same ones. Pure.

They have the lengths that OpenTelemetry and W3C Trace Context fix: 128 bits for a trace, 64 for a span.
"""

from hashlib import sha256


def trace_id(run: str) -> int:
    """Return the id of a run's trace. A run has one, however often it is resumed."""
    return _hashed(f"replan trace\n{run}", 16)


def span_id(run: str, seq: int, part: str = "") -> int:
    """Return the id of the span that the record at a place begins; `part` tells apart several of one record.

    The span of the whole run begins with its first record.
    """
    return _hashed(f"replan span\n{run}\n{seq}\n{part}", 8)


def _hashed(text: str, size: int) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:size]) or 1  # Zero is no valid id.
