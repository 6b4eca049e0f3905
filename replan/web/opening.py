"""The page that links in messages lead to: the same for everybody, without data. Its button opens the inbox.

A link on another site, such as a chat's, brings no session with it, since the session's cookie is
`SameSite=Strict`. The button is on this site, so it does. Under a name that everybody knows there is no button: the
name of the pages is not told.
"""

from functools import cache

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from replan.setup.command_name import program
from replan.web.rendering import render
from replan.web.site import Site


async def show_opening(site: Site, request: Request) -> Response:
    """Return the page. It needs no session, and reads none."""
    return HTMLResponse(_page(button=request.headers["host"].lower() in site.hosts_named))


@cache
def _page(*, button: bool) -> bytes:
    values = {"csrf": "", "signed_in": False, "live": None, "here": "", "notice": "", "user": ""}
    values |= {"button": button, "program": program()}
    return bytes(render("opening.html", values).body)
