"""Replan: planning agents that run for hours or days.

`solve(problem)` plans a problem; `asolve` does so in a trio or asyncio program. `start` starts a run, and yields its
records while it is driven. `resume` continues a run, perhaps with new limits; `fork` starts a new run from the middle
of another run. `runs`, `show`, `cancel` and `delete` work on the runs of a home. `tell` posts a message to a run.
`answer` and `decline` close its questions. `check` judges a plan. `execute` executes a plan with your tools. `do` plans
a problem and executes the plan. `admit` records the start of a run of any kind. Each public name is loaded when it is
first used, so `import replan` is fast.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actors.demands.table import DemandTable, Proof
    from actors.execution.result import ExecutionResult
    from actors.planning.result import Result
    from actors.planning.story import AttemptTree, TreeAttempt
    from actors.plans.plan import Plan, Step
    from actors.plans.plan_text import ProvedPlan
    from actors.run.open_question import OpenQuestion
    from actors.run.result import RunResult
    from actors.values.artifacts import Artifact, Context
    from actors.values.findings import Finding, Verdict
    from actors.values.plugin_marks import generator, guard
    from replan.api.check import check
    from replan.api.executing import Done, ado, aexecute, do, execute, start_execution
    from replan.api.handle import Run
    from replan.api.options import MEMORY
    from replan.api.runs import (
        afork,
        aresume,
        asolve,
        aundo,
        drive,
        fork,
        resume,
        solve,
        start,
        undo,
    )
    from replan.api.stored import (
        RunSummary,
        aadmit,
        aanswer,
        acancel,
        adecline,
        adelete,
        admit,
        alimits,
        answer,
        aruns,
        ashow,
        atell,
        cancel,
        decline,
        delete,
        limits,
        runs,
        show,
        tell,
    )
    from replan.runs.inbox import AnswerReceipt
    from runtime.core.errors import Held, ReplanError, RunNotFound, UsageProblem

    __version__: str

__all__ = [
    "MEMORY",
    "AnswerReceipt",
    "Artifact",
    "AttemptTree",
    "Context",
    "DemandTable",
    "Done",
    "ExecutionResult",
    "Finding",
    "Held",
    "OpenQuestion",
    "Plan",
    "Proof",
    "ProvedPlan",
    "ReplanError",
    "Result",
    "Run",
    "RunNotFound",
    "RunResult",
    "RunSummary",
    "Step",
    "TreeAttempt",
    "UsageProblem",
    "Verdict",
    "aadmit",
    "aanswer",
    "acancel",
    "adecline",
    "adelete",
    "admit",
    "ado",
    "aexecute",
    "afork",
    "alimits",
    "answer",
    "aresume",
    "aruns",
    "ashow",
    "asolve",
    "atell",
    "aundo",
    "cancel",
    "check",
    "decline",
    "delete",
    "do",
    "drive",
    "execute",
    "fork",
    "generator",
    "guard",
    "limits",
    "resume",
    "runs",
    "show",
    "solve",
    "start",
    "start_execution",
    "tell",
    "undo",
]

_NAMES = {
    "actors.demands.table": "DemandTable Proof",
    "actors.execution.result": "ExecutionResult",
    "actors.planning.result": "Result",
    "actors.planning.story": "AttemptTree TreeAttempt",
    "actors.plans.plan": "Plan Step",
    "actors.plans.plan_text": "ProvedPlan",
    "actors.run.open_question": "OpenQuestion",
    "actors.run.result": "RunResult",
    "actors.values.artifacts": "Artifact Context",
    "actors.values.findings": "Finding Verdict",
    "actors.values.plugin_marks": "generator guard",
    "replan.api.check": "check",
    "replan.api.executing": "Done ado aexecute do execute start_execution",
    "replan.api.handle": "Run",
    "replan.api.options": "MEMORY",
    "replan.api.runs": "afork aresume asolve aundo drive fork resume solve start undo",
    "replan.api.stored": (
        "RunSummary aadmit aanswer acancel adecline adelete admit alimits answer aruns ashow atell cancel "
        "decline delete limits runs show tell"
    ),
    "replan.runs.inbox": "AnswerReceipt",
    "runtime.core.errors": "Held ReplanError RunNotFound UsageProblem",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a public name at its first use. `__version__` is the version of this installation."""
    if name == "__version__":
        from replan.setup.installation import release  # noqa: PLC0415 - `import replan` is quick without it

        return release()
    if name not in _HOMES:
        raise AttributeError(f"module 'replan' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__


class _Called(ModuleType):
    """The package `replan.runs`. A program can also call it: a call is a call of the API function `runs`."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module(_HOMES["runs"]).runs(*arguments, **options)


class _Replan(ModuleType):
    """The type of this package, which makes the subpackage `runs` callable."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "runs" and isinstance(value, ModuleType):
            value.__class__ = _Called
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Replan
