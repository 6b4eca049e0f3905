"""The routes of the API: the token, the limits of a client, the body, and errors as JSON."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import orjson
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from replan.service.access import Principal
from replan.service.bodies import StartedBody
from replan.service.messages import hash_key
from replan.service.operations import HttpAddress, Operation
from replan.service.requests import HTTP, ProgramRequest, without_nulls, wrong_value
from replan.web.api_openapi import addressed_operations, openapi
from replan.web.api_reads import OWN, json_answer, json_error
from replan.web.site import Site
from runtime.core.errors import ReplanError, UsageProblem

KEY = "Idempotency-Key"
"""The header with the idempotency key of a write."""


def api_routes(site: Site) -> Sequence[BaseRoute]:
    """Return the routes of all operations, and of their description."""
    routes = [
        Route(
            address.path.replace("{node}", "{node:any_text}"),
            _endpoint(site, operation, address),
            methods=[address.method],
        )
        for operation, address in addressed_operations()
    ]

    async def describe(request: Request) -> Response:
        try:
            await site.bearer(request.headers.get("authorization", ""), "read")
        except ReplanError as error:
            return json_error(error)
        return json_answer(openapi())

    routes.append(Route("/api/openapi.json", describe))
    return [*routes, Route("/api/{rest:any_text}", _NoOperation(tuple(routes)))]


class _AnyText(Convertor[str]):
    """The end of an address, with any characters; the convertor `path` of Starlette takes no line break."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any_text", _AnyText())


@dataclass(frozen=True, slots=True)
class _NoOperation:
    """Answers what no route answers, whatever its method."""

    routes: tuple[Route, ...]
    """The routes that there are."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say that there is no such address, or which methods it has."""
        method, methods = scope["method"], set[str]()
        for route in self.routes:
            if route.matches(scope)[0] is not Match.NONE:
                methods |= route.methods or set()
        cause = f"there is no operation {method} of this address"
        allowed = {"allow": ", ".join(sorted(methods))} if methods else None
        await json_error(HTTPException(405 if methods else 404, cause, allowed))(scope, receive, send)


def _endpoint(site: Site, operation: Operation, address: HttpAddress) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            who = await site.bearer(request.headers.get("authorization", ""), operation.scope)
            body, key = None, ""
            if address.body is not None:
                site.count_write(who)
                body = await _body(request, address.body)
                if operation.executes:
                    site.check_execute()
                if address.needs_key:
                    key = hash_key(request.headers.get(KEY, ""), who, request.url.path, place=KEY)
            if operation.function is None:
                request.state.body = body
                return await OWN[operation.name](site, request, who)
            value = await operation.function(_request(site, request, who, body, key))
            return json_answer(value, 201 if operation.gives is StartedBody and value["result"] == "accepted" else 200)
        except (ReplanError, HTTPException) as error:
            return json_error(error)

    return endpoint


def _request(site: Site, request: Request, who: Principal, body: object, key: str) -> ProgramRequest:
    """Return a request as every face has it."""
    run, name = request.path_params.get("run", ""), request.path_params.get("name")
    question = "" if name is None else f"{run}/{name}"
    return ProgramRequest(service=site, who=who, terms=HTTP, run=run, question=question, body=body, key=key)


async def _body(request: Request, model: type[BaseModel]) -> object:
    """Return the body, checked. Raises `UsageProblem`, whose place is the key."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise HTTPException(415, "a body is JSON: content-type must be application/json")
    data = await request.body()
    try:
        sent = from_json(data, allow_inf_nan=False)  # A body that is no JSON at all has a message of its own.
        return model.model_validate_json(to_json(without_nulls(model, sent)))
    except ValidationError as error:
        raise wrong_value(error, model, HTTP) from None
    except ValueError as error:
        raise UsageProblem(f"not JSON: {error}"[:200], place="body") from None


def openapi_text() -> str:
    """Return the OpenAPI document as it is published."""
    return orjson.dumps(openapi(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
