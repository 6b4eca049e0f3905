"""Replan: planning agents that live long.

`solve(problem)` plans a problem; `asolve` does so in a trio or asyncio program. `start` lets you follow a run. `resume`
continues one, with higher `limits` if need be; `fork` starts a new one from the middle of it. `runs`, `show`, `cancel`
and `delete` work on the runs of a home; `tell`, `answer` and `decline` talk to a run; `check` judges a plan; `execute`
executes one with your tools, and `do` plans and executes; `admit` records a run of another kind. The public names are
loaded when they are first used, so that `import replan` costs nothing.
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

_HOMES = {
    "MEMORY": "replan.api.options",
    "AnswerReceipt": "replan.runs.inbox",
    "Artifact": "actors.values.artifacts",
    "AttemptTree": "actors.planning.story",
    "Context": "actors.values.artifacts",
    "DemandTable": "actors.demands.table",
    "Done": "replan.api.executing",
    "ExecutionResult": "actors.execution.result",
    "Finding": "actors.values.findings",
    "Held": "runtime.core.errors",
    "OpenQuestion": "actors.run.open_question",
    "Plan": "actors.plans.plan",
    "Proof": "actors.demands.table",
    "ProvedPlan": "actors.plans.plan_text",
    "ReplanError": "runtime.core.errors",
    "Result": "actors.planning.result",
    "Run": "replan.api.handle",
    "RunNotFound": "runtime.core.errors",
    "RunResult": "actors.run.result",
    "RunSummary": "replan.api.stored",
    "Step": "actors.plans.plan",
    "TreeAttempt": "actors.planning.story",
    "UsageProblem": "runtime.core.errors",
    "Verdict": "actors.values.findings",
    "aadmit": "replan.api.stored",
    "aanswer": "replan.api.stored",
    "acancel": "replan.api.stored",
    "adecline": "replan.api.stored",
    "adelete": "replan.api.stored",
    "admit": "replan.api.stored",
    "ado": "replan.api.executing",
    "aexecute": "replan.api.executing",
    "afork": "replan.api.runs",
    "alimits": "replan.api.stored",
    "answer": "replan.api.stored",
    "aresume": "replan.api.runs",
    "aruns": "replan.api.stored",
    "ashow": "replan.api.stored",
    "asolve": "replan.api.runs",
    "atell": "replan.api.stored",
    "aundo": "replan.api.runs",
    "cancel": "replan.api.stored",
    "check": "replan.api.check",
    "decline": "replan.api.stored",
    "delete": "replan.api.stored",
    "do": "replan.api.executing",
    "drive": "replan.api.runs",
    "execute": "replan.api.executing",
    "fork": "replan.api.runs",
    "generator": "actors.values.plugin_marks",
    "guard": "actors.values.plugin_marks",
    "limits": "replan.api.stored",
    "resume": "replan.api.runs",
    "runs": "replan.api.stored",
    "show": "replan.api.stored",
    "solve": "replan.api.runs",
    "start": "replan.api.runs",
    "start_execution": "replan.api.executing",
    "tell": "replan.api.stored",
    "undo": "replan.api.runs",
}
"""The module that defines each public name."""


def __getattr__(name: str) -> Any:
    """Load a public name at its first use; `__version__` is the version of this installation."""
    if name == "__version__":
        from replan.setup.installation import release  # noqa: PLC0415 - `import replan` is quick without it

        return release()
    if name not in _HOMES:
        raise AttributeError(f"module 'replan' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__


class _Called(ModuleType):
    """The package `replan.runs`, which can also be called as the API function with this name."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call `replan.api.stored.runs`."""
        return import_module(_HOMES["runs"]).runs(*arguments, **options)


class _Replan(ModuleType):
    """The type of this package, which makes the subpackage `runs` callable."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "runs" and isinstance(value, ModuleType):
            value.__class__ = _Called
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Replan
