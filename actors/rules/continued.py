"""Fits a template's plan to what a run is given: the steps that its tools do, and the state that it goes on from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actors.rules.tables import TemplateStep


def unbound(step: TemplateStep, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the generator and the guard of a step that no tool of a run implements; none where no tools are given."""
    for name, names, steps in (
        (step.generator, given.get("generators"), given.get("step_generators")),
        (step.guard, given.get("guards"), given.get("step_guards")),
    ):
        if isinstance(names, Sequence) and name not in names and step.step_id not in (steps or ()):
            yield name


def executable(step: TemplateStep, given: Mapping[str, Any]) -> bool:
    """Return whether the tools of a run execute and check a step."""
    return not any(unbound(step, given))


def continued(plan: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan from the given state to the given goal, without the first steps if their effects hold already.

    A step stays where it depends on one that stays, deletes something that holds, satisfies a requirement, or where a
    failure goes back to it.
    """
    state, goal = given.get("initial_state"), given.get("goal_state")
    if not isinstance(state, Sequence):
        return plan
    steps: list[dict[str, Any]] = plan["steps"]
    targets = {step["on_failure"] for step in steps}
    done = {step["step_id"] for step in steps if _done(step, set(state)) and step["step_id"] not in targets}
    while held := {step["step_id"] for step in steps if not done.issuperset(step["dependencies"])} & done:
        done -= held
    if len(done) == len(steps):
        done.remove(steps[-1]["step_id"])
    kept = [
        {**step, "dependencies": [name for name in step["dependencies"] if name not in done]}
        for step in steps
        if step["step_id"] not in done
    ]
    return {
        **plan,
        "initial_state": list(state),
        "goal_state": list(goal) if isinstance(goal, Sequence) else plan["goal_state"],
        "steps": kept,
    }


def _done(step: Mapping[str, Any], state: set[str]) -> bool:
    """Tell whether a step would change nothing in a state, and need not be shown for a requirement."""
    changes = not set(step["effects"]) <= state or bool(set(step.get("delete_effects", ())) & state)
    return bool(step["effects"]) and not changes and not step.get("satisfies")
