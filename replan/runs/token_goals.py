"""Prepares planning runs for a goal that is a list of tokens. Such runs need no model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from actors.config.workflow import TOOL_PLANS
from actors.handlers.plan_generators import generator_settings, steps_of
from actors.planning.config import RunConfig
from actors.planning.prepare import RunRequest
from actors.plans.declared_plan import START, goal_text, plan_for
from actors.tools.loader import load_tools
from actors.tools.uses import NO_TOOLS, ToolSet
from actors.values.given import Given
from replan.setup.home_folder import locate_home
from replan.setup.installation import data_root
from runtime.core.errors import UsageProblem

TOOLS_FILE = "tools.yaml"
"""The name of the tools file in the home. This file is used if the user names no tools file."""
TOKENS_MAX = 1_000
"""The largest number of tokens in a goal, and the largest number of tokens that hold at the beginning."""
TOKEN_CHARACTERS_MAX = 200
MODEL = "template:feature"
"""The default model of runs with a goal of tokens. The model is never called."""


@dataclass(frozen=True, slots=True)
class TokenGoal:
    """The tokens that a run must reach, and the tokens that hold at its start."""

    tokens: tuple[str, ...]
    holds: tuple[str, ...] = ()

    @property
    def problem(self) -> str:
        """The problem text of a run with this goal."""
        start = f"\n\nAt the beginning: {', '.join(sorted(self.holds))}." if self.holds else ""
        return f"{goal_text(frozenset(self.tokens))}{start}"

    @property
    def workflow(self) -> str:
        """The path of the shipped workflow that plans from the steps of tools.

        It is used if the user names no workflow.
        """
        return str(data_root() / "configs" / "tools" / "workflow.yaml")

    @property
    def model(self) -> str:
        """The model of a run with this goal, if the user names no model."""
        return MODEL


def read_goal(goal: str | Iterable[str], holds: str | Iterable[str] = ()) -> TokenGoal:
    """Read a goal from texts, which are comma-separated lists of tokens. Raises `UsageProblem`."""
    tokens = _tokens(goal, "goal")
    if not tokens:
        raise UsageProblem("the goal has no token", place="goal", hint="name the tokens that must hold at the end")
    return TokenGoal(tokens, _tokens(holds, "holds"))


def _tokens(texts: str | Iterable[str], place: str) -> tuple[str, ...]:
    parts = (part.strip() for text in ([texts] if isinstance(texts, str) else texts) for part in text.split(","))
    tokens = tuple(dict.fromkeys(part for part in parts if part))
    if len(tokens) > TOKENS_MAX or any(len(token) > TOKEN_CHARACTERS_MAX for token in tokens):
        hint = f"use at most {TOKENS_MAX:,} tokens of {TOKEN_CHARACTERS_MAX} characters"
        raise UsageProblem("there are too many tokens, or a token is too long", place=place, hint=hint)
    return tokens


def tools_to_plan_with(name: str | None, environment: Mapping[str, str]) -> tuple[ToolSet, tuple[str, ...]]:
    """Return the tools of the file `name`, and notices about the file. If `name` is None, use the home's tools file.

    If the home has no tools file, there are no tools. Raises `UsageProblem` for an invalid file.
    """
    own = locate_home(environment).folder / TOOLS_FILE
    if name is None and not own.exists():
        return NO_TOOLS, ()
    loaded = load_tools(own if name is None else name, environment=environment)
    return loaded.toolset, loaded.notices


def planning_for_goal(request: RunRequest, tools: ToolSet, goal: TokenGoal) -> RunRequest:
    """Adapt a planning run so that it searches for a plan from the steps that tools declare, and return it.

    Raises:
        UsageProblem: no tool declares a step, the goal is unreachable or has a token that no tool makes, or no step of
            the workflow searches for a plan.
    """
    if not request.pinned.workflow.plans_from_tools:
        cause = f"no step of the workflow {request.pinned.workflow.name!r} has the generator `{TOOL_PLANS}`"
        raise UsageProblem(cause, place="workflow", hint="leave --workflow out")
    if not tools.declared:
        hint = "give generators the key `step` (the tokens that they need and make), or name another file with --tools"
        raise UsageProblem("no generator declares a step", place=tools.source or "tools", hint=hint)
    plan_for(steps_of(tools.declared), frozenset(goal.holds), frozenset(goal.tokens))  # Refused before a run is made.
    facts = Given(initial_state=goal.holds or (START,), goal_state=goal.tokens, **tools.names_given)
    return replace(request, pinned=with_tool_steps(request.pinned, tools, goal.tokens), given_facts=facts)


def with_tool_steps(config: RunConfig, tools: ToolSet, goal: Iterable[str] | None = None) -> RunConfig:
    """Return a planning configuration with the steps that tools declare.

    If `goal` is None, the goal of the configuration does not change.
    """
    pairs = dict(config.workflow.action_pairs)
    for name, pair in config.workflow.action_pairs.items():
        if pair.generator == TOOL_PLANS:
            kept = pair.generator_config.get("goal", ()) if goal is None else goal
            settings = generator_settings(tools.declared, tuple(kept))
            pairs[name] = pair.model_copy(update={"generator_config": settings})
    return config.changed(workflow=config.workflow.changed(action_pairs=pairs))
