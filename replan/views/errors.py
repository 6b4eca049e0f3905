"""Errors as lines for people, and as JSON objects for programs. Imports only small modules."""

import os
import re

from replan.setup.installation import program
from runtime.core.errors import ReplanError, RunNotFound, UsageProblem

LINE_MAX = 1000
"""The largest number of characters in a line about an error. In a longer line, an ellipsis replaces the middle."""

_QUOTE = re.compile(r"(['\"`])([^'\"`\n]{200})[^'\"`\n]+\1")
"""A pattern for a quotation of more than 200 characters in the text of an error."""


def line_of_error(error: ReplanError) -> str:
    """Return one line about an error. For an unknown run, the line says how to list the runs."""
    hint = f" (`{program()} runs` lists the runs)" if isinstance(error, RunNotFound) and error.run else ""
    return shorten(f"{error}{hint}")


def line_of_crash(error: BaseException) -> str:
    """Return one line about an unexpected error, without secrets.

    Secrets are removed because the message of a plug-in's exception may contain a key.
    """
    from runtime.logs.redact import Redactor, secrets_in  # noqa: PLC0415 - only crashes need it

    return shorten(Redactor(secrets_in(os.environ)).text(f"{type(error).__name__}: {error}"))


def shorten(text: str) -> str:
    """Return a line with its long quotes cut.

    If the line is still longer than `LINE_MAX`, its middle is replaced by an ellipsis.
    """
    text = _QUOTE.sub(r"\1\2…\1", text)
    if len(text) <= LINE_MAX:
        return text
    tail = LINE_MAX // 3  # The next step is at the end.
    return f"{text[: LINE_MAX - tail - 3]} … {text[-tail:]}"


def error_object(error: BaseException, exit_code: int) -> dict[str, object]:
    """Return the JSON object of an error. Its only key is `error`."""
    return {"error": {"exit_code": exit_code, **error_fields(error)}}


def error_fields(error: BaseException) -> dict[str, object]:
    """Return the fields of an error: its kind and its line. A `UsageProblem` also has a cause, a place and a hint."""
    expected = isinstance(error, ReplanError)
    fields: dict[str, object] = {
        "kind": type(error).__name__ if expected else "InternalError",
        "message": line_of_error(error) if isinstance(error, ReplanError) else line_of_crash(error),
    }
    if isinstance(error, UsageProblem):
        fields |= {"cause": error.cause, "place": error.place, "hint": error.hint}
    return fields
