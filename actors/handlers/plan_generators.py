"""Two generators that make plans without a model: from the steps that tools declare, and from templates (S123)."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import trio
from pydantic import TypeAdapter

from actors.config.plan_files import PLAN, TEMPLATES, read_settings
from actors.config.workflow import TEMPLATE_SELECTOR, TOOL_PLANS
from actors.handlers.briefs import GenerationBrief
from actors.handlers.generators import material
from actors.plans.declared_plan import plan_for
from actors.plans.plan import NamedOutcome, Step, plan_to_json
from actors.templates.plan import plan_of, read_request
from actors.templates.template_files import load_templates
from actors.values.given import DeclaredStep, Given
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Usage
from runtime.models.port import Fault, Reply

_STEPS = TypeAdapter(tuple[DeclaredStep, ...])


class ToolPlanGenerator:
    """Searches for a plan from the run's initial state to its goal. It is deterministic, so it is never tried twice.

    The settings are `steps`, which tools declare, and `goal`, a list of tokens. If the run states another goal, `goal`
    is ignored. If no plan reaches the goal, the generator returns an object without steps and with the reason in
    `basis`. The plan's guard rejects this object.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the plan as JSON text, with a usage of 0 tokens. The search runs in a worker thread."""
        given = brief.context.given or Given()
        plan = await trio.to_thread.run_sync(_find_plan, self._settings, given, abandon_on_cancel=True)
        text = orjson.dumps(plan, option=orjson.OPT_INDENT_2).decode()
        return Reply(text=text, usage=Usage(), model=TOOL_PLANS)


def generator_settings(steps: Sequence[DeclaredStep], goal: Sequence[str]) -> dict[str, Any]:
    """Return the settings of a `ToolPlanGenerator` with these steps and this goal."""
    return {"steps": _STEPS.dump_python(tuple(steps), mode="json"), "goal": sorted(goal)}


def steps_of(declared: Sequence[DeclaredStep]) -> list[Step]:
    """Return the steps that tools declare, as steps of a plan.

    The id of a step is the name of its generator.
    """
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
        with contextlib.suppress(UsageProblem):  # If nothing else helps, what has failed is tried again.
            return plan_to_json(plan_for(others, holds & _tokens(others, goal), frozenset(goal), state))
    try:
        return plan_to_json(plan_for(steps, holds, frozenset(goal), state))
    except UsageProblem as problem:
        return {"basis": f"{problem.cause[:1].upper()}{problem.cause[1:]}."}


def _tokens(steps: Sequence[Step], goal: Sequence[str]) -> frozenset[str]:
    return frozenset(goal).union(*(step.preconditions | step.may_add | step.may_delete for step in steps))


FALLBACK = "feature"
"""The problem type whose template is used for all problem types without a template of their own. This template has a
part for each demand of the text."""


class TemplateSelectorGenerator:
    """Generates a plan from a template without a model call. It is deterministic, so it is never tried twice.

    The accepted analysis states the problem type. If the workflow has a plan for that type (`config["templates"]`) or
    for all other types (`config["plan"]`), that plan is returned unchanged. Otherwise the template of that type in
    `folder` is filled with the title, the files and the demands. If the type is unknown or no analysis exists, the
    template of `FALLBACK` is used (S132).

    Raises:
        UsageProblem: a setting, a plan file or a shipped template cannot be used.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        self._templates = {template.kind: template for template in load_templates(folder).values()}
        settings = read_settings(config, Path(), _problem)
        self._own: Mapping[str, Mapping[str, Any]] = settings.get(TEMPLATES, {})
        self._rest: Mapping[str, Any] | None = settings.get(PLAN)

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the plan as JSON text, with a usage of 0 tokens."""
        await trio.lowlevel.checkpoint()
        return self.reply(brief)

    def reply(self, brief: GenerationBrief) -> Reply:
        """Return the plan as a reply. Unlike `generate`, this method is not async."""
        text = orjson.dumps(self._plan(material(brief.context)), option=orjson.OPT_INDENT_2).decode()
        return Reply(text=text, usage=Usage(), model=TEMPLATE_SELECTOR)

    def _plan(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        request = read_request(given)
        kind = request.dependency("analysis").get("problem_type")
        if not isinstance(kind, str) or (kind not in self._own and kind not in self._templates and self._rest is None):
            kind = FALLBACK
        own = self._own.get(kind, self._rest)
        return own if own is not None else plan_of(self._templates[kind], request)


def _problem(cause: str, keys: tuple[str | int, ...], hint: str) -> UsageProblem:
    return UsageProblem(cause, place=".".join(("generator_config", *map(str, keys))), hint=hint)
