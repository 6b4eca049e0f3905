"""The program that calls a planner of unified-planning: `python -m replan_lab.pddl.planner_process ENGINE`.

It reads the domain and the problem as JSON from standard input, and prints `{"actions": [...]}` or `{"problem": WHY}`.
An empty ENGINE means any installed planner that supports the problem. The program is a separate process, because a
planner cannot be stopped in any other way.
"""

import json
import sys
import warnings
from contextlib import redirect_stdout
from typing import Any

from unified_planning.engines import CompilationKind
from unified_planning.exceptions import UPException
from unified_planning.io import PDDLReader
from unified_planning.plans import SequentialPlan
from unified_planning.shortcuts import Compiler, OneshotPlanner, get_environment

COMPILED = (
    ("EQUALITIES", CompilationKind.GROUNDING),
    ("CONDITIONAL_EFFECTS", CompilationKind.CONDITIONAL_EFFECTS_REMOVING),
    ("NEGATIVE_CONDITIONS", CompilationKind.NEGATIVE_CONDITIONS_REMOVING),
    ("DISJUNCTIVE_CONDITIONS", CompilationKind.DISJUNCTIVE_CONDITIONS_REMOVING),
)
"""The features of problems that many planners do not support. For each feature: the library's compiler that removes it
from a problem."""


def _find_actions(engine: str, domain: str, problem: str) -> dict[str, Any]:
    get_environment().credits_stream = None
    try:
        read = PDDLReader().parse_problem_string(domain, problem)
        plan = _solve(engine, read)
    except Exception as error:  # noqa: BLE001 -- its reader raises what its parser raises, and engines what they want
        kind = "" if isinstance(error, UPException) else f"{type(error).__name__}: "
        return {"problem": f"{kind}{' '.join(str(error).split())}"[:500]}
    if plan is None:
        return {"problem": "the planner found no plan"}
    return {"actions": [_text(action) for action in plan.actions]}


def _solve(engine: str, problem: Any) -> Any:
    """Return the plan for a problem; None if the planner finds none.

    First, the features in `COMPILED` are compiled away.
    """
    back: list[Any] = []
    for feature, kind in COMPILED:
        if feature in problem.kind.features:
            with Compiler(problem_kind=problem.kind, compilation_kind=kind) as compiler:
                compiled = compiler.compile(problem, kind)
            problem, back = compiled.problem, [*back, compiled.map_back_action_instance]
    wanted = {"name": engine} if engine else {"problem_kind": problem.kind}
    with OneshotPlanner(**wanted) as planner:
        plan = planner.solve(problem).plan
    for item in reversed(back):
        plan = plan and plan.replace_action_instances(item)
    return plan if isinstance(plan, SequentialPlan) else None


def _text(action: Any) -> str:
    names = [action.action.name, *(str(parameter.object().name) for parameter in action.actual_parameters)]
    return f"({' '.join(names)})"


def main() -> None:
    """Read the task, and print the answer. The output of planners goes to standard error."""
    task = json.load(sys.stdin)
    with warnings.catch_warnings(), redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        answer = _find_actions(sys.argv[1], task["domain"], task["problem"])
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
