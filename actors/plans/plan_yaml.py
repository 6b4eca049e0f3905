"""A plan as YAML, which a person edits, and the difference between two plans. Pure."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from actors.files.yaml_document import parse_document

LINES_MAX = 400
"""The largest number of lines of a difference that are shown."""


def plan_as_yaml(value: Mapping[str, Any], comments: Iterable[str] = ()) -> str:
    """Return a plan, given as JSON, as YAML. The comments stand above it; they are ignored when it is read."""
    head = "".join(f"# {row}".rstrip() + "\n" for comment in comments for row in comment.splitlines() or [""])
    return head + yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True, width=110)


def read_plan_yaml(text: str, source: str) -> dict[str, Any]:
    """Return the plan in a text as JSON. `source` is the place for errors. Raises `UsageProblem`."""
    return dict(parse_document(text, source).value)


def plan_diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the lines of YAML that differ between two plans, each after `+`, `-` or a space; empty if none does."""
    old, new = (plan_as_yaml(value).splitlines() for value in (before, after))
    rows = list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]
    shown = [row for row in rows if not row.startswith("@@")]
    more = [f"  and {len(shown) - LINES_MAX:,} more lines"] if len(shown) > LINES_MAX else []
    return [*shown[:LINES_MAX], *more]
