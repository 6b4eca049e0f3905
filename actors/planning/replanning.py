"""Planning runs that an execution starts to replace its plan: their input and their result.

An execution asks for such a run as planning asks for the runs of its own steps: it reserves the child's limits in its
ledger, hands a `ChildBrief` to an actor whose handler is `ChildGenerator(resources.drive_child, clock).generate`, and
gets a `Generated` message with the cost, or a `Faulted` one while the child waits for its provider. `read_replan` reads
the text of the reply.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from actors.planning.briefs import ChildBrief
from actors.planning.config import read_config
from actors.planning.events import NeededAnswer, PlanningOutcome
from actors.run.ids import child_run
from actors.values.given import Given
from runtime.core.hooks import make_total
from runtime.core.ledger import Limits
from runtime.models.replies import Parsed, read_reply

UNSUCCESSFUL = "unsuccessful_run"
"""The only key of the JSON object that stands in the place of an artifact where a child run was unsuccessful."""


def replan_brief(
    parent: str,
    request_id: str,
    node: str,
    *,
    problem: str,
    pinned: str,
    limits: Limits,
    given: Given,
    change: Mapping[str, Any] | None = None,
) -> ChildBrief:
    """Return the input of a planning run that replaces a plan.

    `parent` is the id of the execution and `request_id` that of its request. `node` names the child run, so a request
    that is asked again after a crash goes on with the same child. `pinned` is the JSON of a `RunConfig`. `limits` are
    the reservation of the request, and `change` the settings that people have changed since (`RunState.changes`).

    `given` should name at least the current tokens as `initial_state`; in a partial replan also the goal state, the
    invariants and the requirements. With `asks_nobody`, a question ends the child (`NeedsAnswer`). The execution asks
    it, and starts another child whose `Given.answers` hold the answer.
    """
    return ChildBrief(
        run=child_run(parent, node),
        request_id=request_id,
        problem=problem,
        pinned=read_config(pinned),
        limits=limits,
        change=dict(change or {}),
        given=given,
    )


@dataclass(frozen=True, slots=True)
class NewPlan:
    """A plan that every guard has accepted, with the given facts in it."""

    plan: Mapping[str, Any]
    """The plan as a JSON object, which `actors.plans.reader.read_plan` reads."""


@dataclass(frozen=True, slots=True)
class NeedsAnswer:
    """The planning run needs an answer of a person; its parent is to ask."""

    question: NeededAnswer
    """The question, with the JSON Schema of an answer."""


@dataclass(frozen=True, slots=True)
class NoPlan:
    """The planning run found no plan."""

    outcome: str
    """How it ended, as in `actors.planning.events.PlanningOutcome`."""
    why: str
    """The reason, in one line for people."""


@make_total("the new plan", lambda said: NoPlan(PlanningOutcome.ALL_PRUNED, said))
def read_replan(text: str) -> NewPlan | NeedsAnswer | NoPlan:
    """Return the result in the reply of a planning run. Total: a text that is no JSON object is no plan."""
    value = read_reply(text)
    content = value.value if isinstance(value, Parsed) else None
    if not isinstance(content, dict):
        return NoPlan(PlanningOutcome.ALL_PRUNED, "the planning run brought no plan")
    if content.keys() != {UNSUCCESSFUL}:
        return NewPlan(content)
    end = content[UNSUCCESSFUL]
    if not isinstance(end, dict):
        return NoPlan(PlanningOutcome.ALL_PRUNED, str(end))
    if isinstance(end.get("question"), dict):
        try:
            return NeedsAnswer(NeededAnswer.model_validate(end["question"]))
        except ValidationError:  # A model has written what only a planning run writes.
            return NoPlan(PlanningOutcome.ALL_PRUNED, "the planning run brought no plan")
    return NoPlan(str(end.get("outcome", "")), str(end.get("why", "")))
