"""What `check --pddl` does: reads a domain, a problem and plans in PDDL, and prints the verdict on each plan."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from actors.pddl.task import task_in
from actors.values.given import PddlTexts
from replan.cli.check_output import output_of
from replan.cli.exits import Exit
from replan.cli.pddl_files import pddl_text
from replan.cli.terminal.console import notice
from replan.service.pddl_checking import judged_actions
from replan.views.errors import line_of_error
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.service.checking import Standard


def check_actions(files: Sequence[str], standard: "Standard", form: str) -> Exit:
    """Check the plans, which follow the domain and the problem, and return the worst exit.

    Raises `UsageProblem` for fewer than three files, and for a domain or a problem that cannot be read.
    """
    if len(files) < 3:
        hint = "replan check --pddl DOMAIN PROBLEM PLAN..."
        raise UsageProblem(f"--pddl takes a domain, a problem and plans; {len(files)} named", place="PLAN", hint=hint)
    domain, problem, *plans = files
    if files.count("-") > 1:
        raise UsageProblem("standard input is named twice", place="-", hint="name a file for one of the two")
    task = task_in(PddlTexts(domain=pddl_text(domain), problem=pddl_text(problem)), domain, problem)
    worst, output = Exit.OK, output_of(form, single=len(plans) == 1)
    for name in plans:
        try:
            text = pddl_text(name)
            verdict, report, guards = judged_actions(task, name, text, standard)
        except UsageProblem as wrong:
            notice(line_of_error(wrong))
            worst = Exit.USAGE
            continue
        if not verdict.passed and worst is Exit.OK:
            worst = Exit.UNSOLVED
        output.add(report, guards, text)
    output.end()
    return worst
