"""Prepares planning runs without a model, for a goal that is a list of tokens or a PDDL problem."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from subprocess import CalledProcessError

import orjson
import trio

from actors.config.workflow import TOOL_PLANS
from actors.handlers.plan_generators import generator_settings, steps_of
from actors.pddl.domain_reader import specification, task_in
from actors.pddl.expressions import BYTES_MAX
from actors.pddl.grounding import holds
from actors.planning.config import RunConfig
from actors.planning.prepare import RunRequest
from actors.plans.declared_plan import START, goal_text, plan_for
from actors.tools.loader import load_tools
from actors.tools.uses import NO_TOOLS, ToolSet
from actors.values.given import Given, PddlTexts
from replan.setup.home_folder import locate_home
from replan.setup.installation import data_root
from runtime.core.errors import UsageProblem
from runtime.core.extras import install_command
from runtime.core.ledger import Usage
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply

TOOLS_FILE = "tools.yaml"
"""The name of the tools file in the home, which is used if no file is named."""
TOKENS_MAX = 1_000
"""The largest number of tokens in a goal, and of tokens that hold at the beginning."""
TOKEN_CHARACTERS_MAX = 200
"""The largest number of characters in one token."""
MODEL = "template:feature"
"""The default model of such a run. It runs in this process, and is never called."""


@dataclass(frozen=True, slots=True)
class TokenGoal:
    """The tokens that a run must reach, and those that hold at its start."""

    tokens: tuple[str, ...]
    """The tokens that must hold at the end."""
    holds: tuple[str, ...] = ()
    """The tokens that hold at the beginning."""

    @property
    def problem(self) -> str:
        """The problem text of a run with this goal."""
        start = f"\n\nAt the beginning: {', '.join(sorted(self.holds))}." if self.holds else ""
        return f"{goal_text(frozenset(self.tokens))}{start}"

    @property
    def workflow(self) -> str:
        """The path of the shipped workflow that plans from the steps of tools, if the user names no other."""
        return str(data_root() / "configs" / "tools" / "workflow.yaml")

    @property
    def model(self) -> str:
        """The model of a run with this goal, if the user names no other."""
        return MODEL


def read_goal(goal: str | Iterable[str], holds: str | Iterable[str] = ()) -> TokenGoal:
    """Return the goal that these texts state, each a comma-separated list of tokens. Raises `UsageProblem`."""
    tokens = _tokens(goal, "goal")
    if not tokens:
        raise UsageProblem("the goal has no token", place="goal", hint="name the tokens that must hold at the end")
    return TokenGoal(tokens, _tokens(holds, "holds"))


def _tokens(texts: str | Iterable[str], place: str) -> tuple[str, ...]:
    parts = (part.strip() for text in ([texts] if isinstance(texts, str) else texts) for part in text.split(","))
    tokens = tuple(dict.fromkeys(part for part in parts if part))
    if len(tokens) > TOKENS_MAX or any(len(token) > TOKEN_CHARACTERS_MAX for token in tokens):
        hint = f"at most {TOKENS_MAX:,} tokens of {TOKEN_CHARACTERS_MAX} characters"
        raise UsageProblem("names too many tokens, or one that is too long", place=place, hint=hint)
    return tokens


def tools_to_plan_with(name: str | None, environment: Mapping[str, str]) -> tuple[ToolSet, tuple[str, ...]]:
    """Return the tools of the file `name`, or of the home's tools file for None, and notices about the file.

    Without a tools file in the home there are no tools. Raises `UsageProblem` for an invalid file.
    """
    own = locate_home(environment).folder / TOOLS_FILE
    if name is None and not own.exists():
        return NO_TOOLS, ()
    loaded = load_tools(own if name is None else name, environment=environment)
    return loaded.toolset, loaded.notices


def planning_for_goal(request: RunRequest, tools: ToolSet, goal: TokenGoal) -> RunRequest:
    """Return a planning run that searches for a plan made from the steps that tools declare.

    Raises:
        UsageProblem: no tool declares a step, the goal cannot be reached or has a token that no tool makes, or no step
            of the workflow searches for a plan.
    """
    if not request.pinned.workflow.plans_from_tools:
        cause = f"no step of the workflow {request.pinned.workflow.name!r} has the generator `{TOOL_PLANS}`"
        raise UsageProblem(cause, place="workflow", hint="leave --workflow out")
    if not tools.declared:
        hint = "give generators the key `step` with what they need and make, or name another file by --tools"
        raise UsageProblem("no generator declares a step", place=tools.source or "tools", hint=hint)
    plan_for(steps_of(tools.declared), frozenset(goal.holds), frozenset(goal.tokens))  # Refused before a run is made.
    facts = Given(initial_state=goal.holds or (START,), goal_state=goal.tokens, **tools.names_given)
    return replace(request, pinned=with_tool_steps(request.pinned, tools, goal.tokens), given_facts=facts)


def with_tool_steps(config: RunConfig, tools: ToolSet, goal: Iterable[str] | None = None) -> RunConfig:
    """Return a planning configuration with the steps that tools declare. With `goal` None, its goal does not change."""
    pairs = dict(config.workflow.action_pairs)
    for name, pair in config.workflow.action_pairs.items():
        if pair.generator == TOOL_PLANS:
            kept = pair.generator_config.get("goal", ()) if goal is None else goal
            settings = generator_settings(tools.declared, tuple(kept))
            pairs[name] = pair.model_copy(update={"generator_config": settings})
    return config.changed(workflow=config.workflow.changed(action_pairs=pairs))


LIBRARY = "unified_planning"
EXTRA = "unified-planning"


def check_planner(engine: str) -> None:
    """Raise `UsageProblem` if the library is missing, or has no such engine."""
    if find_spec(LIBRARY) is None:
        raise UsageProblem("a planner needs the extra unified-planning", place="--model", hint=install_command(EXTRA))
    from unified_planning.shortcuts import get_environment  # noqa: PLC0415 - an extra

    factory = get_environment().factory
    found = sorted(name for name in factory.engines if factory.engine(name).is_oneshot_planner())
    if not found:
        cause, hint = "no planner of unified-planning is installed", "such as: pip install up-fast-downward"
        raise UsageProblem(cause, place="--model", hint=hint)
    if engine and engine not in found:
        raise UsageProblem(f"there is no planner {engine!r}", place="--model", hint=f"installed: {', '.join(found)}")


class PlannerModel:
    """A model that asks a planner in a process of its own. The process ends with the request.

    It answers the role `actions` of a run with a problem in PDDL. For any other request, and for a problem that the
    planner does not support or solve, it returns the fault `BAD_REQUEST` with the reason.
    """

    def __init__(self, engine: str) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        """The model's name."""
        return f"planner:{self._engine}"

    async def aclose(self) -> None:
        """Do nothing, because each planner's process ends with the request."""
        await trio.lowlevel.checkpoint()

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the actions as JSON text. The usage counts no tokens."""
        texts = (request.material.get("given") or {}).get("pddl")
        if request.material.get("role") != "actions" or texts is None:
            return _refusal("a planner only names the actions for a problem in PDDL (`replan lab pddl run`)")
        command = [sys.executable, "-m", "replan.pddl_planner", self._engine]
        with trio.move_on_after(request.timeout_seconds) as timer:
            try:
                done = await trio.run_process(
                    command, stdin=orjson.dumps(texts), capture_stdout=True, capture_stderr=True
                )
            except CalledProcessError as error:
                return _refusal(f"the planner ended with {error.returncode}: {error.stderr.decode()[-300:]}")
        if timer.cancelled_caught:
            message = f"the planner found nothing in {request.timeout_seconds:g} s"
            return Fault(kind=FaultKind.TIMEOUT, message=message)
        answer = orjson.loads(done.stdout)
        if "problem" in answer:
            return _refusal(answer["problem"])
        return Reply(text=orjson.dumps(answer).decode(), usage=Usage(), model=self.name)


def _refusal(message: str) -> Fault:
    return Fault(kind=FaultKind.BAD_REQUEST, message=message)


def workflow_for_pddl() -> str:
    """Return the path of the shipped workflow that plans a task in PDDL."""
    return str(data_root() / "configs" / "pddl" / "workflow.yaml")


def pddl_task(texts: PddlTexts, domain: str = "domain", problem: str = "problem") -> str:
    """Return the problem text of a run for a task in PDDL.

    `domain` and `problem` name the two texts in errors. Raises `UsageProblem` for a text that is longer than
    `BYTES_MAX` bytes or cannot be read, and for a goal that holds at the beginning.
    """
    for name, text in ((domain, texts.domain), (problem, texts.problem)):
        if len(text.encode(errors="replace")) > BYTES_MAX:
            raise UsageProblem(f"more than {BYTES_MAX:,} bytes", place=name, hint="PDDL is read up to 4 MiB")
    _, task = task_in(texts, domain, problem)
    if all(holds(literal, task.initial) for literal in task.goal):
        hint = "name a problem whose goal does not hold yet"
        raise UsageProblem("the goal holds at the beginning, so nothing is to be planned", place=problem, hint=hint)
    return specification(texts)
