"""Makes the web app: the routes of all addresses, behind a guard that checks every request."""

from collections.abc import Iterator, Sequence
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from replan.runs.kind_interface import KindInterface, installed_interfaces
from replan_server.web import (
    answer_pages,
    record_pages,
    run_actions,
    run_page,
    runs_page,
    start_costs,
    start_page,
    streams,
)
from replan_server.web.api_routes import api_routes
from replan_server.web.guarding import RequestGuard
from replan_server.web.health import Health, health_routes
from replan_server.web.rendering import static_files
from replan_server.web.requests import get_endpoint, post_endpoint, problem
from replan_server.web.server import HEALTH, loopback_names
from replan_server.web.site import Site
from replan_server.webhooks.messages import ANSWERING, OPENING

LARGE = frozenset({"/runs", "/new/cost", "/api/runs", "/api/ag-ui"})
PUBLIC = ("/api/", *HEALTH, OPENING, ANSWERING, "/static/")
"""The beginnings of the paths that are also served if the header `Host` names the loopback address. Requests for these
paths read and set no cookie."""
CACHED = "public, max-age=31536000, immutable"
"""The value of the header `Cache-Control` for files that pages load. If the content of a file changes, its address
changes too."""


def make_app(site: Site, health: Health) -> ASGIApp:
    """Return the web app that serves a site."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        response = problem(site, site.visitor(request), error.status_code, error.detail)
        response.headers.update(error.headers or {})
        return response

    routes = [*health_routes(health), *pages(site), *api_routes(site)]
    app = Starlette(routes=routes, exception_handlers={HTTPException: refused})
    origin = None if site.proxy is None else site.proxy.origin
    loopback = loopback_names(site.port) if site.proxy is None else frozenset[str]()
    return RequestGuard(app, site.hosts_named, LARGE, origin, (OPENING, ANSWERING), loopback, PUBLIC)


def pages(site: Site) -> Sequence[BaseRoute]:
    """Return the routes of the pages."""

    async def show_sign_in(request: Request) -> Response:
        return await answer_pages.show_sign_in(site, request)

    async def do_sign_in(request: Request) -> Response:
        return await answer_pages.sign_in(site, request)

    signing = [
        Route("/sign-in", show_sign_in),
        Route("/sign-in", do_sign_in, methods=["POST"]),
        Route("/sign-out", post_endpoint(site, answer_pages.sign_out, "read"), methods=["POST"]),
    ]
    question = "/questions/{run}/{name}"
    return [
        Route("/", get_endpoint(site, runs_page.inbox)),
        Route(OPENING, partial(answer_pages.show_opening, site)),
        Route(f"{ANSWERING}{{token}}", partial(answer_pages.show_linked_question, site)),
        Route(f"{ANSWERING}{{token}}", partial(answer_pages.answer_through_link, site), methods=["POST"]),
        *(signing if site.proxy is None else []),
        Route("/runs", get_endpoint(site, runs_page.runs)),
        Route("/runs", post_endpoint(site, start_page.start_run), methods=["POST"]),
        Route("/new", get_endpoint(site, start_page.show_form)),
        Route("/new/cost", get_endpoint(site, start_costs.show_cost)),
        Route("/new/cost", post_endpoint(site, start_page.show_form_with_cost, counted=False), methods=["POST"]),
        Route("/new/execution", get_endpoint(site, start_page.show_execution_form)),
        Route("/executions", post_endpoint(site, start_page.start_execution), methods=["POST"]),
        Route("/runs/{run}", get_endpoint(site, run_page.show_run)),
        Route("/runs/{run}/records", get_endpoint(site, record_pages.show_records)),
        Route("/runs/{run}/attempts/{node:path}", get_endpoint(site, record_pages.show_attempt)),
        Route("/runs/{run}/passages/{path}", get_endpoint(site, record_pages.show_passage)),
        *(route for interface in installed_interfaces() for route in _pages_of_kind(site, interface)),
        Route("/runs/{run}/export/{form}", get_endpoint(site, record_pages.export)),
        Route("/runs/{run}/tell", post_endpoint(site, run_actions.tell, "answer"), methods=["POST"]),
        Route("/runs/{run}/limits", post_endpoint(site, run_actions.limits), methods=["POST"]),
        Route("/runs/{run}/resume", post_endpoint(site, run_actions.go_on), methods=["POST"]),
        Route("/runs/{run}/fork", post_endpoint(site, run_actions.fork), methods=["POST"]),
        Route("/runs/{run}/plan", get_endpoint(site, run_actions.show_plan_form)),
        Route("/runs/{run}/plan", post_endpoint(site, run_actions.edit_plan), methods=["POST"]),
        Route("/runs/{run}/undo", post_endpoint(site, run_actions.undo), methods=["POST"]),
        Route("/runs/{run}/cancel", post_endpoint(site, run_actions.cancel), methods=["POST"]),
        Route(question, get_endpoint(site, runs_page.show_question)),
        Route(question, post_endpoint(site, runs_page.answer, "answer"), methods=["POST"]),
        Route("/live", get_endpoint(site, streams.live)),
        Route("/static/{name}", _static),
    ]


def _pages_of_kind(site: Site, interface: KindInterface) -> Iterator[BaseRoute]:
    """Yield the routes of an installed kind: for its form, and for the text that its runs make for people to keep."""
    form = f"/new/{interface.kind}"
    yield Route(form, get_endpoint(site, partial(start_page.show_form_of_kind, interface)))
    yield Route(form, post_endpoint(site, partial(start_page.start_of_kind, interface)), methods=["POST"])
    if interface.kept_text is not None:
        path = f"/runs/{{run}}/{interface.kept_text.word}"
        yield Route(path, get_endpoint(site, partial(run_actions.show_made, interface)))
        yield Route(path, post_endpoint(site, partial(run_actions.keep_made, interface)), methods=["POST"])


async def _static(request: Request) -> Response:
    found = static_files().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "no such file")
    data, kind, _ = found
    return Response(data, media_type=kind, headers={"cache-control": CACHED})
