"""Code for all requests of browsers: checks of the session and of the form's CSRF token, and error pages."""

from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from starlette.datastructures import ImmutableMultiDict, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from replan.views.errors import line_of_error, shorten
from replan_server.service.access import Principal, equal_in_constant_time
from replan_server.service.limits import Reason, RequestRefused
from replan_server.service.store import Scope
from replan_server.web.rendering import render
from replan_server.web.site import Site
from runtime.core.errors import Held, JournalError, KindUnknown, ReplanError, RunExists, RunNotFound, UsageProblem

STATUSES: Mapping[Reason, int] = {"unauthorized": 401, "forbidden": 403, "conflict": 409, "too_many": 429}


def as_http(refused: RequestRefused) -> HTTPException:
    """Return the HTTP error for a refused request."""
    headers = {"www-authenticate": "Bearer"} if refused.reason == "unauthorized" else {}
    if refused.retry_after is not None:
        headers["retry-after"] = str(refused.retry_after)
    return HTTPException(STATUSES[refused.reason], str(refused), headers)


Read = Callable[[Site, Request, Principal], Awaitable[Response]]
Write = Callable[[Site, Request, Principal, "FormFields"], Awaitable[Response]]
"""A function that answers a POST request of a signed-in browser. Its last argument contains the fields of the submitted
form."""

FIELDS_MAX, FILES_MAX, FIELD_BYTES_MAX = 60, 20, 1_100_000


class FormFields:
    """The fields of a form."""

    def __init__(self, data: ImmutableMultiDict[str, Any]) -> None:
        self.data = data

    def check(self, who: Principal) -> None:
        """Raise `HTTPException` unless the form has the CSRF token of the session."""
        if not equal_in_constant_time(self.text("csrf"), who.csrf):
            raise HTTPException(403, "the form is not from this session; open the page again")

    def text(self, name: str) -> str:
        """Return a field's text; empty if the field is missing."""
        value = self.data.get(name, "")
        return value.replace("\r\n", "\n") if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """Return the texts of all fields called `name`, such as the values of ticked boxes."""
        return [value for value in self.data.getlist(name) if isinstance(value, str)]

    def whole(self, name: str) -> int | None:
        """Return a field's whole number; None if the field is empty. Raises `UsageProblem` for any other text."""
        value = self.number(name)
        if value is None:
            return None
        if value != int(value):
            raise UsageProblem(f"{self.text(name)[:40]!r} is not a whole number", place=name)
        return int(value)

    def number(self, name: str) -> float | None:
        """Return a field's number; None if the field is empty. Raises `UsageProblem` for any other text."""
        text = self.text(name).strip()
        if not text:
            return None
        try:
            value = float(text[:40])
        except ValueError:
            value = float("nan")
        if not abs(value) <= 10**15:
            raise UsageProblem(f"{text[:40]!r} is not a number", place=name)
        return value

    async def uploads(self, name: str) -> tuple[tuple[str, bytes], ...]:
        """Return the name and the bytes of each file uploaded in a field. Inputs without a file are ignored."""
        found = [item for item in self.data.getlist(name) if isinstance(item, UploadFile) and item.filename]
        return tuple([(item.filename or "", await item.read()) for item in found])

    async def mark(self) -> str:
        """Return the hash of all fields and files. A form that is sent again has the same hash."""
        digest = sha256()
        for name, value in self.data.multi_items():
            if isinstance(value, str):
                content = value.encode("utf-8", "surrogatepass")
            else:
                content = await value.read()
                await value.seek(0)
                content = f"{value.filename}\n".encode("utf-8", "surrogatepass") + content
            digest.update(f"{name} {len(content)}\n".encode("utf-8", "surrogatepass") + content)
        return digest.hexdigest()


IDEMPOTENCY_KEY = "idempotency_key"


def status_of_error(error: ReplanError) -> int:
    """Return the HTTP status of an error."""
    match error:
        case RequestRefused():
            return STATUSES[error.reason]
        case RunNotFound():
            return 404
        case UsageProblem():
            return 422
        case Held() | RunExists() | KindUnknown():
            return 409
        case JournalError() if error.passing:
            return 503
        case _:
            return 500


def get_endpoint(site: Site, read: Read) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint for browsers with a session. Other browsers are redirected to the sign-in page."""

    async def endpoint(request: Request) -> Response:
        who = site.visitor(request)
        if who is None:
            return _redirect_to_sign_in(site, request)
        try:
            return await read(site, request, who)
        except ReplanError as error:
            return problem(site, who, status_of_error(error), _text_of(error))
        except HTTPException as error:
            return problem(site, who, error.status_code, error.detail)

    return endpoint


def post_endpoint(
    site: Site, write: Write, scope: Scope = "control", *, counted: bool = True
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint for POST requests of users who have `scope`. The form must have the session's CSRF token.

    If `counted` is False, a request does not count as a write, because it only shows a form again.
    """

    async def post(site: Site, request: Request, who: Principal) -> Response:
        site.check_scope(who, scope)
        if counted:
            site.count_write(who)
        async with request.form(max_files=FILES_MAX, max_fields=FIELDS_MAX, max_part_size=FIELD_BYTES_MAX) as data:
            form = FormFields(data)
            form.check(who)
            return await write(site, request, who, form)

    return get_endpoint(site, post)


def _redirect_to_sign_in(site: Site, request: Request) -> Response:
    """Redirect a browser without a session to the sign-in page. Behind a proxy, answer 403 instead."""
    if site.proxy is not None:
        return problem(
            site, None, 403, f"the header {site.proxy.user_header} of the proxy does not name a user of this server"
        )
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"hx-redirect": "/sign-in"})
    return RedirectResponse("/sign-in", 303)


def page(site: Site, who: Principal, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    """Return a page for a browser that is signed in."""
    common = {
        "csrf": who.csrf,
        "signed_in": True,
        "now": site.now(),
        "live": None,
        "here": "",
        "notice": "",
        "all_read": False,
    }
    rights = {"may_answer": who.may("answer"), "may_control": who.may("control")}
    user = "" if site.proxy is None else who.client.removeprefix("user:")
    return render(template, {**common, **rights, "user": user, **values}, status)


def _text_of(error: ReplanError) -> str:
    """Return the line about an error.

    For an unknown run, the line names no command, because the page has a link to all runs.
    """
    return shorten(str(error)) if isinstance(error, RunNotFound) else line_of_error(error)


def problem(site: Site, who: Principal | None, status: int, text: str) -> Response:
    """Return the error page of a failed request."""
    values = {"status": status, "phrase": HTTPStatus(status).phrase, "text": text}
    if who is not None:
        return page(site, who, "problem.html", values, status)
    common = {"csrf": "", "signed_in": False, "now": site.now(), "live": None, "here": "", "notice": "", "user": ""}
    return render("problem.html", {**common, **values}, status)


def back_to(place: str, notice: str = "") -> Response:
    """Return the redirect to `place` after a form was handled. `notice` is the key of the message shown there."""
    return RedirectResponse(f"{place}?done={notice}" if notice else place, 303)
