"""`policy`: lists, shows and checks policies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from replan.cli.completing import complete_policy
from replan.cli.exits import Exit
from replan.cli.options import common, examples, json_option
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from actors.policy.table import Row
    from actors.values.lines import Line


@click.group(
    epilog=examples(
        "replan policy list",
        "replan policy show default",
        "replan policy check strict.yaml -w mine.yaml",
    )
)
@common
def policy() -> None:
    """Look at policies: how far back a failure sends the search. NAME is a shipped policy or a file."""


@policy.command("list", epilog=examples("replan policy list", "replan policy list --json"))
@json_option
@common
def list_command(*, as_json: bool) -> int:
    """List the shipped policies."""
    from actors.config.loader import load_policy
    from replan.cli.shipped_list import print_shipped
    from replan.setup.data_files import data_root

    root = data_root()
    names = sorted(path.stem for path in (root / "configs" / "policies").glob("*.yaml"))
    descriptions = {name: load_policy(name, root).description for name in names}
    print_shipped("policies", descriptions, as_json=as_json)
    return Exit.OK


@policy.command(epilog=examples("replan policy show default", "replan policy show strict.yaml --json"))
@click.argument("name", shell_complete=complete_policy)
@json_option
@common
def show(name: str, *, as_json: bool) -> int:
    """Show the rows of a policy: what each fires on, how far back it goes, and why."""
    from actors.config.loader import load_policy
    from actors.values.lines import indented, line
    from replan.cli.terminal.console import print_json, show
    from replan.setup.data_files import data_root

    policy = load_policy(name, data_root())
    if as_json:
        print_json(policy.model_dump(mode="json"))
        return Exit.OK
    rows = [line(f"{policy.name}: {policy.description}" if policy.description else policy.name, "bold")]
    for number, row in enumerate(policy.rows, 1):
        target = "" if row.target == "self" else f" to {row.target}"
        rows.append(line(f"{number}. {row.id}: {row.level}{target}", "bold"))
        rows += [indented(f"fires on {_fires(row)}"), indented(row.why, "dim")]
    show(rows)
    return Exit.OK


@policy.command(epilog=examples("replan policy check strict.yaml", "replan policy check *.yaml -w mine.yaml --json"))
@click.argument("files", metavar="NAME...", shell_complete=complete_policy, nargs=-1, required=True)
@click.option("-w", "--workflow", metavar="NAME", help="The workflow whose roles the policy may name.")
@json_option
@common
def check(files: tuple[str, ...], *, workflow: str | None, as_json: bool) -> int:
    """Check policies: their form, and the codes, tags and roles that they name.

    A misspelt name is an error, with the nearest one. Another unknown name is a warning: a plug-in may have it.
    Exit 0: nothing is wrong; 2: something is.
    """
    from actors.config.loader import read_workflow
    from actors.policy.table import ROLES
    from replan.cli.terminal.console import print_json, show
    from replan.setup.data_files import data_root

    roles: set[str] = set(ROLES)
    if workflow is not None:
        used, _, _ = read_workflow(workflow, data_root())
        roles = {used.role(step) for step in used.action_pairs} - {""}
    reports = [_report(name, roles) for name in files]
    if as_json:
        print_json({"policies": reports})
    else:
        for report in reports:
            show(_lines(report))
    return Exit.OK if all(report["valid"] for report in reports) else Exit.USAGE


def _fires(row: Row) -> str:
    causes = ["a fatal verdict"] if row.fatal else []
    causes += row.codes
    causes += [f"tag {tag}" for tag in row.tags]
    causes += ["the same failure r_patience times in a row"] if row.repeated else []
    causes += ["an artifact of this round made again word for word"] if row.repeats else []
    delay = f" (first delay {row.backoff_seconds:g} s, doubling)" if row.backoff_seconds else ""
    return (", ".join(causes) or "anything else") + delay


def _report(name: str, roles: set[str]) -> dict[str, Any]:
    """Return what is wrong with one policy, as `--json` prints it."""
    from actors.config.loader import load_policy, policy_document
    from actors.policy.table import unknown_names
    from replan.setup.data_files import data_root

    try:
        policy, document = load_policy(name, data_root()), policy_document(name, data_root())
    except UsageProblem as problem:
        finding = {"severity": "error", "place": problem.place, "message": problem.cause, "hint": problem.hint}
        return {"policy": name, "valid": False, "findings": [finding]}
    findings = [
        {
            "severity": "error" if unknown.near else "warning",
            "place": document.place(unknown.path),
            "message": f"unknown {unknown.what} in row {unknown.row!r}",
            "hint": f"did you mean {unknown.near!r}?" if unknown.near else "only a plug-in or a workflow can have it",
        }
        for unknown in unknown_names(policy, roles)
    ]
    return {"policy": name, "valid": all(each["severity"] != "error" for each in findings), "findings": findings}


def _lines(report: dict[str, Any]) -> Iterator[Line]:
    from actors.values.lines import indented, line

    yield line(f"{report['policy']}: {'valid' if report['valid'] else 'wrong'}", "green" if report["valid"] else "red")
    for each in report["findings"]:
        hint = f" ({each['hint']})" if each["hint"] else ""
        warning = "warning: " if each["severity"] == "warning" else ""
        yield indented(f"{warning}{each['place']}: {each['message']}{hint}", "yellow" if warning else "")
