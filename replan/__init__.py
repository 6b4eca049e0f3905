"""Replan: planning agents that live long.

`solve(problem)` plans a problem, `asolve` does so under trio, `start` lets you follow a run, `check` judges a plan;
`tell`, `answer` and `decline` talk to a run of any process.
What is named here is loaded when it is first used, so that `import replan` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actors.artifacts import Artifact, Context
    from actors.findings import Finding, Verdict
    from replan.api import MEMORY, Run, asolve, check, solve, start
    from replan.people import aanswer, adecline, answer, atell, decline, tell
    from replan.result import Result
    from replan.talking import Heard
    from runtime.errors import ReplanError, UsageProblem

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
    "aanswer",
    "adecline",
    "answer",
    "asolve",
    "atell",
    "check",
    "decline",
    "solve",
    "start",
    "tell",
]

_HOMES = {
    "MEMORY": "replan.api",
    "Artifact": "actors.artifacts",
    "Context": "actors.artifacts",
    "Finding": "actors.findings",
    "Heard": "replan.talking",
    "ReplanError": "runtime.errors",
    "Result": "replan.result",
    "Run": "replan.api",
    "UsageProblem": "runtime.errors",
    "Verdict": "actors.findings",
    "aanswer": "replan.people",
    "adecline": "replan.people",
    "answer": "replan.people",
    "asolve": "replan.api",
    "atell": "replan.people",
    "check": "replan.api",
    "decline": "replan.people",
    "solve": "replan.api",
    "start": "replan.api",
    "tell": "replan.people",
}
"""The module that each public name lives in."""


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'replan' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
