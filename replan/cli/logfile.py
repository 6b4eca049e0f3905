"""The log: on stderr with `-v` or `--log-json`, else in `$REPLAN_HOME/log.jsonl`, private and bounded."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast

from replan.cli.options import Invocation
from replan.cli.terminal.console import Lossy
from replan.setup.home_folder import locate_home
from runtime.core.errors import ReplanError, UsageProblem
from runtime.logs import log
from runtime.logs.redact import Redactor, secrets_in

LOG_BYTES_MAX = 5 * 1024 * 1024
"""A larger log is renamed to `log.jsonl.1` when a command starts, which replaces the one before it."""


def log_path() -> Path:
    """Return the path of the log."""
    return locate_home().folder / "log.jsonl"


@contextmanager
def logging_to(invocation: Invocation) -> Iterator[None]:
    """Log as the user wants, for the length of a block. The home must exist."""
    redactor = Redactor(secrets_in(os.environ))
    if invocation.verbose or invocation.log_json:
        level = logging.DEBUG if invocation.verbose > 1 else logging.INFO
        log.configure(
            stream=cast("TextIO", Lossy(sys.stderr)), json=invocation.log_json, level=level, redactor=redactor
        )
        try:
            yield
        finally:
            log.reset()
        return
    with os.fdopen(_open(log_path()), "a", encoding="utf-8", buffering=1) as stream:
        log.configure(stream=stream, json=True, level=logging.INFO, redactor=redactor)
        try:
            yield
        finally:
            log.reset()


def write_traceback(error: BaseException) -> str:
    """Write an unexpected error into the log, and return where it is; empty when there is no home to write to."""
    path = log_path()
    if not path.parent.is_dir():
        return ""
    try:
        with logging_to(Invocation()):
            log.get_logger("cli").error("command.failed", exc_info=error)
    except (OSError, ReplanError):
        return ""
    return str(path)


def _open(path: Path) -> int:
    """Open the log to append to, after renaming one that is too large. Raises `UsageProblem`."""
    try:
        if path.exists() and path.stat().st_size > LOG_BYTES_MAX:
            path.replace(path.with_name(f"{path.name}.1"))
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        hint = "move it away, or log to stderr with -v"
        raise UsageProblem((error.strerror or "cannot be opened").lower(), place=str(path), hint=hint) from None
