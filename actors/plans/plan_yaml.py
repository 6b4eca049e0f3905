"""A plan as YAML, which a person edits, and the difference between two plans. Pure."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from actors.files.yaml_document import parse_document

_PLAN = ("plan_id", "goal", "initial_state", "goal_state", "total_retry_budget")
_STEP = (
    "step_id",
    "name",
    "description",
    "generator",
    "guard",
    "retry_budget",
    "dependencies",
    "preconditions",
    "effects",
)
LINES_MAX = 400
"""The largest number of lines of a difference that are shown."""


def plan_as_yaml(value: Mapping[str, Any], comments: Iterable[str] = ()) -> str:
    """Return a plan, given as JSON, as YAML. The comments stand above it; they are ignored when it is read."""
    head = "".join(f"# {row}".rstrip() + "\n" for comment in comments for row in comment.splitlines() or [""])
    steps = [_in_order(step, _STEP) if isinstance(step, Mapping) else step for step in value.get("steps", ())]
    return head + yaml.safe_dump(
        _in_order({**value, "steps": steps}, _PLAN), sort_keys=False, allow_unicode=True, width=110
    )


def _in_order(value: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return a mapping that begins with some keys, as far as it has them. The others follow, and `steps` are last."""
    rest = [key for key in value if key not in keys and key != "steps"]
    return {key: value[key] for key in (*keys, *rest, "steps") if key in value}


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
