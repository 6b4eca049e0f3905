"""Renders pages from templates. Every value is shown as text, escaped and without control characters."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from actors.values.format import ago, format_count, money, stamp
from replan.runs.reader import short_id
from runtime.logs.terminal_text import clean

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@cache
def static_files() -> Mapping[str, tuple[bytes, str, str]]:
    """Return the static files by name. Each file has its bytes, its media type and the beginning of its hash."""
    found = {}
    for entry in files("replan_server.web").joinpath("static").iterdir():
        suffix = f".{entry.name.rpartition('.')[2]}"
        if suffix in TYPES:
            data = entry.read_bytes()
            found[entry.name] = data, TYPES[suffix], hashlib.sha256(data).hexdigest()[:16]
    return found


def render(template: str, values: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """Return a page made from a template."""
    return HTMLResponse(_environment().get_template(template).render(values), status)


PARTS = "<!-- main -->"


class PageInParts(Response):
    """A page whose beginning is sent at once. The remaining part is sent when it is ready."""

    media_type = "text/html"

    def __init__(self, beginning: Response, whole: Callable[[], Awaitable[Response]]) -> None:
        """Store the response `beginning` and the function that makes the whole page.

        Both contain the mark `PARTS`. `beginning` is sent up to its mark, and the whole page from its mark on.
        """
        super().__init__()
        del self.headers["content-length"]
        self._beginning, self._whole = bytes(beginning.body), whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the beginning, make the whole page, and send the rest of it."""
        del scope, receive
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        first = self._beginning.rpartition(PARTS.encode())[0]
        await send({"type": "http.response.body", "body": first, "more_body": True})
        rest = bytes((await self._whole()).body).partition(PARTS.encode())[2]
        await send({"type": "http.response.body", "body": rest, "more_body": False})


def compile_templates() -> None:
    """Compile all templates, so that no page waits for its template at its first use."""
    for name in _environment().list_templates():
        _environment().get_template(name)


@cache
def _environment() -> Environment:
    folder = str(files("replan_server.web").joinpath("templates"))
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_show_value,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"asset": _asset}
    environment.filters |= {
        "since": _since,
        "left": _time_left,
        "ago": ago,
        "counted": format_count,
        "money": money,
        "stamp": stamp,
        "style": _style,
        "short_id": short_id,
    }
    return environment


def _show_value(value: Any) -> Any:
    """Return a value as it is shown.

    Control characters, such as those that change the writing direction, are removed from texts.
    """
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _asset(name: str) -> str:
    return f"/static/{name}?v={static_files()[name][2]}"


def _since(at: str) -> str:
    return ago((datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds())


def _time_left(until: str) -> str:
    """Return the duration until a time in ISO 8601, in words."""
    return ago((datetime.fromisoformat(until) - datetime.now(UTC)).total_seconds())


def _style(style: str) -> str:
    return f"s-{style.replace(' ', '-')}" if style else "s"
