"""Planning tasks in PDDL, and the model `planner:ENGINE`, by which a planner of unified-planning names the actions."""

import sys
from importlib.util import find_spec
from subprocess import CalledProcessError

import orjson
import trio

from actors.pddl.domain_reader import specification, task_in
from actors.pddl.expressions import BYTES_MAX
from actors.pddl.grounding import holds
from actors.values.given import PddlTexts
from replan.setup.installation import data_root
from runtime.core.errors import UsageProblem
from runtime.core.extras import install_command
from runtime.core.ledger import Usage
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply

LIBRARY = "unified_planning"
EXTRA = "unified-planning"


def check_planner(engine: str) -> None:
    """Raise `UsageProblem` where the library is missing, or has no such engine."""
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
    """Asks a planner in a process of its own, which ends with the request.

    It answers the role `actions` of a run that was given a problem in PDDL; anything else, and a problem that the
    planner does not take or solve, is the fault `BAD_REQUEST`, which says why.
    """

    def __init__(self, engine: str) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        """The model's name."""
        return f"planner:{self._engine}"

    async def aclose(self) -> None:
        """Do nothing: each planner ends with its request."""
        await trio.lowlevel.checkpoint()

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the actions as JSON text, with a usage of no tokens."""
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
    """Return the path of the shipped workflow that finds actions."""
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
