"""Checks a planning task in PDDL, and makes the problem text of a run from it."""

from actors.pddl.expressions import BYTES_MAX
from actors.pddl.grounding import holds
from actors.pddl.task import specification, task_in
from actors.values.given import PddlTexts
from replan.setup.data_files import data_root
from runtime.core.errors import UsageProblem


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
