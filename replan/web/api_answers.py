"""JSON answers, and errors as JSON."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from replan.service.problems import HTTP, in_terms
from replan.service.refusals import RequestRefused
from replan.service.requests import encoded
from replan.views.errors import error_fields
from replan.web.requests import as_http, status_of_error
from runtime.core.errors import ReplanError


def answered(value: Any, status: int = 200) -> Response:
    """Return a JSON answer."""
    return Response(encoded(value), status, media_type="application/json")


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
    return answered({"error": error_fields(in_terms(error, HTTP))}, status_of_error(error))
