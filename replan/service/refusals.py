"""The error for a valid request that a server refuses: no right to it, a conflict, or too many requests."""

from typing import Literal

from runtime.core.errors import ReplanError

Reason = Literal["unauthorized", "forbidden", "conflict", "too_many"]
"""Why a request is refused: no valid token; not allowed to this client; something else stands; too many of them."""


class RequestRefused(ReplanError):
    """A request that is not carried out, though nothing is wrong with its values.

    `retry_after` are the seconds after which a client of whom there was too much may try again; None where that is not
    known.
    """

    def __init__(self, message: str, reason: Reason, *, retry_after: int | None = None) -> None:
        self.reason: Reason = reason
        self.retry_after = retry_after
        super().__init__(message)
