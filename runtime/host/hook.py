"""The notify hook: a program of the user's that is called when a run waits for a person.

It gets a JSON object on its standard input. It never delays a run: it has a few seconds, its output is discarded, and
its environment holds no secrets. Its first failure is logged. It runs in a process group of its own, which is killed
when its time is up.
"""

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import trio

from runtime.logs import log
from runtime.logs.redact import Redactor, secrets_in

SECONDS_MAX = 5.0
"""How long one call may take."""
CALLS_MAX = 4
"""How many calls run side by side; others wait."""


class Hook:
    """Calls one program, given as its arguments, without a shell."""

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._arguments = tuple(arguments)
        self._limiter = trio.CapacityLimiter(CALLS_MAX)
        self._failed = False

    async def call(self, message: Mapping[str, Any]) -> None:
        """Call the program with a JSON object; return when it has ended or was killed. Its failures are not raised."""
        if not self._arguments:
            return
        async with self._limiter:
            try:
                problem = await self._run(json.dumps(message).encode() + b"\n")
            except (OSError, ValueError) as error:
                problem = str(error)
        if problem and not self._failed:
            self._failed = True
            log.get_logger("hook").warning("hook.failed", program=self._arguments[0], problem=problem)

    async def _run(self, message: bytes) -> str:
        """Run the program; return its failure in words, or an empty text."""
        secrets = secrets_in(os.environ)
        redactor = Redactor(secrets)
        process = await trio.lowlevel.open_process(
            self._arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={
                name: value
                for name, value in os.environ.items()
                if value not in secrets and redactor.text(value) == value
            },
        )
        assert process.stdin is not None
        try:
            with trio.move_on_after(SECONDS_MAX) as limit:
                with suppress(trio.BrokenResourceError, trio.ClosedResourceError):  # It need not read its input.
                    async with process.stdin:
                        await process.stdin.send_all(message)
                await process.wait()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                with trio.CancelScope(shield=True):
                    await process.wait()
                    await process.stdin.aclose()
        if limit.cancelled_caught:
            return f"took more than {SECONDS_MAX:g} s and was killed"
        return f"ended with {process.returncode}" if process.returncode else ""
