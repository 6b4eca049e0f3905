"""Starting a run from the page: the forms of each kind, and what happens to a filled one."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from actors.run.kind import PreparedRun
from actors.run.limits import LIMITS
from replan.runs.executing import plan_of_run
from replan.runs.orders import DEFAULT, AcquisitionOrder, ExecutionOrder, Order, offered
from replan.service.access import Principal
from replan.service.messages import hashed_key
from replan.service.starting import acquired, executed, planned, start_once
from replan.views.errors import line_of_error
from replan.web.requests import FormFields, page
from replan.web.run_actions import limits_in_form
from replan.web.site import Site
from runtime.core.errors import UsageProblem

KEY = "idempotency_key"
FIELDS: Mapping[str, tuple[str, ...]] = {
    "planning": ("problem", "workflow", "strict", "model", *LIMITS),
    "acquisition": ("profile", "goal", "documents", "given", "model", *LIMITS),
    "execution": ("plan_of", "tools", "model", *LIMITS),
}
"""The fields of the form of each kind that are shown again where it cannot be used."""


async def show_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page that starts a planning run."""
    del request
    return _form(site, who, "planning")


async def show_acquisition_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page that starts an acquisition."""
    del request
    return _form(site, who, "acquisition")


async def show_execution_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page that executes a plan; the query may name the run that has made it."""
    site.check_execute()
    return _form(site, who, "execution", {"plan_of": request.query_params.get("plan_of", "")[:64]})


async def start_run(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Start a planning run."""
    del request

    async def prepare() -> PreparedRun:
        files, problem, workflow = await form.uploads("files"), form.text("problem"), form.text("workflow") or "search"
        strict = form.text("strict") == "yes"
        return planned(site, Order(problem=problem, workflow=workflow, uploads=files, strict=strict, **_limited(form)))

    return await _started(site, who, form, "planning", prepare)


async def start_acquisition(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Start an acquisition."""
    del request

    async def prepare() -> PreparedRun:
        order = AcquisitionOrder(
            profile=form.text("profile"),
            goal=form.text("goal"),
            documents=form.text("documents") or None,
            given=_given(form.text("given")),
            **_limited(form),
        )
        return acquired(site, order)

    return await _started(site, who, form, "acquisition", prepare)


async def start_execution(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Start the execution of a proved plan, where the server allows that."""
    del request
    site.check_execute()

    async def prepare() -> PreparedRun:
        plan = await plan_of_run(site.reader, form.text("plan_of").strip())
        return executed(site, ExecutionOrder(plan=plan, tools=form.text("tools"), **_limited(form)))

    return await _started(site, who, form, "execution", prepare)


async def _started(
    site: Site, who: Principal, form: FormFields, kind: str, prepare: Callable[[], Awaitable[PreparedRun]]
) -> Response:
    """Start a run; where the form cannot be used, show it again with what was typed.

    A form that is sent again leads to the run that it has started. One that was changed in between starts another run.
    """
    try:
        mark = await form.mark()
        key = hashed_key(form.text(KEY), who, f"web {kind} {mark}", place=KEY)
        prepared = await prepare()
        run, _ = await start_once(site, who, key, mark, lambda: prepared)
    except UsageProblem as error:
        return _form(site, who, kind, {name: form.text(name) for name in FIELDS[kind]}, line_of_error(error))
    return Response(status_code=303, headers={"location": f"/runs/{run}?done=started"})


def _limited(form: FormFields) -> dict[str, Any]:
    """Return the model and the limits of an order."""
    return {"model": form.text("model") or DEFAULT, "limits": limits_in_form(form)}


def _given(text: str) -> dict[str, str]:
    """Return the values of a form, a line `PATH = VALUE` each. Raises `UsageProblem`."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        path, sign, value = map(str.strip, line.partition("="))
        if not sign or not path or path in found:
            raise UsageProblem(
                f"{line[:60]!r} gives no value", place="given", hint="a line PATH = VALUE for each field"
            )
        found[path] = value
    return found


def _form(site: Site, who: Principal, kind: str, typed: Mapping[str, str] | None = None, trouble: str = "") -> Response:
    filled = typed or {}
    values = {
        "kind": kind,
        "key": secrets.token_urlsafe(),
        "typed": {name: filled.get(name, "") for name in FIELDS[kind]},
        "limits": LIMITS,
        "limited": any(filled.get(name) for name in LIMITS),
        "trouble": trouble,
        "offer": offered(site.offer, allow_execute=site.allow_execute),
        "executes": site.allow_execute,
        "here": "new",
    }
    return page(site, who, "new.html", values, 422 if trouble else 200)
