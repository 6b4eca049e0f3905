"""Prepares planning runs for problems in PDDL, and provides the model `planner:NAME`, which calls a planner."""

import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from subprocess import CalledProcessError

import orjson
import trio

from actors.config.model_spec import reads_text
from actors.planning.prepare import RunRequest
from replan.setup.installation import data_root
from replan_lab.pddl.domain_reader import PddlTexts, specification, task_in, texts_in
from replan_lab.pddl.expressions import BYTES_MAX
from replan_lab.pddl.grounding import holds
from replan_lab.pddl.judging import PDDL_ACTIONS, ROLE
from runtime.core.errors import UsageProblem
from runtime.core.ledger import FREE, Price, Usage
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply


def workflow_path() -> str:
    """Return the path of the shipped workflow that plans a problem in PDDL."""
    return str(data_root("replan_lab") / "configs" / "pddl" / "workflow.yaml")


def problem_text(texts: PddlTexts, domain: str = "domain", problem: str = "problem") -> str:
    """Return the problem text of a run, made from a domain and a problem in PDDL.

    `domain` and `problem` are the names of the two texts in errors. Raises `UsageProblem` for a text that is longer
    than `BYTES_MAX` bytes or cannot be read, and for a goal that holds at the beginning.
    """
    for name, text in ((domain, texts.domain), (problem, texts.problem)):
        if len(text.encode(errors="replace")) > BYTES_MAX:
            raise UsageProblem(
                f"the text has more than {BYTES_MAX:,} bytes", place=name, hint="use a PDDL file of at most 4 MiB"
            )
        if "```" in text:
            raise UsageProblem("the text contains ```", place=name, hint="remove it")
    _, task = task_in(texts, domain, problem)
    if all(holds(literal, task.initial) for literal in task.goal):
        hint = "name a problem whose goal does not hold yet"
        raise UsageProblem("the goal already holds at the beginning, so no plan is needed", place=problem, hint=hint)
    return specification(texts)


def check_request(request: RunRequest) -> RunRequest:
    """Return the prepared run unchanged if its workflow and its model can plan in PDDL.

    Raises `UsageProblem` if no step of its workflow has the guard `pddl_actions`, or if its model does not read the
    problem's text.
    """
    workflow, model = request.pinned.workflow, request.pinned.model
    if not any(PDDL_ACTIONS in pair.guards for pair in workflow.action_pairs.values()):
        cause = f"no step of the workflow {workflow.name!r} has the guard `{PDDL_ACTIONS}`"
        raise UsageProblem(cause, place="workflow", hint="leave --workflow out")
    if not reads_text(model):
        hint = "name a language model, planner:NAME or scripted:FILE"
        raise UsageProblem(f"the model `{model}` cannot read PDDL", place="model", hint=hint)
    return request


LIBRARY = "unified_planning"
_ENGINE = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}|")


class PlannerModel:
    """A model that calls a planner.

    Each request starts a process of its own, which ends when the request is answered or cancelled. The model answers
    requests of the role `actions` in a run with a problem in PDDL. For any other request, and for a problem that the
    planner does not support or solve, it returns the fault `BAD_REQUEST` with the reason.
    """

    price: Price = FREE

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
        """Return the planner's actions as JSON text, with zero tokens as usage, or a fault."""
        texts = texts_in(str(request.material.get("specification", "")))
        if request.material.get("role") != ROLE or texts is None:
            return _refusal("a planner only plans problems in PDDL (`replan lab pddl run`)")
        command = [sys.executable, "-m", "replan_lab.pddl.planner_process", self._engine]
        with trio.move_on_after(request.timeout_seconds) as timer:
            try:
                done = await trio.run_process(
                    command, stdin=orjson.dumps(texts._asdict()), capture_stdout=True, capture_stderr=True
                )
            except CalledProcessError as error:
                return _refusal(
                    f"the planner ended with the exit code {error.returncode}: {error.stderr.decode()[-300:]}"
                )
        if timer.cancelled_caught:
            message = f"the planner found no plan in {request.timeout_seconds:g} s"
            return Fault(kind=FaultKind.TIMEOUT, message=message)
        answer = orjson.loads(done.stdout)
        if "problem" in answer:
            return _refusal(answer["problem"])
        return Reply(text=orjson.dumps(answer).decode(), usage=Usage(), model=self.name)


def _refusal(message: str) -> Fault:
    return Fault(kind=FaultKind.BAD_REQUEST, message=message)


def make(engine: str, _: Mapping[str, str]) -> PlannerModel:
    """Return the model `planner:ENGINE`. An empty `engine` means any planner that supports the problem.

    Raises `UsageProblem` if the library is missing, or does not have the planner.
    """
    if _ENGINE.fullmatch(engine) is None:
        raise UsageProblem(
            "the name of a planner must follow `planner:`", place="--model", hint="such as planner:pyperplan"
        )
    if find_spec(LIBRARY) is None:
        hint = "pip install unified-planning up-pyperplan"
        raise UsageProblem("a planner needs the library unified-planning", place="--model", hint=hint)
    from unified_planning.shortcuts import get_environment  # noqa: PLC0415 -- an extra

    factory = get_environment().factory
    found = sorted(name for name in factory.engines if factory.engine(name).is_oneshot_planner())
    if not found:
        cause, hint = (
            "no planner for unified-planning is installed",
            "install one, such as: pip install up-fast-downward",
        )
        raise UsageProblem(cause, place="--model", hint=hint)
    if engine and engine not in found:
        raise UsageProblem(f"there is no planner {engine!r}", place="--model", hint=f"installed: {', '.join(found)}")
    return PlannerModel(engine)
