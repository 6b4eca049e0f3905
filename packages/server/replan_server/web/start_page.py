"""The pages that start a run: the form of each kind, and the form that edits what a run has made for people to keep."""

import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal
from urllib.parse import urlencode

import trio
from pydantic import BaseModel, ValidationError
from starlette.datastructures import ImmutableMultiDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from actors.run.kind import PreparedRun
from actors.run.limits import LIMITS
from replan.runs.executing import plan_of_run
from replan.runs.families import read_shown
from replan.runs.kind_interface import KeptText, KindInterface, installed_interfaces
from replan.runs.loaded import Loaded
from replan.runs.orders import DEFAULT, ExecutionOrder, KindOrder, Offer, Order
from replan.views.errors import line_of_error
from replan_server.service.access import Principal
from replan_server.service.messages import hash_key
from replan_server.service.read_operations import offer_of
from replan_server.service.requests import HTTP, wrong_value
from replan_server.service.starting import (
    prepare_execution,
    prepare_of_kind,
    prepare_planning,
    start_once,
)
from replan_server.web.requests import IDEMPOTENCY_KEY, FormFields, page
from replan_server.web.run_actions import limits_in_form, values_in_form
from replan_server.web.site import Site
from replan_server.web.start_costs import explain_workflows, model_labels, start_cost
from runtime.core.errors import UsageProblem
from runtime.core.ledger import MICRO, Limits

FIELDS: Mapping[str, tuple[str, ...]] = {
    "planning": ("problem", "workflow", "strict", "model", *LIMITS),
    "execution": ("plan_of", "tools", "model", *LIMITS),
}
"""The fields that keep their values when a form is shown again with an error, by the kind of the form."""


def _fields_of_form(kind: str) -> tuple[str, ...]:
    """Return the same for the form of any kind, installed or not; empty for a kind without a form."""
    for interface in installed_interfaces():
        if interface.kind == kind:
            return (*interface.order.model_fields, "model", *LIMITS)
    return FIELDS.get(kind, ())


async def show_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page that starts a planning run. The query may name a run whose values fill the form."""
    return await _empty_form(site, request, who, "planning")


async def show_form_of_kind(interface: KindInterface, site: Site, request: Request, who: Principal) -> Response:
    """Return the page that starts a run of an installed kind.

    The query may name a run that fills the form, and offered names for its fields.
    """
    typed = {name: text[:64] for name in interface.names if (text := request.query_params.get(name))}
    return await _empty_form(site, request, who, interface.kind, **typed)


async def show_execution_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page that executes a plan. The query may name the plan's run, or an execution that fills the form."""
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
    """Return the order of a kind's run in a form. Raises `UsageProblem`, whose place is the field."""
    values: dict[str, Any] = {}
    for name in interface.order.model_fields:
        text = form.text(name)
        match _input_form(interface, name):
            case "values":
                values[name] = values_in_form(text)
            case "switch":
                values[name] = text == "yes"
            case _ if text.strip():
                values[name] = text
            case _:
                pass  # An empty field is one that is left out.
    try:
        return interface.order.model_validate(values)
    except ValidationError as error:
        raise wrong_value(error, interface.order, PAGE) from None


PAGE = replace(HTTP, noun="field", whole="form")
"""The terms of forms."""
InputForm = Literal["choice", "switch", "values", "text", "line"]
"""How a field of an order is drawn. `values` has a line `NAME = VALUE` for each."""
LINE_MAX = 200
"""The largest number of characters of a text that is typed on one line."""


@dataclass(frozen=True, slots=True)
class OrderInput:
    """A field of a kind's order, as the form shows it."""

    name: str
    label: str
    form: InputForm
    required: bool
    help: str
    options: tuple[str, ...] = ()
    """The values to choose from; for another form none."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of values that are not shown as they are."""


def _input_form(interface: KindInterface, name: str) -> InputForm:
    """Return the form of a field of a kind's order, from the model of the order."""
    schema = interface.order.model_json_schema()["properties"][name]
    if name in interface.names:
        return "choice"
    match schema.get("type"):
        case "boolean":
            return "switch"
        case "object":
            return "values"
        case "string" if schema.get("maxLength", LINE_MAX + 1) > LINE_MAX:
            return "text"
        case _:
            return "line"


def _order_inputs(interface: KindInterface, offer: Offer) -> Iterator[OrderInput]:
    """Yield the fields of the form that orders a run of a kind."""
    for name, spec in interface.order.model_fields.items():
        form = _input_form(interface, name)
        names = interface.names.get(name)
        hint = spec.description or ""
        if form == "values":
            hint = "A line NAME = VALUE for each" + (f", such as {spec.examples[0]}." if spec.examples else ".")
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
    """Start the execution of a proved plan, if the server allows that."""
    del request
    site.check_execute()

    async def prepare() -> PreparedRun:
        plan = await plan_of_run(site.reader, form.text("plan_of").strip())
        return prepare_execution(site, ExecutionOrder(plan=plan, tools=form.text("tools"), **_model_and_limits(form)))

    return await _start_run(site, who, form, "execution", prepare)


