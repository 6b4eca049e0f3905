"""`lab whatif`: replays the decisions of recorded runs under an edited workflow, guard, policy or program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from replan.cli.completing import complete_policy, complete_run, complete_workflow
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option, plugins_option
from replan_lab.whatif import LIMIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replan_lab.whatif.differences import RunComparison

_WHATIF = examples(
    "replan lab whatif",
    "replan lab whatif --workflow my_workflow.yaml",
    "replan lab whatif --policy strict.yaml --json",
    "replan lab whatif k7m2x9qa --guard g_plan=plan_expansive",
    "replan lab whatif --guard plan_medium --all",
    "replan lab whatif --release ../main",
)


@click.command(epilog=_WHATIF, short_help="Replay recorded runs with edited rules.")
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_run)
@click.option("-w", "--workflow", metavar="NAME|FILE", shell_complete=complete_workflow, help="The edited workflow.")
@click.option(
    "--guard",
    "guards",
    multiple=True,
    metavar="[STEP=]NAME",
    help="Call this guard again; with STEP, call it instead of the step's own guard.",
)
@click.option("--policy", metavar="NAME|FILE", shell_complete=complete_policy, help="The edited policy.")
@click.option("--release", metavar="CHECKOUT", help="Use another checkout's program.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.1),
    default=LIMIT_SECONDS,
    show_default=True,
    metavar="S",
    help="The most seconds for one run.",
)
@click.option("--all", "everything", is_flag=True, help="Show every run that differs.")
@plugins_option
@json_option
@common
@click.pass_obj
def whatif(
    invocation: Invocation,
    *,
    runs: tuple[str, ...],
    workflow: str | None,
    guards: tuple[str, ...],
    policy: str | None,
    release: str | None,
    time_limit: float,
    everything: bool,
    as_json: bool,
) -> int:
    """Replay recorded runs under an edited workflow, guard, policy or program, and compare decisions.

    Nothing is called and nothing is written. Without an edit, this program is compared with the program that recorded
    the run. Without RUN, all runs of the home are replayed, waiting runs first; --workflow then applies only to runs of
    a workflow with the same name. Exit 0: no decision differs; 3: a decision differs; 1: a guard or the program failed;
    9: a run cannot be read.
    """
    from replan.cli.terminal.console import print_json, show
    from replan_lab.whatif.differences import report_json, report_lines
    from replan_lab.whatif.query import WhatIfQuery, findings_of

    query = WhatIfQuery(runs, workflow, guards, policy, release, tuple(invocation.plugins), time_limit)
    findings = findings_of(query)
    if as_json:
        print_json(report_json(findings))
    else:
        show(report_lines(findings, everything=everything))
    return _exit(findings)


def _exit(findings: Sequence[RunComparison]) -> Exit:
    from replan_lab.whatif.differences import DIFFERENT, FoldOutcome

    outcomes = {finding.outcome for finding in findings}
    if outcomes & {*DIFFERENT}:
        return Exit.UNSOLVED
    if FoldOutcome.FAILED in outcomes:
        return Exit.INTERNAL
    return Exit.JOURNAL if FoldOutcome.UNREADABLE in outcomes else Exit.OK
