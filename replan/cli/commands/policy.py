"""`policy`: lists, shows and checks policies."""

from collections.abc import Iterator, Sequence
from typing import Any

from actors.config.loader import read_workflow
from actors.config.policy_loader import load_policy, policy_document
from actors.policy.table import Row
from actors.policy.unknown_names import ROLES, unknown_names
from actors.values.lines import Line, indented, line
from replan.cli.exits import Exit
from replan.cli.shipped_list import print_shipped
from replan.cli.terminal.console import print_json, show
from replan.setup.data_files import data_root
from runtime.core.errors import UsageProblem


def list_policies(*, as_json: bool) -> int:
    """Print the shipped policies, a line each. Return the exit code."""
    root = data_root()
    names = sorted(path.stem for path in (root / "configs" / "policies").glob("*.yaml"))
    descriptions = {name: load_policy(name, root).description for name in names}
    print_shipped("policies", descriptions, as_json=as_json)
    return Exit.OK


def show_policy(name: str, *, as_json: bool) -> int:
    """Print the rows of a policy, in their order. Return the exit code."""
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


def _fires(row: Row) -> str:
    causes = ["a fatal verdict"] if row.fatal else []
    causes += row.codes
    causes += [f"tag {tag}" for tag in row.tags]
    causes += ["the same failure r_patience times in a row"] if row.repeated else []
    causes += ["an artifact of this round made again word for word"] if row.repeats else []
    delay = f" (first delay {row.backoff_seconds:g} s, doubling)" if row.backoff_seconds else ""
    return (", ".join(causes) or "anything else") + delay


def check_policies(names: Sequence[str], workflow: str | None, *, as_json: bool) -> int:
    """Check policies, and print what is wrong with each. Return the exit code."""
    roles: set[str] = set(ROLES)
    if workflow is not None:
        used, _, _ = read_workflow(workflow, data_root())
        roles = {used.role(step) for step in used.action_pairs} - {""}
    reports = [_report(name, roles) for name in names]
    if as_json:
        print_json({"policies": reports})
    else:
        for report in reports:
            show(_lines(report))
    return Exit.OK if all(report["valid"] for report in reports) else Exit.USAGE


def _report(name: str, roles: set[str]) -> dict[str, Any]:
    """Return what is wrong with one policy, as `--json` prints it."""
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
    yield line(f"{report['policy']}: {'valid' if report['valid'] else 'wrong'}", "green" if report["valid"] else "red")
    for each in report["findings"]:
        hint = f" ({each['hint']})" if each["hint"] else ""
        warning = "warning: " if each["severity"] == "warning" else ""
        yield indented(f"{warning}{each['place']}: {each['message']}{hint}", "yellow" if warning else "")
