"""Reads lists of actions from a model's answer in JSON, and from the text file that a planner wrote. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from actors.values.findings import Code, Finding
from actors.values.format import describe_value
from replan_lab.pddl.domain import PlanAction
from replan_lab.pddl.expressions import PddlFile, Word, format_expression, read_expressions

ACTIONS_MAX = 5_000
"""The largest number of actions in a plan."""
_TIME = re.compile(r"\d+(?:\.\d+)?:")


def read_plan_actions(text: str, name: str) -> list[PlanAction]:
    """Return the actions in their order. `name` is the plan's file.

    Before an action, the text may have a number and a colon, such as `0:` or `0.000:`. The numbers must increase.

    Raises:
        UsageProblem: an item is not an action, or the numbers do not increase. The error names the line.
    """
    source = PddlFile(name)
    actions: list[PlanAction] = []
    last = -1.0
    for item in read_expressions(text, source):
        if isinstance(item, Word):
            if item.text.startswith("["):
                source.refuse(
                    f"the duration {format_expression(item)} is not supported", item.line, "leave durations out"
                )
            if not _TIME.fullmatch(item.text):
                source.refuse(
                    f"{format_expression(item)} is not an action", item.line, "an action is (name object ...)"
                )
            time = float(item.text[:-1])
            if time <= last:
                source.refuse("simultaneous actions are not supported", item.line, "give each action a larger number")
            last = time
            continue
        if not item.items or not all(isinstance(part, Word) for part in item.items):
            source.refuse(f"{format_expression(item)} is not an action", item.line, "an action is (name object ...)")
        words = [part.text for part in item.items if isinstance(part, Word)]
        actions.append(PlanAction(words[0], tuple(words[1:]), item.line))
        if len(actions) > ACTIONS_MAX:
            source.refuse(f"more than {ACTIONS_MAX:,} actions", item.line, "check the plan in parts")
    return actions


_WORDS = re.compile(r"[^\s(),]+")


def actions_in(value: Any) -> tuple[list[PlanAction], tuple[Finding, ...]]:
    """Return the actions in a model's answer, and an error message for each item that is not an action. Never raises.

    `(move a b)`, `move a b` and `move(a, b)` are the same action.
    """
    if not isinstance(value, Mapping):
        return [], (_error(Code.NOT_OBJECT, "", f"The answer must be a JSON object, not {describe_value(value)}."),)
    items = value.get("actions")
    if not isinstance(items, list):
        code = Code.TYPE if "actions" in value else Code.MISSING
        text = 'actions must be a list of texts, such as ["(move a b)"], in the order in which they are carried out.'
        return [], (_error(code, "actions", text),)
    if len(items) > ACTIONS_MAX:
        return [], (_error(Code.TOO_LARGE, "actions", f"More than {ACTIONS_MAX:,} actions; find a shorter way."),)
    actions = [(index, _action(item)) for index, item in enumerate(items)]
    errors = tuple(_wrong(index, items[index]) for index, action in actions if action is None)
    return [action for _, action in actions if action is not None], errors


def _action(item: Any) -> PlanAction | None:
    words: Iterator[str] = iter(_WORDS.findall(item.lower()) if isinstance(item, str) else ())
    name = next(words, None)
    return None if name is None else PlanAction(name, tuple(words))


def _wrong(index: int, item: Any) -> Finding:
    where = f"actions[{index}]"
    return _error(Code.TYPE, where, f"{where} must be an action such as (move a b), not {describe_value(item)}.")


def _error(code: Code, where: str, text: str) -> Finding:
    return Finding(code=code, where=where, message=text)
