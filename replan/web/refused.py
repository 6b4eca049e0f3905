"""Refusals as errors of HTTP."""

from collections.abc import Mapping

from starlette.exceptions import HTTPException

from replan.service.refusals import Reason, RequestRefused

STATUSES: Mapping[Reason, int] = {"unauthorized": 401, "forbidden": 403, "conflict": 409, "too_many": 429}
"""The status of each reason."""


def as_http(refused: RequestRefused) -> HTTPException:
    """Return a refusal as the error of HTTP that says the same."""
    headers = {"www-authenticate": "Bearer"} if refused.reason == "unauthorized" else {}
    if refused.retry_after is not None:
        headers["retry-after"] = str(refused.retry_after)
    return HTTPException(STATUSES[refused.reason], str(refused), headers)
