"""`lab recorded`: evaluates policies on recorded dialogues of models."""

from __future__ import annotations

from pathlib import Path

import click

from replan.cli.completing import complete_policy
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option

_RECORDED = examples(
    "replan lab recorded mint.jsonl.gz",
    "replan lab recorded intercode_sql.jsonl.gz --arm retry --arm informed",
    "replan lab recorded mint.jsonl.gz --json | jq '.arms[] | {arm, delta}'",
)
_SHOWN = (
    "arm",
    "cases",
    "success",
    "success_low",
    "success_high",
    "calls_mean",
    "delta",
    "together_low",
    "together_high",
)
"""The columns that the printed summary shows. The files in the folder of results have all columns."""


@click.command(epilog=_RECORDED)
@click.argument("file", metavar="FILE")
@click.option("--arm", "names", multiple=True, metavar="NAME", help="An arm to evaluate; may be given several times.")
@click.option(
    "-p",
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME|FILE",
    shell_complete=complete_policy,
    help="A policy to evaluate beside the arms; may be given several times.",
)
@click.option("--out", "results", metavar="FOLDER", help="Folder for tables and plots; default: experiments/NAME.")
@json_option
@common
@click.pass_obj
def recorded(
    invocation: Invocation,  # noqa: ARG001 -- every command has it
    file: str,
    *,
    names: tuple[str, ...],
    policies: tuple[str, ...],
    results: str | None,
    as_json: bool,
) -> int:
    """Evaluate policies on the records in a FILE, and write tables and plots.

    A policy sees only what a run could see at that moment: hashes, lengths, similarity, rewards and the model. It also
    sees the shares that were counted on the other tasks of the model. All arms are compared with the arm `retry`, or
    with `stop` if the records have no retries. The differences are paired.
    """
    from actors.config.loader import load_policy
    from actors.files.suggestions import nearest
    from actors.values.lines import line
    from replan.cli.terminal.console import notice, out, print_json, rich_text
    from replan.setup.installation import data_root
    from replan_lab.commands.experiment import print_rows
    from replan_lab.experiments.report import write_files
    from replan_lab.recorded_dialogues.policy_evaluation import arms_for, baseline_of, compare, plots_of, tables_of
    from replan_lab.recorded_dialogues.records import read_records
    from replan_lab.recorded_dialogues.table_policies import decide_by
    from runtime.core.errors import UsageProblem

    records = read_records(Path(file))
    if records.left_out:
        notice(f"{records.left_out} records are ignored, because they have no verdict")
    arms = arms_for(records)
    for name in names:
        if name not in arms:
            raise UsageProblem(f"there is no arm {name!r} for these records", place="--arm", hint=nearest(name, arms))
    kept = {*names, baseline_of(arms)} if names else {*arms}
    chosen = {name: policy for name, policy in arms.items() if name in kept}
    for name in policies:
        chosen[Path(name).stem] = decide_by(load_policy(name, data_root()))
    comparison = compare(records, chosen)
    if not comparison.cases:
        hint = "record another attempt at the same task by the same model"
        raise UsageProblem("no rejected attempt in the records is followed by another attempt", place=file, hint=hint)
    tables = tables_of(comparison)
    folder = Path(results) if results else Path("experiments") / Path(file).name.partition(".")[0]
    write_files(folder, tables, dict(plots_of(comparison, tables)), {})
    if as_json:
        print_json({"form": records.form, "folder": str(folder), **tables})
    else:
        print_rows([{name: row[name] for name in _SHOWN} for row in tables["arms"]])
        out().print(rich_text(line(f"Tables and plots: {folder}")))
    return Exit.OK
