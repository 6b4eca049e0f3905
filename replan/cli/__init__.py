"""The command line, `replan`. Its output and its exit codes are a contract: docs/reference/cli.md."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit. By default, `arguments` are the arguments of the process."""
    previous = signal.getsignal(signal.SIGINT)
    if previous is signal.default_int_handler and threading.current_thread() is threading.main_thread():
        # An exception in the middle of an import may be lost, or be shown as a traceback. Nothing needs to be saved
        # yet.
        signal.signal(signal.SIGINT, _leave)
        leave_on_lost_interrupts()
    from replan.setup.installation import start_quickly

    start_quickly()
    # Imported here, so that importing the package for one of its parts costs nothing.
    from replan.cli.app import app

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, previous)
    app.main(args=arguments, prog_name="replan")
    raise AssertionError("the application always exits")


def leave_on_lost_interrupts() -> None:
    """Make this process exit with code 130 at a `KeyboardInterrupt` that Python would only print.

    Python prints and then ignores an exception in a finalizer or in the callback of a weak reference. Both may run at
    any time.
    """
    previous = sys.unraisablehook

    def hook(lost: "sys.UnraisableHookArgs", /) -> None:
        if lost.exc_type is KeyboardInterrupt:
            _leave()
        previous(lost)

    sys.unraisablehook = hook


def _leave(*_: object) -> NoReturn:
    os.write(2, b"replan: interrupted\n")
    os._exit(130)
