"""What a person does to a run on its page: tell it something, change its limits, go on with it, cancel it."""

from starlette.requests import Request
from starlette.responses import Response

from replan.runs import cancelling
from replan.runs.changes import Changes
from replan.service import messages
from replan.service.access import Principal
from replan.web.requests import Form, back_to
from replan.web.site import Site
from runtime.core.errors import UsageProblem

MINUTE = 60.0


async def tell(site: Site, request: Request, who: Principal, form: Form) -> Response:
    """Post a note or a requirement; one that reopens a finished run also goes on with it."""
    run = request.path_params["run"]
    await messages.tell(site, who, run, form.text("text"), form.text("as") or "note")
    return back_to("/" if form.text("back") == "/" else f"/runs/{run}", "told")


async def limits(site: Site, request: Request, who: Principal, form: Form) -> Response:
    """Post changed limits; a run that had ended because of them goes on."""
    run = request.path_params["run"]
    changes = changes_of(form)
    await messages.change_limits(site, who, run, changes)
    return back_to(f"/runs/{run}", "limits")


def changes_of(form: Form) -> Changes:
    """Return the changes in a form of limits; empty fields change nothing. Raises `UsageProblem`."""
    minutes, hours = form.number("active_minutes"), form.number("deadline_hours")
    return Changes(
        max_calls=form.whole("max_calls"),
        max_tokens=form.whole("max_tokens"),
        max_cost_usd=form.number("max_cost_usd"),
        active_seconds=None if minutes is None else minutes * MINUTE,
        deadline_seconds=None if hours is None else hours * 60 * MINUTE,
        stop_below=form.number("stop_below"),
        strict=form.text("strict") == "yes",
    )


async def go_on(site: Site, request: Request, who: Principal, form: Form) -> Response:
    """Go on with a run that is parked, or that has ended and may go on."""
    del form
    run = request.path_params["run"]
    await messages.resume(site, who, run)
    return back_to(f"/runs/{run}", "resumed")


async def cancel(site: Site, request: Request, who: Principal, form: Form) -> Response:
    """Cancel a run, once the box for that is ticked."""
    del who
    run = request.path_params["run"]
    if form.text("sure") != "yes":
        raise UsageProblem("nothing is cancelled", hint="tick the box beside the button: a cancelled run is over")
    finished = await cancelling.cancel_run(site.engine, run)
    return back_to(f"/runs/{run}", "cancelled" if finished else "cancelling")
