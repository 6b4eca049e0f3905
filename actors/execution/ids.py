"""The names of nodes, requests and questions of an execution. Journals store these names, so their form never changes.

    STEP/r2.v1.a3          the third attempt of the first visit of a step, in the second revision
    STEP/r2.v1.a3.check    a phase of this attempt; the node of the phase's request
    replan/r2.n1           the first replan, made in the second revision
    proof/r2.n1            the proof of the plan from this replan
    workspace/start        the snapshot of the workspace before the first step
    workspace/look.n1      the first preflight check
    edit/n2                the second replan, if a person's edit causes this replan
    trouble/n1             the first question about a trouble; planner/n1 if the planning run asks
    undo/n3                the undoing of the third call; undo/n3.ask is the question about this undoing

A node contains the id of the step, which the plan's author chose. If the id has other characters than letters, digits,
`_` and `-`, the node contains the step's position in the plan (`step-NUMBER`) instead. The same holds if the id looks
like a name above.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from actors.plans.plan import Plan

WORKSPACE_START = "workspace/start"
WORKSPACE_END = "workspace/end"
"""The node of the last snapshot of the workspace before a success. If paths are protected, this snapshot is compared
with the first snapshot."""
_LOOK = "workspace/look.n"

_PLAIN = re.compile(r"(?!step-|replan$|proof$|trouble$|planner$|workspace$)[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_PLACE = re.compile(r"r(\d+)\.v(\d+)\.a(\d+)(?:\.([a-z_]+))?")
_OWNED = re.compile(rf"(trouble|planner|undo)/n\d+(?:\.ask)?|[\w-]+/{_PLACE.pattern}")


class Owner(StrEnum):
    """The part of an execution that a request, a question or a wait belongs to."""

    STEP = "step"  # An attempt at a step.
    TROUBLE = "trouble"
    PLANNER = "planner"  # A question by the planning run of a replan, asked as a question about a trouble.
    UNDO = "undo"
    OTHER = ""  # The workspace, a replan, a proof, or a question that runs of any kind ask.


class NodeName(NamedTuple):
    """The parts of an attempt's name."""

    name: str
    """The name of the step, as nodes contain it (`node_names`)."""
    revision: int
    visit: int
    number: int
    phase: str
    """The phase of the attempt; empty for the whole attempt."""


def node_names(plan: Plan) -> Mapping[str, str]:
    """Return the name that stands for each step in nodes; the keys are the ids of the steps."""
    return {
        step.step_id: step.step_id if _PLAIN.fullmatch(step.step_id) else f"step-{number}"
        for number, step in enumerate(plan.steps, 1)
    }


def attempt_node(name: str, revision: int, visit: int, number: int) -> str:
    """Return the name of an attempt."""
    return f"{name}/r{revision}.v{visit}.a{number}"


def phase_node(attempt: str, phase: str) -> str:
    """Return the node of a phase of an attempt."""
    return f"{attempt}.{phase}"


def parse_node(node: str) -> NodeName | None:
    """Return the parts of the name of an attempt or a phase; None for any other name."""
    name, _, rest = node.partition("/")
    match = _PLACE.fullmatch(rest)
    if match is None:
        return None
    revision, visit, number, phase = match.groups()
    return NodeName(name, int(revision), int(visit), int(number), phase or "")


def replan_node(revision: int, number: int) -> str:
    """Return the node of a replan. `number` counts the replans of the run."""
    return f"replan/r{revision}.n{number}"


def edit_node(number: int) -> str:
    """Return the node of a replan for a person's edit. `number` counts the replans of the run."""
    return f"edit/n{number}"


def proof_node(revision: int, number: int) -> str:
    """Return the node of the proof of a replan's plan."""
    return f"proof/r{revision}.n{number}"


def trouble_node(number: int, *, planner_asks: bool = False) -> str:
    """Return the node of a question about a trouble. `number` counts these questions."""
    return f"{Owner.PLANNER if planner_asks else Owner.TROUBLE}/n{number}"


def look_node(number: int) -> str:
    """Return the node of a preflight check. `number` counts the preflight checks of the run."""
    return f"{_LOOK}{number}"


def is_look(node: str) -> bool:
    """Return whether a node belongs to a preflight check."""
    return node.startswith(_LOOK)


def undo_node(number: int) -> str:
    """Return the node of the calls that undo an effect. `number` is the number of the effect's call."""
    return f"{Owner.UNDO}/n{number}"


def undo_question_node(number: int) -> str:
    """Return the node of the question about the undoing of an effect. `number` is the number of the effect's call."""
    return f"{undo_node(number)}.ask"


def owner_of(node: str | None) -> Owner:
    """Return the owner of a node: the part of the execution that made the node's request, question or wait.

    A step may have the id `undo`. The part after the slash shows the owner: `undo/r1.v1.a1` is an attempt, and
    `undo/n1` is an undoing.
    """
    match = _OWNED.fullmatch(node or "")
    if match is None:
        return Owner.OTHER
    return Owner(match[1]) if match[1] else Owner.STEP


def tool_node(request_id: str) -> str:
    """Return the node of a tool call from the request id of the call."""
    return request_id.removeprefix("tool:").partition(".t")[0]
