"""The pages that start a run: the form of each kind, and the form that edits a proposed profile."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

import trio
from starlette.datastructures import ImmutableMultiDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from actors.acquisition.profile import Profile, outline_lines
from actors.run.kind import PreparedRun
from actors.run.limits import LIMITS
from replan.runs.executing import plan_of_run
from replan.runs.families import read_shown
from replan.runs.loaded import Loaded
from replan.runs.orders import DEFAULT, AcquisitionOrder, ExecutionOrder, Order, offer_fields
from replan.runs.profile_proposals import (
    keep_profile,
    kept_profiles,
    parse_profile,
    profile_text,
    proposed_profile,
    proposes_profile,
)
from replan.service.access import Principal
from replan.service.messages import hash_key
from replan.service.starting import (
    prepare_acquisition,
    prepare_execution,
    prepare_planning,
    prepare_proposal,
    start_once,
)
from replan.views.errors import line_of_error
from replan.web.requests import IDEMPOTENCY_KEY, FormFields, page
from replan.web.run_actions import limits_in_form, values_in_form
from replan.web.site import Site
from replan.web.start_costs import PROPOSES, explain_workflows, model_labels, start_cost
from runtime.core.errors import UsageProblem
from runtime.core.ledger import MICRO, Limits

FIELDS: Mapping[str, tuple[str, ...]] = {
    "planning": ("problem", "workflow", "strict", "model", *LIMITS),
    "acquisition": ("profile", "goal", "documents", "given", "model", *LIMITS),
    "execution": ("plan_of", "tools", "model", *LIMITS),
}
"""The fields that keep their values when a form is shown again with an error, by the kind of the form."""


async def show_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page that starts a planning run. The query may name a run whose values fill the form."""
    return await _empty_form(site, request, who, "planning")


async def show_acquisition_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page that starts an acquisition. The query may name a run that fills the form, and a profile."""
    return await _empty_form(site, request, who, "acquisition", profile=request.query_params.get("profile", "")[:64])


async def show_execution_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page that executes a plan. The query may name the plan's run, or an execution that fills the form."""
    site.check_execute()
    return await _empty_form(site, request, who, "execution", plan_of=request.query_params.get("plan_of", "")[:64])


