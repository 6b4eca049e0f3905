"""The plans of the simulated author.

A plan is a chain of steps. It is correct, or has exactly one defect, which the guard `plan_medium` finds.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from replan_lab.simulated.profile import Defect

STEPS = 6
DEFECT_STEPS = range(2, STEPS + 1)
"""The numbers of the plan's steps in which a simulated defect may be. Step 1 never has a defect, because it has no
predecessor."""
_GUARDS = ("syntax", "dynamic_test", "human")


_VIEWS_AND_NOTE = re.compile(r"view:[a-z][a-z0-9_]*=\d+ ?|written as [0-9a-f]+")


def note(name: str) -> str:
    """Return a note for the text of an artifact. Different notes make artifacts with the same views different."""
    return f"written as {name}"


@lru_cache(maxsize=65_536)
def judged_part(content: str) -> str:
    """Return the part of an artifact's content that built-in guards judge.

    Its views and its note are not part of it.
    """
    return _VIEWS_AND_NOTE.sub("", content)


def simulate_plan(
    goal: str,
    defect: Defect | None = None,
    clue: str = "",
    position: int = STEPS,
    *,
    given: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return a plan with this goal.

    A defect is in the step with the number `position`, and the finding about it names the token `clue`.

    With `given`, the chain leads from the state in `given` to the goal in `given`. The goal then does not contain the
    clue, so a step needs the clue instead.
    """
    body = _body(defect, clue, position, given) if given else _ungiven_body(defect, clue, position)
    return {"plan_id": "simulated", "goal": goal, **body}


@lru_cache(maxsize=4096)
def _ungiven_body(defect: Defect | None, clue: str, position: int) -> dict[str, Any]:
    return _body(defect, clue, position, {})


def _body(defect: Defect | None, clue: str, position: int, given: Mapping[str, Any]) -> dict[str, Any]:
    steps = {number: _step(number) for number in range(1, STEPS + 1)}
    goals = [f"done_{STEPS}"]
    if given.get("goal_state"):
        goals = list(given["goal_state"])
        steps[STEPS]["effects"] = list(dict.fromkeys((*steps[STEPS]["effects"], *goals)))
        defect = Defect.UNSATISFIED if defect is Defect.GOAL else defect
    match defect:
        case None:
            pass
        case Defect.UNSATISFIED:
            steps[position]["preconditions"].append(clue)
        case Defect.UNORDERED:
            steps[position]["preconditions"].append(clue)
            steps[0] = _make_unordered_step("prepare", clue)
        case Defect.DELETED:
            steps[position]["preconditions"].append(clue)
            steps[1]["effects"].append(clue)
            steps[0] = _make_unordered_step("clean_up", f"{clue}_gone")
            steps[0]["delete_effects"] = [clue]
            goals.append(f"{clue}_gone")
        case Defect.GOAL:
            goals.append(clue)
        case Defect.UNKNOWN_GUARD:
            steps[position]["guard"] = clue
    ordered, state = list(steps.values()), ["start"]
    if given.get("initial_state"):
        state = list(given["initial_state"])
        for step in ordered:
            if step["preconditions"] == ["start"]:
                step["preconditions"] = state[:1]
    return {
        "initial_state": state,
        "goal_state": goals,
        "total_retry_budget": 2 * len(ordered),
        "steps": ordered,
    }


def _step(number: int) -> dict[str, Any]:
    return {
        "step_id": f"step_{number}",
        "name": f"Step {number}",
        "generator": "LLMJsonGenerator",
        "guard": _GUARDS[number % len(_GUARDS)],
        "retry_budget": 2,
        "dependencies": [f"step_{number - 1}"] if number > 1 else [],
        "preconditions": [f"done_{number - 1}"] if number > 1 else ["start"],
        "effects": [f"done_{number}"],
    }


def _make_unordered_step(name: str, effect: str) -> dict[str, Any]:
    step: Mapping[str, Any] = _step(1)
    return {**step, "step_id": name, "name": name, "preconditions": ["start"], "effects": [effect]}
