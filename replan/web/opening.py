"""The page that links in messages lead to: the same for everybody, without data. Its button opens the inbox.

A link on another site, such as a chat's, brings no session with it, since the session's cookie is
`SameSite=Strict`. The button is on this site, so it does.
"""

from functools import cache

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from replan.web.rendering import render


async def show_opening(request: Request) -> Response:
    """Return the page. It needs no session, and reads none."""
    del request
    return HTMLResponse(_page())


@cache
def _page() -> bytes:
    values = {"csrf": "", "signed_in": False, "live": None, "here": "", "notice": "", "user": ""}
    return bytes(render("opening.html", values).body)
