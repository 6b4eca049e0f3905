"""The options, arguments and help of the commands of `workflow`."""

import click

from replan.cli.completing import complete_workflow
from replan.cli.options import Invocation, common, examples, json_option, plugins_option
from runtime.core.errors import UsageProblem

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
    from replan.cli.commands.workflow import list_workflows

    return list_workflows(as_json=as_json)


@workflow.command(epilog=examples("replan workflow show search", "replan workflow show my_workflow.yaml --json"))
@click.argument("name", shell_complete=complete_workflow)
@plugins_option
@json_option
@common
@click.pass_obj
def show(invocation: Invocation, name: str, *, as_json: bool) -> int:
    """Show a workflow with every default in place."""
    from replan.cli.commands.workflow import show_workflow

    return show_workflow(invocation, name, as_json=as_json)


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
    from replan.cli.commands.workflow import draw_workflow

    return draw_workflow(invocation, name, form or "mermaid", as_plan=as_plan, as_json=as_json)


@workflow.command(
    short_help="Print a JSON Schema, for editors.", epilog=examples("replan workflow schema > workflow.schema.json")
)
@click.argument("kind", type=click.Choice(["workflow", "prompts", "policy"]), default="workflow")
@click.option("--json", "as_json", is_flag=True, help="The schema is JSON in any case.")
@common
def schema(kind: str, *, as_json: bool) -> int:
    """Print the JSON Schema of a workflow, prompts or policy file, for editors."""
    del as_json
    from replan.cli.commands.workflow import print_schema

    return print_schema(kind)


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
    from replan.cli.commands.workflow import print_cost

    return print_cost(invocation, name, model, as_json=as_json)
