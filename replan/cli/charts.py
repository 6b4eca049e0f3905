"""What `workflow` prints: lists, resolved values, drawings, schemas and costs."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import yaml
from pydantic import BaseModel
from rich.text import Text

from actors.config.diagram import dot, mermaid
from actors.config.loader import read_workflow, shipped_workflows
from actors.config.workflow import Workflow
from actors.config.workflow_check import check_workflow
from actors.planning.policy_as_plan import as_plan as plan_of
from actors.policy.table import Policy
from actors.prompting.book import PromptsFile
from replan.cli.dryrun import print_cost_of
from replan.cli.exits import Exit
from replan.runs.prepare import RunOptions, RunRequest, prepare_run
from replan.setup.config_schemas import schema_text
from replan.setup.data_files import data_root
from replan.setup.home_folder import locate_home
from replan.setup.plugins import registry
from replan.setup.settings import choose_model, read_user_config
from replan.views.console import Row, columns, err, line, print_json, show
from runtime.core.clock import SystemClock
from runtime.core.errors import UsageProblem
from runtime.logs.terminal_text import clean

_SCHEMAS: Mapping[str, type[BaseModel]] = {"workflow": Workflow, "prompts": PromptsFile, "policy": Policy}


def list_workflows(*, as_json: bool) -> int:
    """Print the shipped workflows, a line each."""
    root = data_root()
    found = {name: read_workflow(name, root)[0] for name in shipped_workflows(root)}
    if as_json:
        rows = [{"name": name, "description": one.description} for name, one in found.items()]
        print_json({"workflows": rows})
        return Exit.OK
    width = max(map(len, found))
    heads = {name: Text(f"{name:<{width}}", style="bold") for name in found}
    show(Row(columns(heads[name], line(one.description)), width + 2) for name, one in found.items())
    return Exit.OK


def show_workflow(name: str, *, as_json: bool) -> int:
    """Print a workflow, resolved."""
    known = registry()
    with _named():
        loaded, _ = check_workflow(name, data_root(), frozenset(known.guards), known.generator_names, to_run=False)
    for notice in loaded.notices:
        err().print(line(f"replan: {notice}"))
    value = loaded.workflow.model_dump(mode="json", exclude_none=True)
    if as_json:
        print_json(value)
    else:
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)
        print(clean(text), end="")  # noqa: T201 -- the result goes to stdout
    return Exit.OK


def draw_workflow(name: str, form: str, *, as_plan: bool) -> int:
    """Print a workflow's drawing, or the plan that says the same."""
    if as_plan:
        print_json(plan_of(_job(name, None).pinned))
    else:
        with _named():
            drawn, _, _ = read_workflow(name, data_root())
        print((mermaid if form == "mermaid" else dot)(drawn), end="")  # noqa: T201 -- the result goes to stdout
    return Exit.OK


def print_schema(kind: str) -> int:
    """Print a JSON Schema."""
    print(schema_text(_SCHEMAS[kind]), end="")  # noqa: T201 -- the result goes to stdout
    return Exit.OK


def print_cost(name: str, model: str | None, *, as_json: bool) -> int:
    """Print what a run of the workflow can cost, for any problem."""
    print_cost_of(_job(name, model).pinned, as_json=as_json)
    return Exit.OK


def _job(name: str, model: str | None) -> RunRequest:
    """Return the job of a workflow, for whatever problem."""
    config = read_user_config(locate_home().config)
    with _named():
        return prepare_run(
            "any problem",
            RunOptions(workflow=name),
            choose_model(model, os.environ, config),
            config=config,
            registry=registry(),
            root=data_root(),
            environment=os.environ,
            now=SystemClock().now(),
        )


@contextmanager
def _named() -> Iterator[None]:
    """Say of a workflow that is not known by which argument it was named."""
    try:
        yield
    except UsageProblem as problem:
        place = "NAME" if problem.place in ("", "workflow") else problem.place
        raise UsageProblem(problem.cause, place=place, hint=problem.hint) from None
