"""The log: on stderr with `-v` or `--log-json`, otherwise in `$REPLAN_HOME/log.jsonl`.

Prints tracebacks with `--debug`.
"""

import fcntl
import io
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast

from replan.cli.options import Invocation
from replan.cli.terminal.console import Lossy
from replan.setup.home_folder import locate_home
from runtime.core.errors import UsageProblem
from runtime.logs import log
from runtime.logs.redact import Redactor, secrets_in
from runtime.logs.terminal_text import clean

_LOGGER = "replan.actor"
"""The name of the logger that gets the exceptions of guards, generators and other actors."""


@contextmanager
def _show_tracebacks(invocation: Invocation, redactor: Redactor) -> Iterator[None]:
    """With `--debug`, print each traceback of an actor on stderr during the block, but the same traceback only once."""
    if not invocation.debug or invocation.verbose or invocation.log_json:  # The log on stderr has them.
        yield
        return
    logger, handler = logging.getLogger(_LOGGER), _Printer(redactor)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Printer(logging.Handler):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__(logging.ERROR)
        self._redactor, self._printed = redactor, set[str]()

    def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002 -- the signature of logging
        """Print the traceback, without secrets.

        A traceback that was already printed is not printed again, for example after a restart of the actor.
        """
        error = sys.exc_info()[1]
        if error is None:
            return
        text = clean(self._redactor.text("".join(traceback.format_exception(error))))
        if text not in self._printed:
            self._printed.add(text)
            Lossy(sys.stderr).write(text)


LOG_BYTES_MAX = 5 * 1024 * 1024
"""If the log file is larger than this number of bytes, a process renames it to `log.jsonl.1`. An earlier file with this
name is replaced.
"""


def log_path() -> Path:
    """Return the path of the log."""
    return locate_home().folder / "log.jsonl"


@contextmanager
def open_log(invocation: Invocation) -> Iterator[None]:
    """Configure the log according to the options, for the length of a block. The home must exist."""
    redactor = Redactor(secrets_in(os.environ))
    if invocation.verbose or invocation.log_json:
        level = logging.DEBUG if invocation.verbose > 1 else logging.INFO
        stderr = cast("TextIO", Lossy(sys.stderr))
        log.configure(stream=stderr, json=invocation.log_json, level=level, redactor=redactor)
        try:
            yield
        finally:
            log.reset()
        return
    with LogFile(log_path()) as stream:
        log.configure(stream=cast("TextIO", stream), json=True, level=logging.INFO, redactor=redactor)
        try:
            with _show_tracebacks(invocation, redactor):
                yield
        finally:
            log.reset()


class LogFile(io.TextIOBase):
    """The open log file. If another process renames the file, this process continues with the new file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path, self._handle = path, -1
        self._rotate()

    def write(self, text: str) -> int:
        """Append a text. Another process may have renamed the file since the last write."""
        if not self._current() or os.fstat(self._handle).st_size > LOG_BYTES_MAX:
            self._rotate()
        os.write(self._handle, text.encode("utf-8", "backslashreplace"))
        return len(text)

    def close(self) -> None:
        """Close the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        super().close()

    def _rotate(self) -> None:
        """Open the file at the path. If the file is too large, rename it and open a new file."""
        while True:
            handle = _open(self._path)
            if self._handle >= 0:
                os.close(self._handle)
            self._handle = handle
            fcntl.flock(handle, fcntl.LOCK_EX)  # Two processes must not rename the log one after the other.
            try:
                if self._current():
                    if os.fstat(handle).st_size <= LOG_BYTES_MAX:
                        return
                    self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)

    def _current(self) -> bool:
        try:
            return os.path.samestat(os.lstat(self._path), os.fstat(self._handle))
        except FileNotFoundError:
            return False


def write_traceback(error: BaseException) -> str:
    """Write an unexpected error into the log, and return the path of the log; empty if the log cannot be written."""
    try:
        path = log_path()
        if not path.parent.is_dir():
            return ""
        with open_log(Invocation()):
            log.get_logger("cli").error("command.failed", exc_info=error)
    except Exception:  # noqa: BLE001 -- whatever failed may fail here again; the line on stderr is left
        return ""
    return str(path)


def _open(path: Path) -> int:
    hint = "move it away, or log to stderr with -v"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageProblem((error.strerror or "cannot be opened").lower(), place=str(path), hint=hint) from None
    if os.fstat(handle).st_uid != os.geteuid():
        os.close(handle)
        raise UsageProblem("this file belongs to another user", place=str(path), hint=hint)
    return handle
