"""Tracebacks on stderr, with `--debug`: those of plug-ins and of our own parts, which otherwise only the log has."""

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from replan.cli.options import Invocation
from replan.cli.terminal.console import Lossy
from runtime.logs.redact import Redactor
from runtime.logs.terminal_text import clean

_LOGGER = "replan.actor"
"""The logger that is told of every exception in a guard, a generator or another actor."""


@contextmanager
def shown_tracebacks(invocation: Invocation, redactor: Redactor) -> Iterator[None]:
    """Print the tracebacks of the block's actors on stderr where `--debug` asks for it, each once."""
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
    """Prints the exception that is being handled where a line is logged."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(logging.ERROR)
        self._redactor, self._printed = redactor, set[str]()

    def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002 -- the signature of logging
        """Print the traceback, without secrets; one that was printed before, as after a restart, is left out."""
        error = sys.exc_info()[1]
        if error is None:
            return
        text = clean(self._redactor.text("".join(traceback.format_exception(error))))
        if text not in self._printed:
            self._printed.add(text)
            Lossy(sys.stderr).write(text)
