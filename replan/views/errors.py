"""Errors for people and programs: the line on stderr, and the object that `--json` prints. Imports nothing heavy."""

import os

from replan.setup.command_name import program
from runtime.core.errors import ReplanError, RunNotFound, UsageProblem


def line_of_error(error: ReplanError) -> str:
    """Return the one line about an error; for an unknown run it says how to list the runs."""
    hint = f" (`{program()} runs` lists them)" if isinstance(error, RunNotFound) and error.run else ""
    return f"{error}{hint}"


def line_of_crash(error: BaseException) -> str:
    """Return the line about an unexpected error, without secrets: a plug-in may have put a key into its message."""
    from runtime.logs.redact import Redactor, secrets_in  # noqa: PLC0415 - only crashes need it

    return Redactor(secrets_in(os.environ)).text(f"{type(error).__name__}: {error}")


def error_object(error: BaseException, exit_code: int) -> dict[str, object]:
    """Return what `--json` prints for an error: one object with the key `error`."""
    expected = isinstance(error, ReplanError)
    shown: dict[str, object] = {
        "exit_code": exit_code,
        "kind": type(error).__name__ if expected else "InternalError",
        "message": line_of_error(error) if isinstance(error, ReplanError) else line_of_crash(error),
    }
    if isinstance(error, UsageProblem):
        shown |= {"cause": error.cause, "place": error.place, "hint": error.hint}
    return {"error": shown}
