"""Reads the PDDL files that are named on the command line."""

from actors.pddl.expressions import BYTES_MAX
from actors.values.given import PddlTexts
from replan.cli.inputs import file_named, read_file, read_stdin
from replan.runs.pddl_tasks import pddl_task
from runtime.core.errors import UsageProblem


def read_task(domain: str, problem: str) -> tuple[str, PddlTexts]:
    """Return the task in two files, as the text of a run's problem and as the texts that it is given.

    Raises `UsageProblem` for files that cannot be read, and for a goal that holds at the beginning.
    """
    if domain == problem == "-":
        raise UsageProblem("standard input is named twice", place="-", hint="name a file for one of the two")
    texts = PddlTexts(domain=pddl_text(domain), problem=pddl_text(problem))
    return pddl_task(texts, domain, problem), texts


def pddl_text(name: str) -> str:
    """Return the text of a PDDL file, or of standard input for `-`. Raises `UsageProblem`."""
    smaller = "PDDL files are read up to 4 MiB"
    if name == "-":
        return read_stdin(BYTES_MAX, smaller)
    return read_file(file_named(name, "FILE"), BYTES_MAX, name, hint="name a file in PDDL, or -", smaller=smaller)