async def _start_run(
    site: Site, who: Principal, form: FormFields, kind: str, prepare: Callable[[], Awaitable[PreparedRun]]
) -> Response:
    """Start a run. If the form cannot be used, show it again with the typed values.

    A form that is sent again leads to the run that it has started. One that was changed in between starts another run.
    """
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
    """Return the model and the limits in a form, as keywords of an order."""
    return {"model": form.text("model") or DEFAULT, "limits": limits_in_form(form)}


async def _empty_form(site: Site, request: Request, who: Principal, kind: str, **typed: str) -> Response:
    run = request.query_params.get("like", "")[:64]
    if not run:
        return _form(site, who, kind, typed)
    loaded = await site.reader.read(run)
    if form_of(loaded) != kind:
        raise UsageProblem(f"run {run} is no run of kind {kind}", hint=f"its kind is {loaded.kind.name}")
    filled = _fields_of(site, loaded)
    if typed:  # The run has made what is named; its limits were those of its own task.
        filled = {name: text for name, text in filled.items() if name not in LIMITS} | typed
    return _form(site, who, kind, filled, like=run, kept=request.query_params.get("done") == "kept")


def form_of(loaded: Loaded) -> str:
    """Return the kind of form that starts runs like this one."""
    return next(
        (interface.kind for interface in installed_interfaces() if interface.like(loaded) is not None), loaded.kind.name
    )


def _fields_of(site: Site, loaded: Loaded) -> dict[str, str]:
    """Return the form values that start a run like this one, without names that clients may not order."""
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
    """Return limits of a run in the form in which people type them, without the deadline: it is past or near."""
    texts = {}
    for name, spec in LIMITS.items():
        present = getattr(limits, spec.key, None)
        if present is None or spec.key == "deadline" or spec.unit in ("switch", "settings"):
            continue
        texts[name] = f"{present / MICRO if spec.unit == 'dollars' else present:g}{'s' if spec.unit == 'time' else ''}"
    return texts


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
        "kept": next((faces.keeps.word for faces in chosen if kept and faces.keeps is not None), ""),
        "offer": offer_of(site),
        "models": model_labels(site),
        "workflows": explain_workflows(site) if planning else (),
        "cost": start_cost(site, kind, FormFields(ImmutableMultiDict(filled))),
        "executes": site.allow_execute,
        "here": "new",
    }
    return page(site, who, "new.html", values, 422 if trouble else 200)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeShown:
    """What a run has made for people to keep, as the page shows it."""

    text: str
    """The text, in the field that a person edits."""
    trouble: str = ""
    """Why it was not kept; empty for no reason."""
    replaces: bool = False
    """Whether a kept one of the same name may be replaced."""


async def show_made(interface: KindInterface, site: Site, request: Request, who: Principal) -> Response:
    """Return the page of what a run has made and a person has approved, as text to edit."""
    kept = _kept_text(interface)
    text = kept.text((await read_shown(site.reader, request.path_params["run"])).result)
    if text is None:
        raise HTTPException(404, f"this run has proposed no {kept.word} that was approved")
    return await _made_page(kept, site, request, who, MadeShown(text=text))


async def keep_made(
    interface: KindInterface, site: Site, request: Request, who: Principal, form: FormFields
) -> Response:
    """Store the edited text; with the field `do=check` only show it. An invalid text is shown with its error."""
    kept = _kept_text(interface)
    text = form.text(kept.word)
    replaces = form.text("replace") == "yes"
    run = (await site.engine.journal.row(request.path_params["run"])).run
    try:
        if form.text("do") == "check":
            kept.outline(text)
            return await _made_page(kept, site, request, who, MadeShown(text=text, replaces=replaces))
        name = await trio.to_thread.run_sync(kept.keep, site.offer, text, replaces)
    except UsageProblem as error:
        rejected = MadeShown(text=text, trouble=line_of_error(error), replaces=replaces)
        return await _made_page(kept, site, request, who, rejected)
    return RedirectResponse(f"/new/{interface.kind}?{urlencode({kept.word: name, 'like': run, 'done': 'kept'})}", 303)


def _kept_text(interface: KindInterface) -> KeptText:
    assert interface.kept_text is not None, "only such kinds have these pages"
    return interface.kept_text


async def _made_page(kept: KeptText, site: Site, request: Request, who: Principal, shown: MadeShown) -> Response:
    row = await site.engine.journal.row(request.path_params["run"])
    values: dict[str, Any] = {
        "run": row.run,
        "title": row.title,
        "word": kept.word,
        "about": kept.about,
        "text": shown.text,
        "lines": [] if shown.trouble else list(kept.outline(shown.text)),
        "kept": not shown.trouble and kept.is_kept(site.offer, shown.text),
        "replaces": shown.replaces,
        "trouble": shown.trouble,
        "here": "runs",
    }
    return page(site, who, "kept.html", values, 422 if shown.trouble else 200)
