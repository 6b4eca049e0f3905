"""The actions with which people change a run: tell, change limits, resume, fork, edit, undo, cancel and keep a text."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlencode

import trio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from actors.plans.plan_text import plan_as_yaml, read_plan_yaml
from actors.run.limits import LIMITS, RunLimits, check_limits
from actors.values.model_settings import words_of
from replan.runs import changes
from replan.runs.changes import Changes
from replan.runs.editing import EditedMeanwhile, EditRejected, OpenPlan, open_plan, post_edit
from replan.runs.families import read_shown
from replan.runs.kind_interface import KeptText, KindInterface
from replan.setup.settings import DEFAULT
from replan.views.errors import line_of_error
from replan_server.service import messages
from replan_server.service.access import Principal
from replan_server.service.orders import ForkOrder
from replan_server.service.starting import start_fork
from replan_server.web.requests import IDEMPOTENCY_KEY, FormFields, back_to, page, status_of_error
from replan_server.web.site import Site
from runtime.core.errors import JournalError, UsageProblem


async def tell(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Post a note or a requirement. If the message reopens a finished run, resume the run."""
    run = request.path_params["run"]
    await messages.tell(site, who, run, form.text("text"), form.text("as") or "note")
    return back_to("/" if form.text("back") == "/" else f"/runs/{run}", "told")