async def show_form_with_cost(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Return the filled form with the cost of the run, for browsers without scripts."""
    del request
    kind = form.text("kind")
    kind = kind if kind in FIELDS else "planning"
    return _form(site, who, kind, {name: form.text(name) for name in FIELDS[kind]})


async def start_run(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Start a planning run."""
    del request

    async def prepare() -> PreparedRun:
        files, problem, workflow = await form.uploads("files"), form.text("problem"), form.text("workflow") or "search"
        strict = form.text("strict") == "yes"
        return prepare_planning(
            site, Order(problem=problem, workflow=workflow, uploads=files, strict=strict, **_model_and_limits(form))
        )

    return await _start_run(site, who, form, "planning", prepare)


async def start_acquisition(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Start an acquisition, or a run that proposes a profile for one."""
    del request

    async def prepare() -> PreparedRun:
        proposes = form.text("profile") == PROPOSES
        order = AcquisitionOrder(
            profile="" if proposes else form.text("profile"),
            goal=form.text("goal"),
            documents=form.text("documents") or None,
            given=values_in_form(form.text("given")),
            **_model_and_limits(form),
        )
        if proposes:
            return await trio.to_thread.run_sync(partial(prepare_proposal, site, order), abandon_on_cancel=True)
        return prepare_acquisition(site, order)

    return await _start_run(site, who, form, "acquisition", prepare)


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
        return _form(site, who, kind, {name: form.text(name) for name in FIELDS[kind]}, trouble=line_of_error(error))
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
    filled = fields_of(site, loaded)
    if typed.get("profile") in site.offer.profiles:  # The run has proposed it; its limits were those of the proposal.
        filled = {name: text for name, text in filled.items() if name not in LIMITS} | typed
    return _form(site, who, kind, filled, like=run, notice=request.query_params.get("done", ""))


def form_of(loaded: Loaded) -> str:
    """Return the kind of form that starts runs like this one."""
    return "acquisition" if proposes_profile(loaded) else loaded.kind.name


def fields_of(site: Site, loaded: Loaded) -> dict[str, str]:
    """Return the form values that start a run like this one, without names that clients may not order."""
    asked = loaded.kind.views.asked(loaded.state)
    facts, common = dict(asked.facts), loaded.kind.run_state(loaded.state)
    found = {"problem": asked.text, "goal": asked.text, "plan_of": loaded.kind.made_from(loaded.state)}
    found |= {
        name: facts[name] for name in ("workflow", "profile") if facts.get(name) in getattr(site.offer, f"{name}s")
    }
    model = loaded.kind.model(loaded.state)
    found["model"] = next((name for name, text in site.offer.models.items() if model and model == text), DEFAULT)
    if common is not None:
        found |= limits_as_text(common.ledger.limits)
    found |= {"profile": PROPOSES} if proposes_profile(loaded) else {}
    return {name: found.get(name, "") for name in FIELDS[form_of(loaded)]}


def limits_as_text(limits: Limits) -> dict[str, str]:
    """Return limits of a run in the form in which people type them, without the deadline: it is past or near."""
    found = {}
    for name, spec in LIMITS.items():
        holds = getattr(limits, spec.key, None)
        if holds is None or spec.key == "deadline" or spec.unit in ("switch", "settings"):
            continue
        found[name] = f"{holds / MICRO if spec.unit == 'dollars' else holds:g}{'s' if spec.unit == 'time' else ''}"
    return found


def _form(
    site: Site,
    who: Principal,
    kind: str,
    typed: Mapping[str, str] | None = None,
    *,
    trouble: str = "",
    like: str = "",
    notice: str = "",
) -> Response:
    filled = typed or {}
    planning = kind == "planning"
    values = {
        "kind": kind,
        "key": secrets.token_urlsafe(),
        "typed": {name: filled.get(name, "") for name in FIELDS[kind]},
        "limits": LIMITS,
        "limited": any(filled.get(name) for name in LIMITS),
        "trouble": trouble,
        "like": like,
        "proposes": PROPOSES,
        "notice": notice,
        "offer": offer_fields(site.offer, allow_execute=site.allow_execute),
        "models": model_labels(site),
        "workflows": explain_workflows(site) if planning else (),
        "cost": start_cost(site, kind, FormFields(ImmutableMultiDict(filled))),
        "executes": site.allow_execute,
        "here": "new",
    }
    return page(site, who, "new.html", values, 422 if trouble else 200)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileShown:
    """A profile, and its text on the page."""

    text: str
    """The profile as YAML, in the field that a person edits."""
    profile: Profile | None
    """The parsed profile; None for an invalid text."""
    trouble: str = ""
    """Why the profile was not kept; empty for no reason."""
    replaces: bool = False
    """Whether a kept profile of the same name may be replaced."""


async def show_profile(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of the profile that a run has proposed and a person has approved, as text to edit."""
    shown = await read_shown(site.reader, request.path_params["run"])
    profile = proposed_profile(shown.result)
    if profile is None:
        raise HTTPException(404, "this run has proposed no profile that was approved")
    return await _profile_page(site, request, who, ProfileShown(text=profile_text(shown.result), profile=profile))


async def keep_edited_profile(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Store the edited profile; with the field `do=check` only show it. An invalid profile is shown with its error."""
    text, replaces = form.text("profile"), form.text("replace") == "yes"
    run = (await site.engine.journal.row(request.path_params["run"])).run
    try:
        if form.text("do") == "check":
            shown = ProfileShown(text=text, profile=parse_profile(text), replaces=replaces)
            return await _profile_page(site, request, who, shown)
        keep = partial(keep_profile, site.offer.folder, text, frozenset(site.offer.fixed_profiles), replace=replaces)
        name = await trio.to_thread.run_sync(keep)
    except UsageProblem as error:
        shown = ProfileShown(text=text, profile=None, trouble=line_of_error(error), replaces=replaces)
        return await _profile_page(site, request, who, shown)
    query = urlencode({"profile": name, "like": run, "done": "kept"})
    return RedirectResponse(f"/new/acquisition?{query}", 303)


async def _profile_page(site: Site, request: Request, who: Principal, shown: ProfileShown) -> Response:
    row = await site.engine.journal.row(request.path_params["run"])
    values: dict[str, Any] = {
        "run": row.run,
        "title": row.title,
        "text": shown.text,
        "lines": [] if shown.profile is None else list(outline_lines(shown.profile)),
        "kept": shown.profile is not None and shown.profile.name in kept_profiles(site.offer.folder),
        "replaces": shown.replaces,
        "trouble": shown.trouble,
        "here": "runs",
    }
    return page(site, who, "profile.html", values, 422 if shown.trouble else 200)
