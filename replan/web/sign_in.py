"""Signing in with the one-time token that `replan serve` prints, and signing out."""

import re
from functools import cache, partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from replan.service.access import Principal, use_token
from replan.service.limits import RequestRefused
from replan.setup.installation import program
from replan.web.rendering import render
from replan.web.requests import FormFields, problem, status_of_error
from replan.web.site import Site

PASTED_MAX = 500
"""Characters of what is pasted: a token, or the whole address."""

_TOKEN = re.compile(r"[\w-]{20,100}")


async def show_sign_in(site: Site, request: Request) -> Response:
    """Return the page with the form. A script fills it with the token of the address, which no server is sent."""
    if site.visitor(request) is not None:
        return RedirectResponse("/", 303)
    return _sign_in(site, "")


async def sign_in(site: Site, request: Request) -> Response:
    """Begin a session where the token is right. There is no session yet, so the form has no token of one."""
    try:
        async with request.form(max_files=0, max_fields=5, max_part_size=4096) as form:
            pasted = form.get("token", "")
        found = _TOKEN.search(str(pasted)[:PASTED_MAX].rpartition("#")[2])
        token = found[0] if found else ""
        right = await site.change(partial(use_token, server=site.name, token=token, now=site.now()))
        if not right:
            await site.count_failure()
    except HTTPException as error:
        return problem(site, None, error.status_code, error.detail)
    except RequestRefused as error:
        return problem(site, None, status_of_error(error), str(error))
    if not right:
        cause = "This token is wrong, was used before, or is older than a minute."
        return _sign_in(site, f"{cause} `{program()} serve --sign-in` prints a new address.", 403)
    return RedirectResponse("/", 303, {"set-cookie": site.cookie_header(site.sessions.begin(site.now()))})


async def sign_out(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """End the session, or with the field `everywhere` all sessions."""
    del request
    site.sessions.end("" if form.text("everywhere") else who.session)
    return RedirectResponse("/sign-in", 303, {"set-cookie": site.cookie_header("")})


def _sign_in(site: Site, trouble: str, status: int = 200) -> Response:
    common = {"csrf": "", "signed_in": False, "now": site.now(), "live": None, "here": "", "notice": "", "user": ""}
    return render("sign_in.html", {**common, "trouble": trouble, "program": program()}, status)


async def show_opening(site: Site, request: Request) -> Response:
    """Return the page. It needs no session, and reads none."""
    return HTMLResponse(_page(button=request.headers["host"].lower() in site.hosts_named))


@cache
def _page(*, button: bool) -> bytes:
    values = {"csrf": "", "signed_in": False, "live": None, "here": "", "notice": "", "user": ""}
    values |= {"button": button, "program": program()}
    return bytes(render("opening.html", values).body)
