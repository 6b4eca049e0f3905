"""`workflow`: prints lists, resolved values, drawings, schemas and costs of workflows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from replan.cli.completing import complete_workflow
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option, plugins_option
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from pydantic import BaseModel

    from actors.planning.config import RunConfig


_GRAPH = examples(
    "replan workflow graph search",
    "replan workflow graph search --format dot | dot -Tsvg > search.svg",
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
    """Look at workflows and what they can cost. NAME is a shipped workflow or a file."""


@workflow.command("list", epilog=examples("replan workflow list", "replan workflow list --json"))
@json_option
@common
def list_command(*, as_json: bool) -> int:
    """List the shipped workflows."""
    from actors.config.loader import read_workflow, shipped_workflows
    from replan.cli.shipped_list import print_shipped
    from replan.setup.data_files import data_root

    root = data_root()
    descriptions = {name: read_workflow(name, root)[0].description for name in shipped_workflows(root)}
    print_shipped("workflows", descriptions, as_json=as_json)
    return Exit.OK


@workflow.command(epilog=examples("replan workflow show search", "replan workflow show my_workflow.yaml --json"))
@click.argument("name", shell_complete=complete_workflow)
@plugins_option
@json_option
@common
@click.pass_obj
def show(invocation: Invocation, name: str, *, as_json: bool) -> int:
    """Show a workflow with every default in place."""
    import yaml

    from actors.config.workflow_check import check_workflow
    from replan.cli.plugins import registry_of
    from replan.cli.terminal.console import notice, print_json, print_text
    from replan.setup.data_files import data_root
    from runtime.logs.terminal_text import clean

    plugins = registry_of(invocation)
    with _naming_argument():
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
@click.option("--format", "form", type=click.Choice(["mermaid", "dot"]), help="What to write; default: mermaid.")
@click.option("--as-plan", is_flag=True, help="Print the workflow as a plan that `replan check` takes.")
@plugins_option
@json_option
@common
@click.pass_obj
def graph(invocation: Invocation, name: str, *, form: str | None, as_plan: bool, as_json: bool) -> int:
    """Draw a workflow as text: steps, guards, budgets, and the ways back.

    NAME may also be a profile of `replan acquire`: its gates and the ways between them, as Mermaid.
    """
    if as_plan and form is not None:
        raise UsageProblem("a plan is JSON, and no drawing", place="--as-plan and --format", hint="leave one out")
    from actors.config.diagram import dot, mermaid
    from actors.config.loader import read_workflow
    from actors.planning.policy_as_plan import as_plan as plan_of
    from replan.cli.terminal.console import print_json, print_text
    from replan.setup.data_files import data_root

    form = form or "mermaid"
    if as_plan:
        print_json(plan_of(_pinned(invocation, name, None)))
        return Exit.OK
    text = None if form == "dot" else _diagram_of_a_kind(name)
    drawn = name
    if text is None:
        with _naming_argument():
            workflow, _, _ = read_workflow(name, data_root())
        text, drawn = (mermaid if form == "mermaid" else dot)(workflow), workflow.name
    if as_json:
        print_json({"workflow": drawn, "format": form, "text": text})
    else:
        print_text(text)
    return Exit.OK


@workflow.command(
    short_help="Print a JSON Schema, for editors.", epilog=examples("replan workflow schema > workflow.schema.json")
)
@click.argument("kind", type=click.Choice(["workflow", "prompts", "policy"]), default="workflow")
@click.option("--json", "as_json", is_flag=True, help="The schema is JSON in any case.")
@common
def schema(kind: str, *, as_json: bool) -> int:
    """Print the JSON Schema of a workflow, prompts or policy file, for editors."""
    del as_json
    from actors.config.workflow import Workflow
    from actors.policy.table import Policy
    from actors.prompting.prompts_file import PromptsFile
    from replan.cli.terminal.console import print_text
    from replan.setup.config_schemas import schema_text

    models: Mapping[str, type[BaseModel]] = {"workflow": Workflow, "prompts": PromptsFile, "policy": Policy}
    print_text(schema_text(models[kind]))
    return Exit.OK


@workflow.command(
    epilog=examples("replan workflow cost search", "replan workflow cost my_workflow.yaml -m gpt-5-mini --json")
)
@click.argument("name", shell_complete=complete_workflow)
@click.option("-m", "--model", help="The model whose price counts; default: REPLAN_MODEL, else rules.")
@plugins_option
@json_option
@common
@click.pass_obj
def cost(invocation: Invocation, name: str, *, model: str | None, as_json: bool) -> int:
    """Print the exact worst case in calls, and a bound in money."""
    from replan.cli.cost import print_cost_of

    print_cost_of(_pinned(invocation, name, model), as_json=as_json)
    return Exit.OK


def _diagram_of_a_kind(name: str) -> str | None:
    """Return the diagram of what another kind of agent is started with; None where no built-in kind knows the name."""
    from actors.config.loader import shipped_workflows
    from replan.setup.data_files import data_root
    from replan.setup.kinds import Kinds

    root = data_root()
    if name in shipped_workflows(root):
        return None
    diagrams = (kind.diagram(name, root) for kind in Kinds().built_in())
    return next((diagram for diagram in diagrams if diagram is not None), None)


def _pinned(invocation: Invocation, name: str, model: str | None) -> RunConfig:
    """Return what a run of the workflow would be pinned to, whatever its problem."""
    from actors.planning.prepare import RunOptions
    from replan.cli.plugins import registry_of
    from replan.runs.prepare import prepare

    with _naming_argument():
        plugins = registry_of(invocation)
        prepared = prepare("any problem", RunOptions(workflow=name), model, registry=plugins, environment=os.environ)
    return prepared.request.pinned


@contextmanager
def _naming_argument() -> Iterator[None]:
    """Name the argument in the error about an unknown workflow."""
    try:
        yield
    except UsageProblem as problem:
        place = "NAME" if problem.place in ("", "workflow") else problem.place
        raise UsageProblem(problem.cause, place=place, hint=problem.hint) from None
