"""Starting a run from the page: the form, and what happens to a filled one."""

from starlette.requests import Request
from starlette.responses import Response

from actors.planning.prepare import PROBLEM_BYTES_MAX
from replan.runs.orders import DEFAULT, Order
from replan.service.access import Principal
from replan.service.starting import start
from replan.views.errors import line_of_error
from replan.web.requests import Form, page
from replan.web.run_actions import changes_of
from replan.web.site import Site
from runtime.core.errors import UsageProblem

FIELDS = ("problem", "workflow", "model", "max_calls", "max_tokens", "max_cost_usd", "active_minutes", "deadline_hours")


async def show_form(site: Site, request: Request, who: Principal) -> Response:
    """Return the page that starts a run."""
    del request
    return _form(site, who, {}, "", 200)


async def start_run(site: Site, request: Request, who: Principal, form: Form) -> Response:
    """Start a run; where the form cannot be used, show it again with what was typed."""
    del request
    try:
        limits = changes_of(form)
        order = Order(
            problem=form.text("problem"),
            workflow=form.text("workflow") or "search",
            model=form.text("model") or DEFAULT,
            max_calls=limits.max_calls,
            max_tokens=limits.max_tokens,
            max_cost_usd=limits.max_cost_usd,
            active_seconds=limits.active_seconds,
            deadline_seconds=limits.deadline_seconds,
            uploads=await form.uploads("files"),
        )
        run = await start(site, who, order)
    except UsageProblem as error:
        return _form(site, who, {name: form.text(name) for name in FIELDS}, line_of_error(error), 422)
    return Response(status_code=303, headers={"location": f"/runs/{run}?done=started"})


def _form(site: Site, who: Principal, typed: dict[str, str], trouble: str, status: int) -> Response:
    values = {
        "typed": {name: typed.get(name, "") for name in FIELDS},
        "trouble": trouble,
        "workflows": list(site.offer.workflows),
        "models": list(site.offer.models),
        "ceilings": site.offer.config.clients,
        "problem_max": PROBLEM_BYTES_MAX,
        "here": "new",
    }
    return page(site, who, "new.html", values, status)
