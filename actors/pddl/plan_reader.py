"""Reads a sequential plan as planners write it: an action in parentheses after the other, and comments. Pure."""

import re

from actors.pddl.domain import PlanAction
from actors.pddl.expressions import PddlFile, Word, read_expressions, shown

ACTIONS_MAX = 5_000
"""The most actions of a plan."""
_TIME = re.compile(r"\d+(?:\.\d+)?:")


def read_plan_actions(text: str, name: str) -> list[PlanAction]:
    """Return the actions in their order; `name` is the plan's file. Raises `UsageProblem`, a line with the place.

    A number with a colon before an action, as `0:` or `0.000:`, is its place in the order and must rise.
    """
    source = PddlFile(name)
    actions: list[PlanAction] = []
    last = -1.0
    for item in read_expressions(text, source):
        if isinstance(item, Word):
            if item.text.startswith("["):
                source.refuse(f"the duration {shown(item)} is not supported", item.line, "leave durations out")
            if not _TIME.fullmatch(item.text):
                source.refuse(f"{shown(item)} is no action", item.line, "an action is (name object ...)")
            time = float(item.text[:-1])
            if time <= last:
                source.refuse("actions at the same time are not supported", item.line, "order them")
            last = time
            continue
        if not item.items or not all(isinstance(part, Word) for part in item.items):
            source.refuse(f"{shown(item)} is no action", item.line, "an action is (name object ...)")
        words = [part.text for part in item.items if isinstance(part, Word)]
        actions.append(PlanAction(words[0], tuple(words[1:]), item.line))
        if len(actions) > ACTIONS_MAX:
            source.refuse(f"more than {ACTIONS_MAX:,} actions", item.line, "check the plan in parts")
    return actions
