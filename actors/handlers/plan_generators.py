"""Generators of plans without a model: from the steps that tools declare, or from accepted actions in PDDL."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import trio
from pydantic import TypeAdapter

from actors.config.workflow import PDDL_PLANS, TOOL_PLANS
from actors.handlers.briefs import GenerationBrief
from actors.pddl.action_list import actions_in
from actors.pddl.domain_reader import task_in
from actors.pddl.translation import translate
from actors.plans.declared_plan import plan_for
from actors.plans.plan import NamedOutcome, Step, plan_to_json
from actors.values.artifacts import Context
from actors.values.given import DeclaredStep, Given
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Usage
from runtime.models.port import Fault, Reply

_STEPS = TypeAdapter(tuple[DeclaredStep, ...])


class ToolPlanGenerator:
    """Searches for a plan from the run's initial state to its goal. It is deterministic, so it is never tried twice.

    Its settings are the `steps` that tools declare, and the tokens of the `goal`, which is used if the run is given no
    other goal. If there is no plan, it returns an object without steps, which the plan's guard rejects; its `basis` is
    the reason.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the plan as JSON text, with a usage of no tokens. The search runs in a thread."""
        given = brief.context.given or Given()
        plan = await trio.to_thread.run_sync(_find_plan, self._settings, given, abandon_on_cancel=True)
        text = orjson.dumps(plan, option=orjson.OPT_INDENT_2).decode()
        return Reply(text=text, usage=Usage(), model=TOOL_PLANS)


def generator_settings(steps: Sequence[DeclaredStep], goal: Sequence[str]) -> dict[str, Any]:
    """Return the generator's settings for a goal."""
    return {"steps": _STEPS.dump_python(tuple(steps), mode="json"), "goal": sorted(goal)}


def steps_of(declared: Sequence[DeclaredStep]) -> list[Step]:
    """Return the steps that generators declare as steps of a plan. The id of a step is the name of its generator."""
    return [
        Step(
            item.generator,
            generator=item.generator,
            guard=item.guard,
            retry_budget=item.retry_budget,
            preconditions=frozenset(item.preconditions),
            effects=frozenset(item.effects),
            delete_effects=frozenset(item.delete_effects),
            outcomes=tuple(
                NamedOutcome(way.name, frozenset(way.effects), frozenset(way.delete_effects)) for way in item.outcomes
            ),
        )
        for item in declared
    ]


def _find_plan(settings: Mapping[str, Any], given: Given) -> dict[str, Any]:
    goal = settings.get("goal", ()) if given.goal_state is None else given.goal_state
    steps = steps_of(_STEPS.validate_python(settings.get("steps", ())))
    # After a replan, tokens of the plan before it hold, which no tool has declared.
    state = frozenset(given.initial_state or ())
    holds = state & _tokens(steps, goal)
    others = [step for step in steps if step.generator not in given.failed_generators]
    if len(others) < len(steps):
        with contextlib.suppress(UsageProblem):  # Where nothing else helps, what has failed is tried again.
            return plan_to_json(plan_for(others, holds & _tokens(others, goal), frozenset(goal), state))
    try:
        return plan_to_json(plan_for(steps, holds, frozenset(goal), state))
    except UsageProblem as problem:
        return {"basis": f"{problem.cause[:1].upper()}{problem.cause[1:]}."}


def _tokens(steps: Sequence[Step], goal: Sequence[str]) -> frozenset[str]:
    return frozenset(goal).union(*(step.preconditions | step.may_add | step.may_delete for step in steps))


ROLE = "actions"
"""The role of the required step whose artifact contains the actions."""


class PddlPlanGenerator:
    """Returns the plan for the accepted actions. It is deterministic, so it is never tried twice.

    It returns an empty object, which the plan's guard rejects, in three cases. The run has no problem in PDDL, the
    workflow has no step for actions, or the accepted answer has no plan of valid actions.
    """

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the plan as JSON text, with a usage of no tokens."""
        await trio.lowlevel.checkpoint()
        text = orjson.dumps(translated_plan(brief.context), option=orjson.OPT_INDENT_2).decode()
        return Reply(text=text, usage=Usage(), model=PDDL_PLANS)


def translated_plan(context: Context) -> dict[str, object]:
    """Return the plan for the accepted actions as a JSON object; an empty object if there is none.

    Each action is checked again, because a workflow may accept actions by another guard than `pddl_actions`.
    """
    roles = context.settings.get("roles", {})
    answers = [artifact.parsed for step, artifact in context.dependencies.items() if roles.get(step) == ROLE]
    texts = None if context.given is None else context.given.pddl
    if texts is None or not answers:
        return {}
    domain, problem = task_in(texts)
    actions, errors = actions_in(answers[0])
    if errors:
        return {}
    try:
        translation = translate(domain, problem, actions)
    except UsageProblem:  # Too many outcomes or states: there is no plan to judge, as for an invalid action.
        return {}
    if translation.invalid_action or translation.plan is None:
        return {}
    return plan_to_json(translation.plan)
