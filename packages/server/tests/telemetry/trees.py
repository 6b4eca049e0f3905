"""Checks of spans that were received: that they are whole trees, and that repetitions are the same."""

from collections import defaultdict
from typing import Any

from tests.support.collector import attributes


def unique(spans: list[Any]) -> dict[tuple[bytes, bytes], Any]:
    """Return the spans by trace and id; every repetition must be the same, byte for byte."""
    found: dict[tuple[bytes, bytes], bytes] = {}
    known = {}
    for span in spans:
        key, encoded = (span.trace_id, span.span_id), span.SerializeToString(deterministic=True)
        assert found.setdefault(key, encoded) == encoded, f"another {span.name} under one id"
        known[key] = span
    return known


def repeated(spans: list[Any]) -> int:
    """Return how many of the spans were received before."""
    return len(spans) - len(unique(spans))


def check_whole(spans: list[Any]) -> dict[bytes, Any]:
    """Check that each trace is one tree with its parents; return the span of each run by trace."""
    roots, known = {}, unique(spans)
    for (trace, _), span in known.items():
        assert span.start_time_unix_nano <= span.end_time_unix_nano, span.name
        if span.parent_span_id:
            assert (trace, span.parent_span_id) in known, f"{span.name} has no parent"
        else:
            assert trace not in roots, "a trace has two roots"
            roots[trace] = span
    assert roots.keys() == {trace for trace, _ in known}
    return roots


def shape(spans: list[Any]) -> Any:
    """Return the names of a trace's spans as nested lists, in the order of their records."""
    children = defaultdict(list)
    for span in unique(spans).values():
        children[span.parent_span_id].append(span)
    for below in children.values():
        below.sort(key=lambda span: (attributes(span)["replan.seq"], span.start_time_unix_nano, span.name))

    def lines(parent: bytes) -> list[Any]:
        return [[span.name, *lines(span.span_id)] for span in children[parent]]

    return lines(b"")
