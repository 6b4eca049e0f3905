"""Reads the files in PDDL that commands name."""

import sys

from actors.pddl.expressions import BYTES_MAX
from actors.pddl.grounding import holds
from actors.pddl.task import specification, task_in
from actors.values.given import PddlTexts
from replan.cli.inputs import as_text, file_named, source_of
from replan.setup.data_files import data_root
from runtime.core.errors import UsageProblem


def workflow_for_pddl() -> str:
    """Return the path of the shipped workflow that finds actions."""
    return str(data_root() / "configs" / "pddl" / "workflow.yaml")


def read_task(domain: str, problem: str) -> tuple[str, PddlTexts]:
    """Return the task in two files, as the text of a run's problem and as the texts that it is given.

    Raises `UsageProblem` for files that cannot be read, and for a goal that holds at the beginning.
    """
    if domain == problem == "-":
        raise UsageProblem("standard input is named twice", place="-", hint="name a file for one of the two")
    texts = PddlTexts(domain=pddl_text(domain), problem=pddl_text(problem))
    _, task = task_in(texts, domain, problem)
    if all(holds(literal, task.initial) for literal in task.goal):
        hint = "name a problem whose goal does not hold yet"
        raise UsageProblem("the goal holds at the beginning, so nothing is to be planned", place=problem, hint=hint)
    return specification(texts), texts


def pddl_text(name: str) -> str:
    """Return the text of a PDDL file, or of standard input for `-`. Raises `UsageProblem`."""
    place = source_of(name)
    try:
        if name == "-":
            data = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with file_named(name, "FILE").open("rb") as file:
                data = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or "not a file's name").lower()
        raise UsageProblem(cause, place=place, hint="name a file in PDDL, or -") from None
    if len(data) > BYTES_MAX:
        raise UsageProblem(f"more than {BYTES_MAX:,} bytes", place=place, hint="PDDL files are read up to 4 MiB")
    return as_text(data, place)
