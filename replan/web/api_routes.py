"""The routes of the API: the token, the limits of a client, the body, and errors as JSON."""

from collections.abc import Awaitable, Callable, Sequence

import orjson
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from replan.service.problems import HTTP, wrong_value
from replan.web.api_answers import answered, failed
from replan.web.api_openapi import openapi
from replan.web.api_operations import OPERATIONS, Operation
from replan.web.site import Site
from runtime.core.errors import ReplanError, UsageProblem


def api_routes(site: Site) -> Sequence[BaseRoute]:
    """Return the routes of all operations, and of their description."""
    routes = [
        Route(
            operation.path.replace("{node}", "{node:path}"),
            _endpoint(site, operation),
            methods=[operation.method],
        )
        for operation in OPERATIONS
    ]

    async def describe(request: Request) -> Response:
        try:
            await site.bearer(request.headers.get("authorization", ""), "read")
        except ReplanError as error:
            return failed(error)
        return answered(openapi())

    async def nothing(request: Request) -> Response:
        return failed(HTTPException(404, f"there is no operation {request.method} of this address"))

    everything = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    return [*routes, Route("/api/openapi.json", describe), Route("/api/{rest:path}", nothing, methods=everything)]


def _endpoint(site: Site, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            who = await site.bearer(request.headers.get("authorization", ""), operation.scope)
            body = None
            if operation.body is not None:
                site.count_write(who)
                body = await _body(request, operation)
            return await operation.handler(site, request, who, body)
        except (ReplanError, HTTPException) as error:
            return failed(error)

    return endpoint


async def _body(request: Request, operation: Operation) -> object:
    """Return the body, checked. Raises `UsageProblem`, whose place is the key."""
    assert operation.body is not None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "a body is JSON: content-type must be application/json")
    data = await request.body()
    try:
        from_json(data, allow_inf_nan=False)  # A body that is no JSON at all has a message of its own.
        return operation.body.model_validate_json(data)
    except ValidationError as error:
        raise wrong_value(error, operation.body, HTTP) from None
    except ValueError as error:
        raise UsageProblem(f"not JSON: {error}"[:200], place="body") from None


def openapi_text() -> str:
    """Return the OpenAPI document as it is published."""
    return orjson.dumps(openapi(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