async def limits(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Post changed limits. A run that had ended because of its limits is resumed."""
    run = request.path_params["run"]
    changes = _changes_of(form)
    await messages.change_limits(site, who, run, changes)
    return back_to(f"/runs/{run}", "limits")


def _changes_of(form: FormFields) -> Changes:
    """Return the changes of limits in a form. Empty fields change nothing. Raises `UsageProblem` for a wrong value."""
    return Changes(limits_in_form(form), strict=form.text("strict") == "yes")


def limits_in_form(form: FormFields) -> RunLimits:
    """Return the limits in a form. Raises `UsageProblem` for a wrong value."""
    found: dict[str, Any] = {}
    for name, spec in LIMITS.items():
        match spec.unit:
            case "count":
                found[name] = form.whole(name)
            case "choice":
                found[name] = form.text(name) or None
            case "switch":
                found[name] = form.text(name) == "yes"
            case "time":
                found[name] = form.text(name).strip() or None
            case "settings":
                found[name] = words_of(form.text(name), name)
            case _:
                found[name] = form.number(name)
    return check_limits(cast("RunLimits", found))


def values_in_form(text: str) -> dict[str, str]:
    """Return the values by path from a text of lines `PATH = VALUE`. Raises `UsageProblem` for any other line."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        path, sign, value = map(str.strip, line.partition("="))
        if not sign or not path or path in found:
            hint = "write one line `PATH = VALUE` for each field"
            raise UsageProblem(f"{line[:60]!r} has no value, or its path is there twice", place="given", hint=hint)
        found[path] = value
    return found


async def go_on(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Resume a run that is parked, or a finished run that can be resumed."""
    del form
    run = request.path_params["run"]
    await messages.resume(site, who, run)
    return back_to(f"/runs/{run}", "resumed")


async def fork(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Fork a run at an attempt, and show the fork."""
    run = request.path_params["run"]
    order = ForkOrder(
        at=form.text("at").strip(),
        workflow=form.text("workflow") or None,
        policy=form.text("policy") or None,
        given=values_in_form(form.text("given")),
        model=form.text("model") or DEFAULT,
        limits=limits_in_form(form),
    )
    wanted = site.offer.fork_of(order, site.engine.environment)
    mark = await form.mark()
    key = messages.hash_key(form.text(IDEMPOTENCY_KEY), who, f"web fork {run} {mark}", place=IDEMPOTENCY_KEY)
    started = await start_fork(site, who, run, wanted, key=key, mark=mark)
    return back_to(f"/runs/{started}", "started")


async def undo(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Undo everything that an execution did, if the checkbox for confirmation is ticked."""
    run = request.path_params["run"]
    site.check_execute()
    if form.text("sure") != "yes":
        raise UsageProblem("nothing is undone", hint="to call the undo tools, tick the box beside the button")
    await messages.undo(site, who, run)
    return back_to(f"/runs/{run}", "undoing")


async def show_plan_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page on which people edit the plan of a run."""
    opened = await open_plan(site.engine, request.path_params["run"])
    if opened.executes:
        site.check_execute()
    return await _plan_page(site, who, opened.run, opened, plan_as_yaml(opened.value))


async def edit_plan(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Check an edited plan, and post it to the run. A rejected plan is shown again with the findings."""
    run, text = request.path_params["run"], form.text("plan")
    dropped = [name for name in form.text("dropped").split("\n") if name] if form.text("drop") == "yes" else []
    person = who.client.removeprefix("user:") if who.client.startswith("user:") else ""
    opened: OpenPlan | None = None
    try:
        opened = await open_plan(site.engine, run)
        if opened.executes:
            site.check_execute()
        opened.check_revision(form.whole("revision"))
        value = read_plan_yaml(text, "line")
        edits = form.whole("edits")
        known = opened if edits is None else replace(opened, edits=edits)
        approves = [step for step in form.text("approve").split("\n") if step]
        await post_edit(site.engine, known, value, via="web", person=person, approves=approves, dropped=dropped)
    except EditRejected as problem:
        demands = [finding.where for finding in problem.demands]
        findings = [f"{finding.code}: {finding.message}" for finding in problem.findings]
        return await _plan_page(site, who, run, opened, text, trouble=findings, demands=demands)
    except EditedMeanwhile as problem:
        return await _plan_page(site, who, run, opened, text, trouble=[problem.cause], changes=problem.changes)
    except (UsageProblem, JournalError) as problem:
        if opened is None and isinstance(problem, JournalError):
            raise
        status = status_of_error(problem)
        return await _plan_page(site, who, run, opened, text, trouble=[line_of_error(problem)], status=status)
    return back_to(f"/runs/{opened.run}", "edited" if opened.executes else "corrected")


async def _plan_page(
    site: Site,
    who: Principal,
    run: str,
    opened: OpenPlan | None,
    text: str,
    *,
    trouble: Sequence[str] = (),
    demands: Sequence[str] = (),
    changes: Sequence[str] = (),
    status: int = 422,
) -> Response:
    """Return the page on which people edit a plan. `trouble` says why an edit was rejected.

    `changes` says what somebody else has changed meanwhile. `opened` is the present plan; None if it cannot be edited.
    """
    row = await site.engine.journal.row(run)
    values: dict[str, Any] = {
        "run": run,
        "title": row.title,
        "revision": 0 if opened is None else opened.revision,
        "edits": 0 if opened is None else opened.edits,
        "text": text,
        "trouble": trouble,
        "demands": "\n".join(demands),
        "changes": changes,
        "approvals": () if opened is None else opened.approvals,
        "about": () if opened is None else tuple(opened.about),
        "here": "runs",
    }
    return page(site, who, "edit.html", values, status if trouble else 200)


async def cancel(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Cancel a run, if the checkbox for confirmation is ticked."""
    del who
    run = request.path_params["run"]
    if form.text("sure") != "yes":
        raise UsageProblem("nothing is cancelled", hint="to end the run for good, tick the box beside the button")
    finished = await changes.cancel_run(site.engine, run)
    return back_to(f"/runs/{run}", "cancelled" if finished else "cancelling")


async def show_made(interface: KindInterface, site: Site, request: Request, who: Principal) -> Response:
    """Return the page on which people edit a text that a run has made and a person has approved."""
    kept = _kept_text(interface)
    text = kept.text((await read_shown(site.reader, request.path_params["run"])).result)
    if text is None:
        raise HTTPException(404, f"this run has no approved {kept.word}")
    return await _made_page(kept, site, request, who, text)


async def keep_made(
    interface: KindInterface, site: Site, request: Request, who: Principal, form: FormFields
) -> Response:
    """Store an edited text in the home. If the form has `do=check`, only check the text.

    An invalid text is shown again with its error.
    """
    kept = _kept_text(interface)
    text = form.text(kept.word)
    replaces = form.text("replace") == "yes"
    run = (await site.engine.journal.row(request.path_params["run"])).run
    try:
        if form.text("do") == "check":
            kept.outline(text)
            return await _made_page(kept, site, request, who, text, replaces=replaces)
        name = await trio.to_thread.run_sync(kept.keep, site.offer, text, replaces)
    except UsageProblem as error:
        return await _made_page(kept, site, request, who, text, trouble=line_of_error(error), replaces=replaces)
    return RedirectResponse(f"/new/{interface.kind}?{urlencode({kept.word: name, 'like': run, 'done': 'kept'})}", 303)


def _kept_text(interface: KindInterface) -> KeptText:
    assert interface.kept_text is not None, "only kinds with a text to keep have these pages"
    return interface.kept_text


async def _made_page(
    kept: KeptText,
    site: Site,
    request: Request,
    who: Principal,
    text: str,
    *,
    trouble: str = "",
    replaces: bool = False,
) -> Response:
    """Return the page on which people edit a text.

    `trouble` says why the text was not stored; it is empty if nothing is wrong.
    """
    row = await site.engine.journal.row(request.path_params["run"])
    values: dict[str, Any] = {
        "run": row.run,
        "title": row.title,
        "word": kept.word,
        "about": kept.about,
        "text": text,
        "lines": [] if trouble else list(kept.outline(text)),
        "kept": not trouble and kept.is_kept(site.offer, text),
        "replaces": replaces,
        "trouble": trouble,
        "here": "runs",
    }
    return page(site, who, "made.html", values, 422 if trouble else 200)
