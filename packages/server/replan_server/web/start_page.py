"""The pages that start a run: a form for each kind of run. If the address names a run, its values fill the form."""

import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

import trio
from pydantic import BaseModel, ValidationError
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import Response

from actors.run.kind import PreparedRun
from actors.run.limits import LIMITS
from replan.runs.executing import plan_of_run
from replan.runs.kind_interface import KindInterface, KindOrder, installed_interfaces
from replan.runs.loaded import Loaded
from replan.setup.settings import DEFAULT
from replan.views.errors import line_of_error
from replan_server.service.access import Principal
from replan_server.service.messages import hash_key
from replan_server.service.orders import ExecutionOrder, Order, ServerOffer
from replan_server.service.read_operations import offer_of
from replan_server.service.requests import HTTP, wrong_value
from replan_server.service.starting import prepare_execution, prepare_of_kind, prepare_planning, start_once
from replan_server.web.requests import IDEMPOTENCY_KEY, FormFields, page
from replan_server.web.run_actions import limits_in_form, values_in_form
from replan_server.web.site import Site
from replan_server.web.start_costs import explain_workflows, model_labels, start_cost
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Limits

FIELDS: Mapping[str, tuple[str, ...]] = {
    "planning": ("problem", "workflow", "strict", "model", *LIMITS),
    "execution": ("plan_of", "tools", "model", *LIMITS),
}
"""The fields whose values are kept when the form is shown again, by kind of run. Kinds from plug-ins are not listed."""
PAGE = replace(HTTP, noun="field", whole="form")
InputForm = Literal["choice", "switch", "values", "text", "line"]
"""How the form shows one field of an order. With `values`, the user writes one line `NAME = VALUE` for each value."""
LINE_MAX = 200
"""The largest number of characters for which a text field has only one line. A field for longer texts has several
lines."""


@dataclass(frozen=True, slots=True)
class OrderInput:
    """A field of a kind's order, with the facts that the form shows for it."""

    name: str
    label: str
    form: InputForm
    required: bool
    help: str
    options: tuple[str, ...]
    """The values to choose from; empty unless `form` is `choice`."""
    labels: Mapping[str, str]
    """The labels of values. A value without a label is shown unchanged."""


def _fields_of_form(kind: str) -> tuple[str, ...]:
    """Return the fields that keep their values in the form of a kind; empty for a kind without a form."""
    for interface in installed_interfaces():
        if interface.kind == kind:
            return (*interface.order.model_fields, "model", *LIMITS)
    return FIELDS.get(kind, ())


async def show_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page that starts a planning run. The query may name a run whose values fill the form."""
    return await _empty_form(site, request, who, "planning")


async def show_form_of_kind(interface: KindInterface, site: Site, request: Request, who: Principal) -> Response:
    """Return the page that starts a run of an installed kind.

    The query may name a run whose values fill the form. It may also have values for the fields in `interface.names`.
    """
    typed = {name: text[:64] for name in interface.names if (text := request.query_params.get(name))}
    return await _empty_form(site, request, who, interface.kind, **typed)


async def show_execution_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page that executes a plan.

    The query may name the plan's run, or an execution whose values fill the form.
    """
    site.check_execute()
    return await _empty_form(site, request, who, "execution", plan_of=request.query_params.get("plan_of", "")[:64])


