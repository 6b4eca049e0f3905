"""`workflow`: prints lists, resolved values, drawings, schemas and costs of workflows."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import yaml
from pydantic import BaseModel

from actors.config.diagram import dot, mermaid
from actors.config.loader import read_workflow, shipped_workflows
from actors.config.workflow import Workflow
from actors.config.workflow_check import check_workflow
from actors.planning.config import RunConfig
from actors.planning.policy_as_plan import as_plan as plan_of
from actors.planning.prepare import RunOptions
from actors.policy.table import Policy
from actors.prompting.prompts_file import PromptsFile
from replan.cli.cost import print_cost_of
from replan.cli.exits import Exit
from replan.cli.options import Invocation
from replan.cli.plugins import registry_of
from replan.cli.shipped_list import print_shipped
from replan.cli.terminal.console import notice, print_json, print_text
from replan.runs.prepare import prepare
from replan.setup.config_schemas import schema_text
from replan.setup.data_files import data_root
from replan.setup.kinds import Kinds
from runtime.core.errors import UsageProblem
from runtime.logs.terminal_text import clean

_SCHEMAS: Mapping[str, type[BaseModel]] = {"workflow": Workflow, "prompts": PromptsFile, "policy": Policy}


def list_workflows(*, as_json: bool) -> int:
    """Print the shipped workflows, a line each."""
    root = data_root()
    descriptions = {name: read_workflow(name, root)[0].description for name in shipped_workflows(root)}
    print_shipped("workflows", descriptions, as_json=as_json)
    return Exit.OK


def show_workflow(invocation: Invocation, name: str, *, as_json: bool) -> int:
    """Print a workflow, resolved."""
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


def draw_workflow(invocation: Invocation, name: str, form: str, *, as_plan: bool, as_json: bool) -> int:
    """Print a workflow as a diagram, or as an equivalent plan."""
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


def _diagram_of_a_kind(name: str) -> str | None:
    """Return the diagram of what another kind of agent is started with; None where no built-in kind knows the name."""
    root = data_root()
    if name in shipped_workflows(root):
        return None
    diagrams = (kind.diagram(name, root) for kind in Kinds().built_in())
    return next((diagram for diagram in diagrams if diagram is not None), None)


def print_schema(kind: str) -> int:
    """Print a JSON Schema."""
    print_text(schema_text(_SCHEMAS[kind]))
    return Exit.OK


def print_cost(invocation: Invocation, name: str, model: str | None, *, as_json: bool) -> int:
    """Print what a run of the workflow can cost, for any problem."""
    print_cost_of(_pinned(invocation, name, model), as_json=as_json)
    return Exit.OK


def _pinned(invocation: Invocation, name: str, model: str | None) -> RunConfig:
    """Return what a run of the workflow would be pinned to, whatever its problem."""
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
