"""Replan: planning agents that live long.

`solve(problem)` plans a problem, `asolve` does so under trio, `start` lets you follow a run, `check` judges a plan;
`tell`, `answer` and `decline` talk to a run of any process; `admit` records a run of another kind.
What is named here is loaded when it is first used, so that `import replan` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actors.planning.result import Result
    from actors.values.artifacts import Artifact, Context
    from actors.values.findings import Finding, Verdict
    from actors.values.plugin_marks import generator, guard
    from replan.api.admit import aadmit, admit
    from replan.api.inbox import aanswer, adecline, answer, atell, decline, tell
    from replan.api.runs import MEMORY, Run, asolve, check, solve, start
    from replan.runs.inbox import Heard
    from runtime.core.errors import ReplanError, UsageProblem

__all__ = [
    "MEMORY",
    "Artifact",
    "Context",
    "Finding",
    "Heard",
    "ReplanError",
    "Result",
    "Run",
    "UsageProblem",
    "Verdict",
    "aadmit",
    "aanswer",
    "adecline",
    "admit",
    "answer",
    "asolve",
    "atell",
    "check",
    "decline",
    "generator",
    "guard",
    "solve",
    "start",
    "tell",
]

_HOMES = {
    "MEMORY": "replan.api.runs",
    "Artifact": "actors.values.artifacts",
    "Context": "actors.values.artifacts",
    "Finding": "actors.values.findings",
    "Heard": "replan.runs.inbox",
    "ReplanError": "runtime.core.errors",
    "Result": "actors.planning.result",
    "Run": "replan.api.runs",
    "UsageProblem": "runtime.core.errors",
    "Verdict": "actors.values.findings",
    "aadmit": "replan.api.admit",
    "aanswer": "replan.api.inbox",
    "adecline": "replan.api.inbox",
    "admit": "replan.api.admit",
    "answer": "replan.api.inbox",
    "asolve": "replan.api.runs",
    "atell": "replan.api.inbox",
    "check": "replan.api.runs",
    "decline": "replan.api.inbox",
    "generator": "actors.values.plugin_marks",
    "guard": "actors.values.plugin_marks",
    "solve": "replan.api.runs",
    "start": "replan.api.runs",
    "tell": "replan.api.inbox",
}
"""The module that each public name lives in."""


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'replan' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
