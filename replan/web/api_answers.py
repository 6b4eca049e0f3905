"""JSON answers, and errors as JSON."""

from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from replan.service.refusals import RequestRefused
from replan.views.errors import error_fields
from replan.web.requests import as_http, status_of_error
from runtime.core.errors import ReplanError


def answered(value: Any, status: int = 200) -> Response:
    """Return a JSON answer. A text with half a surrogate pair, which has no UTF-8, is shown with a replacement."""
    try:
        data = orjson.dumps(value)
    except TypeError:
        data = orjson.dumps(_storable(value))
    return Response(data, status, media_type="application/json")


def failed(error: ReplanError | HTTPException) -> Response:
    """Return an error as JSON."""
    if isinstance(error, RequestRefused):
        error = as_http(error)
    if isinstance(error, HTTPException):
        kind = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound"}.get(error.status_code, "RequestRefused")
        fields: dict[str, object] = {"kind": kind, "message": error.detail}
        response = answered({"error": fields}, error.status_code)
        response.headers.update(error.headers or {})
        return response
    return answered({"error": error_fields(error)}, status_of_error(error))


def _storable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {str(_storable(key)): _storable(item) for key, item in value.items()}
        case list() | tuple():
            return [_storable(item) for item in value]
        case _:
            return value