async def show_form_with_cost(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Return the filled form with the cost of the run, for browsers without scripts."""
    del request
    kind = form.text("kind")
    kind = kind if _fields_of_form(kind) else "planning"
    return _form(site, who, kind, {name: form.text(name) for name in _fields_of_form(kind)})


async def start_run(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Start a planning run."""
    del request

    async def prepare() -> PreparedRun:
        files = await form.uploads("files")
        problem = form.text("problem")
        workflow = form.text("workflow") or "search"
        strict = form.text("strict") == "yes"
        return prepare_planning(
            site, Order(problem=problem, workflow=workflow, uploads=files, strict=strict, **_model_and_limits(form))
        )

    return await _start_run(site, who, form, "planning", prepare)


async def start_of_kind(
    interface: KindInterface, site: Site, request: Request, who: Principal, form: FormFields
) -> Response:
    """Start a run of an installed kind."""
    del request

    async def prepare() -> PreparedRun:
        order = KindOrder(fields=_order_in_form(interface, form), **_model_and_limits(form))
        work = partial(prepare_of_kind, site, interface, order, may_take_long=True)
        return await trio.to_thread.run_sync(work, abandon_on_cancel=True)

    return await _start_run(site, who, form, interface.kind, prepare)


def _order_in_form(interface: KindInterface, form: FormFields) -> BaseModel:
    """Return the order that a form of the kind contains. Raises `UsageProblem`, whose place is the wrong field."""
    values: dict[str, Any] = {}
    for name, drawn_as in _input_forms(interface).items():
        text = form.text(name)
        match drawn_as:
            case "values":
                values[name] = values_in_form(text)
            case "switch":
                values[name] = text == "yes"
            case _ if text.strip():
                values[name] = text
            case _:
                pass  # An empty field is a missing field.
    try:
        return interface.order.model_validate(values)
    except ValidationError as error:
        raise wrong_value(error, interface.order, PAGE) from None


@cache
def _input_forms(interface: KindInterface) -> Mapping[str, InputForm]:
    schemas = interface.order.model_json_schema()["properties"]
    return {
        name: "choice" if name in interface.names else _input_form(schemas[name])
        for name in interface.order.model_fields
    }


def _input_form(schema: Mapping[str, Any]) -> InputForm:
    match schema.get("type"):
        case "boolean":
            return "switch"
        case "object":
            return "values"
        case "string" if schema.get("maxLength", LINE_MAX + 1) > LINE_MAX:
            return "text"
        case _:
            return "line"


def _order_inputs(interface: KindInterface, offer: ServerOffer) -> Iterator[OrderInput]:
    for name, spec in interface.order.model_fields.items():
        form = _input_forms(interface)[name]
        names = interface.names.get(name)
        hint = spec.description or ""
        if form == "values":
            hint = "Write a line `NAME = VALUE` for each" + (f", such as {spec.examples[0]}." if spec.examples else ".")
        yield OrderInput(
            name,
            spec.title or name.replace("_", " ").capitalize(),
            form,
            spec.is_required(),
            hint,
            () if names is None else (*names.find(offer), *names.labels),
            {} if names is None else names.labels,
        )


async def start_execution(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Start the execution of a proved plan, if this server may execute plans."""
    del request
    site.check_execute()

    async def prepare() -> PreparedRun:
        plan = await plan_of_run(site.reader, form.text("plan_of").strip())
        return prepare_execution(site, ExecutionOrder(plan=plan, tools=form.text("tools"), **_model_and_limits(form)))

    return await _start_run(site, who, form, "execution", prepare)


async def _start_run(
    site: Site, who: Principal, form: FormFields, kind: str, prepare: Callable[[], Awaitable[PreparedRun]]
) -> Response:
    """Start a run. If the form cannot be used, show it again with the typed values."""
    try:
        mark = await form.mark()
        key = hash_key(form.text(IDEMPOTENCY_KEY), who, f"web {kind} {mark}", place=IDEMPOTENCY_KEY)
        prepared = await prepare()
        run, _ = await start_once(site, who, key, mark, lambda: prepared)
    except UsageProblem as error:
        typed = {name: form.text(name) for name in _fields_of_form(kind)}
        return _form(site, who, kind, typed, trouble=line_of_error(error))
    return Response(status_code=303, headers={"location": f"/runs/{run}?done=started"})


def _model_and_limits(form: FormFields) -> dict[str, Any]:
    return {"model": form.text("model") or DEFAULT, "limits": limits_in_form(form)}


async def _empty_form(site: Site, request: Request, who: Principal, kind: str, **typed: str) -> Response:
    run = request.query_params.get("like", "")[:64]
    if not run:
        return _form(site, who, kind, typed)
    loaded = await site.reader.read(run)
    if form_of(loaded) != kind:
        raise UsageProblem(f"run {run} is not of kind {kind}", hint=f"its kind is {loaded.kind.name}")
    filled = _fields_of(site, loaded)
    if typed:  # The run has made what is named. Its limits belonged to its own task.
        filled = {name: text for name, text in filled.items() if name not in LIMITS} | typed
    return _form(site, who, kind, filled, like=run, kept=request.query_params.get("done") == "kept")


def form_of(loaded: Loaded) -> str:
    """Return the kind of the form that starts another run like `loaded`."""
    return next(
        (interface.kind for interface in installed_interfaces() if interface.like(loaded) is not None), loaded.kind.name
    )


def _fields_of(site: Site, loaded: Loaded) -> dict[str, str]:
    """Return the form values that start another run like `loaded`, without names that clients must not use."""
    order = loaded.kind.views.asked(loaded.state)
    common = loaded.kind.run_state(loaded.state)
    values = {"problem": order.text, "plan_of": loaded.kind.made_from(loaded.state)}
    if (workflow := dict(order.facts).get("workflow")) in site.offer.workflows:
        values["workflow"] = str(workflow)
    for interface in installed_interfaces():
        for name, text in (interface.like(loaded) or {}).items():
            names = interface.names.get(name)
            if names is None or text in names.labels or text in names.find(site.offer):
                values[name] = text
    model = loaded.kind.model(loaded.state)
    values["model"] = next((name for name, text in site.offer.models.items() if model and model == text), DEFAULT)
    if common is not None:
        values |= _limits_as_text(common.ledger.limits)
    return {name: values.get(name, "") for name in _fields_of_form(form_of(loaded))}


def _limits_as_text(limits: Limits) -> dict[str, str]:
    """Return the limits of a run as people type them. The deadline is left out, because it is in the past or near."""
    shown = {name: spec for name, spec in LIMITS.items() if spec.key != "deadline" and spec.unit != "switch"}
    values = {name: getattr(limits, spec.key, None) for name, spec in shown.items()}
    return {name: shown[name].typed(value) for name, value in values.items() if value is not None}


def _form(
    site: Site,
    who: Principal,
    kind: str,
    typed: Mapping[str, str] | None = None,
    *,
    trouble: str = "",
    like: str = "",
    kept: bool = False,
) -> Response:
    filled = typed or {}
    kinds = installed_interfaces()
    planning = kind == "planning"
    chosen = [interface for interface in kinds if interface.kind == kind]
    values = {
        "kind": kind,
        "kinds": kinds,
        "inputs": [item for interface in chosen for item in _order_inputs(interface, site.offer)],
        "key": secrets.token_urlsafe(),
        "typed": {name: filled.get(name, "") for name in _fields_of_form(kind)},
        "limits": {
            name: spec
            for name, spec in LIMITS.items()
            if not any(spec.key in interface.without for interface in chosen)
        },
        "limited": any(filled.get(name) for name in LIMITS),
        "trouble": trouble,
        "like": like,
        "kept": next(
            (interface.kept_text.word for interface in chosen if kept and interface.kept_text is not None), ""
        ),
        "offer": offer_of(site),
        "models": model_labels(site, kind),
        "workflows": explain_workflows(site) if planning else (),
        "cost": start_cost(site, kind, FormFields(ImmutableMultiDict(filled))),
        "executes": site.allow_execute,
        "here": "new",
    }
    return page(site, who, "new.html", values, 422 if trouble else 200)
