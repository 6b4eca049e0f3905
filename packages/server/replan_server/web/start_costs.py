"""The part of a start form that explains the cost and the workflow of the run that the form would start.

A script gets this part with a GET request when a field changes. The request starts nothing, and does not count as a
write. Without scripts, a button shows the form again.
"""

from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response

from actors.config.diagram import workflow_flow
from actors.config.loader import read_workflow
from actors.config.model_spec import TEMPLATES, describe_model
from actors.execution.prepare import CALLS as EXECUTION_CALLS
from actors.prompting.render import SPECIFICATION_BYTES_MAX
from actors.values.format import format_count, money
from replan.runs.kind_interface import ModelAndLimits, installed_interfaces
from replan.runs.prepare import price_for
from replan.runs.worst_case import cost_of_run, cost_texts
from replan.setup.settings import DEFAULT
from replan.views.errors import line_of_error
from replan_server.service.access import Principal
from replan_server.service.orders import Order
from replan_server.web.drawing import Drawing, draw
from replan_server.web.requests import FormFields, page
from replan_server.web.run_actions import limits_in_form
from replan_server.web.site import Site
from runtime.core.errors import UsageProblem
from runtime.core.ledger import FREE

WORKFLOW = "search"


@dataclass(frozen=True, slots=True)
class WorkflowExplained:
    """A workflow, with the facts that people need to choose it."""

    name: str
    sentence: str
    """The workflow's description; for an unreadable workflow, the error."""
    drawing: Drawing | None
    """The drawing of the workflow's steps. None if the workflow cannot be read, or is too large to be drawn."""


@dataclass(frozen=True, slots=True)
class StartCost:
    """The cost of the run that a form would start."""

    rows: tuple[tuple[str, str], ...] = ()
    """Labels and texts: the model, the largest number of calls and the largest cost. Empty if `trouble` is set."""
    trouble: str = ""
    """Why the run cannot be started; empty if it can be started."""
    lacking: str = ""
    """A sentence about the model that the run lacks; empty if it has a model or needs none."""
    workflow: WorkflowExplained | None = None
    """The chosen workflow; None for a kind of run without workflows."""


async def show_cost(site: Site, request: Request, who: Principal) -> Response:
    """Return the part of the form that shows the cost of a run, for the fields in the query."""
    cost = start_cost(site, request.query_params.get("kind", ""), FormFields(request.query_params))
    return page(site, who, "start_cost.html", {"cost": cost})


def start_cost(site: Site, kind: str, form: FormFields) -> StartCost:
    """Return the cost of the run that a form describes; for an unknown kind, the cost of a planning run."""
    name = form.text("workflow") or WORKFLOW
    workflow = None
    try:
        wanted = ModelAndLimits(model=form.text("model") or DEFAULT, limits=limits_in_form(form))
        lacking = ""
        if wanted.model == DEFAULT and not site.offer.names_model(site.engine.environment):
            if kind == "execution":
                site.offer.limits_of(wanted, EXECUTION_CALLS)
                return StartCost((("Model", "none; after a failure, the run makes no new plan"),))
            lacking, wanted = _lacking_model(kind), replace(wanted, model=TEMPLATES[0])
        interface = next((item for item in installed_interfaces() if item.kind == kind), None)
        if interface is not None:
            fields = {field: form.text(field) for field in interface.order.model_fields}
            rows = _rows(site, wanted, interface.calls(fields))
        elif kind == "execution":
            rows = _rows(site, wanted, EXECUTION_CALLS)
        else:
            workflow = _explain_workflow(site, name)
            rows = _planning_rows(site, name, wanted)
        if lacking:  # The calls depend on no model, but the money does.
            rows = (*(row for row in rows if row[0] not in ("Model", "Money")), ("Money", "depends on the model"))
        return StartCost(rows, workflow=workflow, lacking=lacking)
    except UsageProblem as error:
        return StartCost(trouble=line_of_error(error), workflow=workflow)


def _takes_templates(kind: str) -> bool:
    return all(item.takes_templates for item in installed_interfaces() if item.kind == kind)


def _lacking_model(kind: str) -> str:
    return f"No model is set. Name a model in config.yaml{', or choose a template' if _takes_templates(kind) else ''}."


def model_labels(site: Site, kind: str) -> dict[str, str]:
    """Return a label for each choice of a model in a form: its name, and the model if that has another name.

    If the settings name no model, the choice `DEFAULT` is missing. In the form of an execution, which needs no model,
    its label is then `none`.
    """
    labels: dict[str, str] = {}
    templates = _takes_templates(kind)
    for name in site.offer.models:
        if name in TEMPLATES and not templates:
            continue
        if name == DEFAULT and not site.offer.names_model(site.engine.environment):
            labels |= {name: "none"} if kind == "execution" else {}
            continue
        try:
            model = describe_model(site.offer.choice_of(name, site.engine.environment).text)
        except UsageProblem:  # The form says so at the choice.
            model = name
        labels[name] = name if model == name else f"{name} ({model})"
    return labels


def explain_workflows(site: Site) -> tuple[WorkflowExplained, ...]:
    """Return an explanation of each workflow that clients may choose."""
    return tuple(_explain_workflow(site, name) for name in site.offer.workflows)


def _explain_workflow(site: Site, name: str) -> WorkflowExplained:
    """Return the explanation of a workflow. Raises `UsageProblem` for an unknown name."""
    path = site.offer.workflow_path(name)
    try:
        workflow, _, _ = read_workflow(path, site.offer.root)
    except UsageProblem as error:
        return WorkflowExplained(name, line_of_error(error), None)
    return WorkflowExplained(name, workflow.description, draw(workflow_flow(workflow)))


def _planning_rows(site: Site, workflow: str, wanted: ModelAndLimits) -> tuple[tuple[str, str], ...]:
    order = Order(problem="A text for the problem.", workflow=workflow, model=wanted.model, limits=wanted.limits)
    prepared = site.offer.prepare(order, site.engine.registry, site.engine.environment)
    cost = cost_of_run(prepared.request, SPECIFICATION_BYTES_MAX)
    texts, own = cost_texts(cost), cost.get("step_models", {})
    models = [
        describe_model(prepared.choice.text),
        *(f"{describe_model(model)} for {step}" for step, model in own.items()),
    ]
    return (
        ("Model", ", ".join(models)),
        ("At best", texts["best"]),
        ("At worst", texts["worst"]),
        ("Money", f"{texts['money']}, for a text of any length without files"),
    )


def _rows(site: Site, wanted: ModelAndLimits, usual_calls: int) -> tuple[tuple[str, str], ...]:
    """Return the rows of `StartCost` for a run whose number of calls is bounded only by its limits."""
    limits, environment = site.offer.limits_of(wanted, usual_calls), site.engine.environment
    choice = site.offer.choice_of(wanted.model, environment)
    price = price_for(choice, site.offer.config, environment, site.now())
    most = limits.get("max_cost")
    if price is None:
        usd = "unknown: the price of this model is not known"
    elif price == FREE:
        usd = f"at most {money(0)}"
    else:
        usd = "the cost of these calls; no limit in dollars is set" if most is None else f"at most {money(most)}"
    calls = f"{format_count(limits.get('max_calls') or usual_calls, 'call')}, the limit"
    return ("Model", describe_model(choice.text)), ("At worst", calls), ("Money", usd)
