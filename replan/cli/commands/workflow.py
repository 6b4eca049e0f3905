"""The commands of the groups `workflow` and `policy`.

They list, show, check and draw shipped files and the user's files.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from replan.cli.completing import complete_policy, complete_workflow
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option, plugins_option
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel

    from actors.planning.config import RunConfig
    from actors.policy.table import Row
    from actors.values.lines import Line


_GRAPH = examples(
    "replan workflow graph search",
    "replan workflow graph search --as-plan | replan check -",
    "replan workflow graph market_size",
)


@click.group(
    epilog=examples(
        "replan workflow list",
        "replan workflow show search",
        "replan workflow graph search | mmdc -i - -o search.svg",
        "replan workflow cost my_workflow.yaml -m gpt-5-mini",
    )
)
@common
def workflow() -> None:
    """Show workflows and what they can cost. NAME is a shipped workflow or a file."""


@workflow.command("list", epilog=examples("replan workflow list", "replan workflow list --json"))
@json_option
@common
def list_command(*, as_json: bool) -> int:
    """List the shipped workflows."""
    from actors.config.loader import read_workflow, shipped_workflows
    from replan.setup.installation import data_root

    root = data_root()
    descriptions = {name: read_workflow(name, root)[0].description for name in shipped_workflows(root)}
    _print_shipped("workflows", descriptions, as_json=as_json)
    return Exit.OK


@workflow.command(epilog=examples("replan workflow show search", "replan workflow show my_workflow.yaml --json"))
@click.argument("name", shell_complete=complete_workflow)
@plugins_option
@json_option
@common
@click.pass_obj
def show(invocation: Invocation, name: str, *, as_json: bool) -> int:
    """Show a workflow with all its defaults."""
    import yaml

    from actors.config.workflow_check import check_workflow
    from replan.cli.home import registry_of
    from replan.cli.terminal.console import notice, print_json, print_text
    from replan.setup.installation import data_root
    from runtime.logs.terminal_text import clean

    plugins = registry_of(invocation)
    with _name_argument():
        loaded, _ = check_workflow(name, data_root(), frozenset(plugins.guards), plugins.generator_names, to_run=False)
    for text in loaded.notices:
        notice(text)
    value = loaded.workflow.model_dump(mode="json", exclude_none=True)
    if as_json:
        print_json(value)
    else:
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)
        print_text(clean(text))
    return Exit.OK


@workflow.command(short_help="Draw a workflow as text.", epilog=_GRAPH)
@click.argument("name", shell_complete=complete_workflow)
@click.option("--as-plan", is_flag=True, help="Print the workflow as a plan that `replan check` accepts.")
@plugins_option
@json_option
@common
@click.pass_obj
def graph(invocation: Invocation, name: str, *, as_plan: bool, as_json: bool) -> int:
    """Draw a workflow as Mermaid text: steps, guards, budgets, and the ways back.

    NAME may also be a file of an installed kind of runs.
    """
    from actors.config.diagram import mermaid
    from actors.config.loader import read_workflow
    from actors.planning.policy_as_plan import as_plan as plan_of
    from replan.cli.terminal.console import print_json, print_text
    from replan.setup.installation import data_root

    if as_plan:
        print_json(plan_of(_pinned_config(invocation, name, None)))
        return Exit.OK
    text, drawn = _diagram_of_a_kind(name), name
    if text is None:
        with _name_argument():
            workflow, _, _ = read_workflow(name, data_root())
        text, drawn = mermaid(workflow), workflow.name
    if as_json:
        print_json({"workflow": drawn, "format": "mermaid", "text": text})
    else:
        print_text(text)
    return Exit.OK


@workflow.command(
    short_help="Print a JSON Schema, for editors.", epilog=examples("replan workflow schema > workflow.schema.json")
)
@click.argument("kind", type=click.Choice(["workflow", "prompts", "policy"]), default="workflow")
@click.option("--json", "as_json", is_flag=True, help="This option changes nothing: the schema is always JSON.")
@common
def schema(kind: str, *, as_json: bool) -> int:
    """Print the JSON Schema of a workflow, prompts or policy file, for editors."""
    del as_json
    from actors.config.workflow import Workflow
    from actors.policy.table import Policy
    from actors.prompting.book import PromptsFile
    from replan.cli.terminal.console import print_text
    from replan.setup.config_schemas import schema_text

    models: Mapping[str, type[BaseModel]] = {"workflow": Workflow, "prompts": PromptsFile, "policy": Policy}
    print_text(schema_text(models[kind]))
    return Exit.OK


@workflow.command(
    epilog=examples("replan workflow cost search", "replan workflow cost my_workflow.yaml -m gpt-5-mini --json")
)
@click.argument("name", shell_complete=complete_workflow)
@click.option(
    "-m",
    "--model",
    help="The model whose price is used; default: REPLAN_MODEL, else the `model` of config.yaml, else none.",
)
@plugins_option
@json_option
@common
@click.pass_obj
def cost(invocation: Invocation, name: str, *, model: str | None, as_json: bool) -> int:
    """Print the exact worst case in calls, and a maximum in money."""
    from replan.cli.starting import print_cost_of

    print_cost_of(_pinned_config(invocation, name, model), as_json=as_json)
    return Exit.OK


def _diagram_of_a_kind(name: str) -> str | None:
    from actors.config.loader import shipped_workflows
    from replan.setup.installation import data_root
    from replan.setup.kinds import Kinds

    root = data_root()
    if name in shipped_workflows(root):
        return None
    diagrams = (kind.diagram(name, root) for kind in Kinds().usable())
    return next((diagram for diagram in diagrams if diagram is not None), None)


def _pinned_config(invocation: Invocation, name: str, model: str | None) -> RunConfig:
    from actors.planning.prepare import PlanningInput, RunOptions
    from replan.cli.home import registry_of
    from replan.runs.prepare import RunOrder, prepare
    from replan.runs.token_goals import MODEL
    from replan.setup.settings import NoModel

    with _name_argument():
        plugins = registry_of(invocation)
        task = PlanningInput("any problem", RunOptions(workflow=name))
        try:
            prepared = prepare(RunOrder(task, model), registry=plugins, environment=os.environ)
        except NoModel:
            prepared = prepare(RunOrder(task, MODEL), registry=plugins, environment=os.environ)
    pinned: RunConfig = prepared.request.pinned
    return pinned


@contextmanager
def _name_argument() -> Iterator[None]:
    """Make `NAME` the place of errors about the workflow within the block."""
    try:
        yield
    except UsageProblem as problem:
        place = "NAME" if problem.place in ("", "workflow") else problem.place
        raise UsageProblem(problem.cause, place=place, hint=problem.hint) from None


@click.group(
    epilog=examples(
        "replan policy list",
        "replan policy show default",
        "replan policy check strict.yaml -w mine.yaml",
    )
)
@common
def policy() -> None:
    """Show and check policies, which react to failures. NAME is a shipped policy or a file."""


@policy.command("list", epilog=examples("replan policy list", "replan policy list --json"))
@json_option
@common
def list_policies(*, as_json: bool) -> int:
    """List the shipped policies."""
    from actors.config.loader import load_policy
    from replan.setup.installation import data_root

    root = data_root()
    names = sorted(path.stem for path in (root / "configs" / "policies").glob("*.yaml"))
    descriptions = {name: load_policy(name, root).description for name in names}
    _print_shipped("policies", descriptions, as_json=as_json)
    return Exit.OK


@policy.command("show", epilog=examples("replan policy show default", "replan policy show strict.yaml --json"))
@click.argument("name", shell_complete=complete_policy)
@json_option
@common
def show_policy(name: str, *, as_json: bool) -> int:
    """Show the rows of a policy: what each row reacts to, its level, and why."""
    from actors.config.loader import load_policy
    from actors.values.lines import indent_line, line
    from replan.cli.terminal.console import print_json, show
    from replan.setup.installation import data_root

    policy = load_policy(name, data_root())
    if as_json:
        print_json(policy.model_dump(mode="json"))
        return Exit.OK
    rows = [line(f"{policy.name}: {policy.description}" if policy.description else policy.name, "bold")]
    for number, row in enumerate(policy.rows, 1):
        target = "" if row.target == "self" else f" to {row.target}"
        afresh = " afresh" if row.afresh else ""
        rows.append(line(f"{number}. {row.id}: {row.level}{afresh}{target}", "bold"))
        rows += [indent_line(f"fires on {_condition_text(row)}"), indent_line(row.why, "dim")]
    show(rows)
    return Exit.OK


@policy.command(
    "check", epilog=examples("replan policy check strict.yaml", "replan policy check *.yaml -w mine.yaml --json")
)
@click.argument("files", metavar="NAME...", shell_complete=complete_policy, nargs=-1, required=True)
@click.option("-w", "--workflow", metavar="NAME", help="The workflow whose roles the policy may name.")
@json_option
@common
def check_policies(files: tuple[str, ...], *, workflow: str | None, as_json: bool) -> int:
    """Check policies: their form, and the codes, tags and roles that they name.

    A misspelt name is an error, with the nearest name. Any other unknown name is a warning: a plug-in may define it.
    Exit 2 if something is wrong.
    """
    from actors.config.loader import read_workflow
    from actors.policy.table import ROLES
    from replan.cli.terminal.console import print_json, show
    from replan.setup.installation import data_root

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


def _condition_text(row: Row) -> str:
    causes = ["a fatal verdict"] if row.fatal else []
    causes += row.codes
    causes += [f"tag {tag}" for tag in row.tags]
    causes += ["the same failure r_patience times in a row"] if row.repeated else []
    causes += ["an artifact repeated word for word in this round"] if row.repeats else []
    delay = f" (first delay {row.backoff_seconds:g} s, doubling)" if row.backoff_seconds else ""
    return (", ".join(causes) or "anything else") + delay


def _report(name: str, roles: set[str]) -> dict[str, Any]:
    from actors.config.loader import load_policy, policy_document
    from actors.policy.table import unknown_names
    from replan.setup.installation import data_root

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
            "hint": f"did you mean {unknown.near!r}?" if unknown.near else "only a plug-in or a workflow can define it",
        }
        for unknown in unknown_names(policy, roles)
    ]
    return {"policy": name, "valid": all(item["severity"] != "error" for item in findings), "findings": findings}


def _lines(report: dict[str, Any]) -> Iterator[Line]:
    from actors.values.lines import indent_line, line

    yield line(f"{report['policy']}: {'valid' if report['valid'] else 'wrong'}", "green" if report["valid"] else "red")
    for item in report["findings"]:
        hint = f" ({item['hint']})" if item["hint"] else ""
        warning = "warning: " if item["severity"] == "warning" else ""
        yield indent_line(f"{warning}{item['place']}: {item['message']}{hint}", "yellow" if warning else "")


def _print_shipped(sort: str, descriptions: Mapping[str, str], *, as_json: bool) -> None:
    from actors.values.lines import Line, StyledSpan, columns, line
    from replan.cli.terminal.console import print_json, show

    if as_json:
        print_json({sort: [{"name": name, "description": text} for name, text in descriptions.items()]})
        return
    width = max(map(len, descriptions))
    for name, text in descriptions.items():
        show([columns(Line((StyledSpan(f"{name:<{width}}", "bold"),)), line(text), hang=width + 2)])
