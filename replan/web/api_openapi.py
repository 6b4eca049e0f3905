"""The OpenAPI document of the API, generated from the table of operations and the models of its bodies."""

import re
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from replan.service import bodies
from replan.service.messages import KEY_PATTERN
from replan.service.operations import OPERATIONS, HttpAddress, Operation

VERSION = "1.0"
"""The version of the API; it changes when a client would notice."""
_REF = "#/components/schemas/{model}"
_ERRORS = {
    "401": "There is no valid bearer token.",
    "403": "The token's scope does not include this.",
    "404": "There is no such run, question or document.",
    "422": "The request cannot be used; `place` names the key.",
    "429": "There were too many requests, or the client has too many runs.",
    "503": "The journal cannot be used now; try again.",
}
_WRITE_ERRORS = {
    "409": "Something else stands already, or was done with this idempotency key.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
}


def addressed_operations() -> list[tuple[Operation, HttpAddress]]:
    """Return the operations that have an address, each with it."""
    return [(operation, operation.http) for operation in OPERATIONS if operation.http is not None]


@cache
def openapi() -> dict[str, Any]:
    """Return the document."""
    models = sorted(
        {model for item in addressed_operations() for model in _models(*item)} | {bodies.ProblemBody}, key=_name
    )
    modes: list[tuple[type[BaseModel], Any]] = [(model, "validation") for model in models]
    _, schemas = models_json_schema(modes, ref_template=_REF)
    paths: dict[str, Any] = {}
    for operation, address in addressed_operations():
        paths.setdefault(address.path, {})[address.method.lower()] = _describe(operation, address)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Replan",
            "version": VERSION,
            "description": "The runs of one home. `replan serve` serves it; `replan token add` makes tokens.",
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
        "description": f"Needs the scope `{operation.scope}`.",
        "parameters": [*_path_parameters(address), *_others(operation, address)],
        "responses": {status: {"description": "It is done.", "content": content}},
    }
    if status == "201":
        described["responses"]["200"] = {"description": "It was done before.", "content": content}
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
        meaning = "Names what is done: repeated with the same key, it is done once."
        found.append(_header("Idempotency-Key", meaning, required=True, pattern=f"^{KEY_PATTERN}$"))
    if operation.gives == ("text/event-stream",) and not operation.writes:
        found.append(_header("Last-Event-ID", "The id of the last event that was received.", required=False))
    return found


def _header(name: str, meaning: str, *, required: bool, pattern: str | None = None) -> dict[str, Any]:
    schema = {"type": "string"} if pattern is None else {"type": "string", "pattern": pattern}
    return {"name": name, "in": "header", "required": required, "description": meaning, "schema": schema}


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.replace("{model}", model.__name__)}}}
