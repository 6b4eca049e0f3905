"""The routes of the HTTP API. Each route checks the token, the client's limits and the body. Errors are JSON."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import models_json_schema
from pydantic_core import from_json
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from replan_server.service import bodies
from replan_server.service.access import Principal
from replan_server.service.bodies import StartedBody
from replan_server.service.messages import KEY_PATTERN, hash_key
from replan_server.service.operations import HttpAddress, Operation, operations
from replan_server.service.requests import HTTP, ProgramRequest, wrong_value
from replan_server.web.api_reads import OWN, json_answer, json_error
from replan_server.web.site import Site
from runtime.core.errors import ReplanError, UsageProblem

VERSION = "1.0"
"""The version of the HTTP API. Every change of the API that clients can notice changes the version."""
_REF = "#/components/schemas/{model}"
_ERRORS = {
    "401": "There is no valid bearer token.",
    "403": "The token's scope does not allow this operation.",
    "404": "There is no such run, question or document.",
    "422": "The request is not valid; `place` names the wrong key.",
    "429": "There were too many requests, or the client has too many runs.",
    "503": "The journal cannot be used now; try again.",
}
_WRITE_ERRORS = {
    "409": "The request conflicts with an earlier request, or another request had this idempotency key.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
}


def addressed_operations() -> list[tuple[Operation, HttpAddress]]:
    """Return each operation that has an HTTP address, together with the address."""
    return [(operation, operation.http) for operation in operations() if operation.http is not None]


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document that describes the HTTP API."""
    return _openapi(tuple(addressed_operations()))


@cache
def _openapi(addressed: tuple[tuple[Operation, HttpAddress], ...]) -> dict[str, Any]:
    models = sorted({model for item in addressed for model in _models(*item)} | {bodies.ProblemBody}, key=_name)
    modes: list[tuple[type[BaseModel], Any]] = [(model, "validation") for model in models]
    _, schemas = models_json_schema(modes, ref_template=_REF)
    paths: dict[str, Any] = {}
    for operation, address in addressed:
        paths.setdefault(address.path, {})[address.method.lower()] = _describe(operation, address)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Replan",
            "version": VERSION,
            "description": "The runs of one home. `replan serve` serves this API; `replan token add` makes tokens.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:8430"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _name(model: type[BaseModel]) -> str:
    return model.__name__


def _models(operation: Operation, address: HttpAddress) -> list[type[BaseModel]]:
    named = (address.body, operation.gives)
    return [model for model in named if isinstance(model, type)]


def _describe(operation: Operation, address: HttpAddress) -> dict[str, Any]:
    answer = operation.gives
    content = {item: {} for item in answer} if isinstance(answer, tuple) else _json(answer)
    status = "201" if answer is bodies.StartedBody else "200"
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"This operation needs the scope `{operation.scope}`.",
        "parameters": [*_path_parameters(address), *_others(operation, address)],
        "responses": {status: {"description": "The operation is done.", "content": content}},
    }
    if status == "201":
        described["responses"]["200"] = {"description": "An earlier request did the operation.", "content": content}
    errors = _ERRORS if address.body is None else _ERRORS | _WRITE_ERRORS
    problem = _json(bodies.ProblemBody)
    described["responses"] |= {code: {"description": text, "content": problem} for code, text in errors.items()}
    if address.body is not None:
        described["requestBody"] = {"required": True, "content": _json(address.body)}
    return described


def _path_parameters(address: HttpAddress) -> list[dict[str, Any]]:
    found = []
    for name in re.findall(r"\{(\w+)\}", address.path):
        choices = address.choices.get(name)
        schema: dict[str, Any] = {"type": "string", "minLength": 1} if choices is None else {"enum": list(choices)}
        found.append({"name": name, "in": "path", "required": True, "schema": schema})
    return found


def _others(operation: Operation, address: HttpAddress) -> list[dict[str, Any]]:
    found = [
        {"name": name, "in": "query", "required": False, "description": item.meaning, "schema": item.schema}
        for name, item in address.query.items()
    ]
    if address.body is not None and address.needs_key:
        meaning = "A name for this action. If several requests have the same key, the action is done only once."
        found.append(_header("Idempotency-Key", meaning, required=True, pattern=f"^{KEY_PATTERN}$"))
    if operation.gives == ("text/event-stream",) and not operation.writes:
        found.append(_header("Last-Event-ID", "The id of the last event that was received.", required=False))
    return found


def _header(name: str, meaning: str, *, required: bool, pattern: str | None = None) -> dict[str, Any]:
    schema = {"type": "string"} if pattern is None else {"type": "string", "pattern": pattern}
    return {"name": name, "in": "header", "required": required, "description": meaning, "schema": schema}


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.replace("{model}", model.__name__)}}}


KEY = "Idempotency-Key"


def api_routes(site: Site) -> Sequence[BaseRoute]:
    """Return the routes of all operations, and the route of the OpenAPI document."""
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
    """A convertor for the end of a path. It accepts line breaks, unlike Starlette's convertor `path`."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any_text", _AnyText())


@dataclass(frozen=True, slots=True)
class _NoOperation:
    """Answers requests that match no route: 405 if only the method is wrong, or else 404."""

    routes: tuple[Route, ...]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, methods = scope["method"], set[str]()
        for route in self.routes:
            if route.matches(scope)[0] is not Match.NONE:
                methods |= route.methods or set()
        cause = f"there is no operation {method} at this address"
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
    run, name = request.path_params.get("run", ""), request.path_params.get("name")
    question = "" if name is None else f"{run}/{name}"
    return ProgramRequest(service=site, who=who, terms=HTTP, run=run, question=question, body=body, key=key)


async def _body(request: Request, model: type[BaseModel]) -> object:
    """Return the body of a request as an instance of `model`.

    Raises `HTTPException` for another content type, and `UsageProblem` for a wrong body. Its `place` is the wrong key.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise HTTPException(415, "the body must be JSON, with the content-type application/json")
    data = await request.body()
    try:
        return model.model_validate(from_json(data, allow_inf_nan=False))
    except ValidationError as error:
        raise wrong_value(error, model, HTTP) from None
    except ValueError as error:
        raise UsageProblem(f"not JSON: {error}"[:200], place="body") from None


def openapi_text() -> str:
    """Return the OpenAPI document as JSON text."""
    return orjson.dumps(openapi(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
