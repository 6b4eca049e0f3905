"""Planning runs that an execution starts to replace its plan: their input and their result.

The planning run is started in the same way as a child run for a step. The execution reserves the child's limits in its
ledger, and hands a `ChildBrief` to an actor with the handler `ChildGenerator(resources.drive_child, clock).generate`.
The execution gets a `Generated` message with the cost, or a `Faulted` message while the child waits for its provider.
`read_replan` reads the text of the reply.
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
"""The only key of the JSON object that an unsuccessful child run returns in place of an artifact."""


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

    `parent` is the id of the execution, and `request_id` the id of its request. `node` names the child run, so a
    request that is made again after a crash continues the same child. `pinned` is the JSON of a `RunConfig`. `limits`
    are the amounts that the request reserves. `change` has the settings that people have changed since the execution
    began (`RunState.changes`).

    `given` should name at least the current tokens as `initial_state`. For a partial replan, `given` should also have
    the goal state, the invariants and the requirements. With `asks_nobody`, a question ends the child (`NeedsAnswer`).
    The execution asks the question, and then starts another child with the answer in `Given.answers`.
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
    """A plan that every guard has accepted. The plan includes the facts that the brief gave."""

    plan: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NeedsAnswer:
    """The planning run needs a person's answer, and the parent run must ask the person."""

    question: NeededAnswer


@dataclass(frozen=True, slots=True)
class NoPlan:
    """The planning run found no plan."""

    outcome: str
    why: str


@make_total("the new plan", lambda said: NoPlan(PlanningOutcome.ALL_PRUNED, said))
def read_replan(text: str) -> NewPlan | NeedsAnswer | NoPlan:
    """Return the result of a planning run, read from its reply.

    Never raises: a text that is not a JSON object gives `NoPlan`.
    """
    value = read_reply(text)
    content = value.value if isinstance(value, Parsed) else None
    if not isinstance(content, dict):
        return NoPlan(PlanningOutcome.ALL_PRUNED, "the planning run returned no plan")
    if content.keys() != {UNSUCCESSFUL}:
        return NewPlan(content)
    end = content[UNSUCCESSFUL]
    if not isinstance(end, dict):
        return NoPlan(PlanningOutcome.ALL_PRUNED, str(end))
    if isinstance(end.get("question"), dict):
        try:
            return NeedsAnswer(NeededAnswer.model_validate(end["question"]))
        except ValidationError:  # A model has written something that only a planning run writes.
            return NoPlan(PlanningOutcome.ALL_PRUNED, "the planning run returned no plan")
    return NoPlan(str(end.get("outcome", "")), str(end.get("why", "")))
