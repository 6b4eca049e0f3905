"""The notify hook: a program of the user's that is told, on its standard input, that something waits for a person.

It never holds anything up: it has a few seconds, nobody reads what it prints, and it sees none of our secrets. What
goes wrong with it is logged once. It runs in a process group of its own, which is killed whole when its time is up.
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
from runtime.logs.redact import secrets_in

SECONDS_MAX = 5.0
"""How long the program may take."""
AT_ONCE = 4
"""Programs that run side by side; what comes meanwhile waits its turn."""


class Hook:
    """Calls one program, given as its arguments, without a shell."""

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._arguments = tuple(arguments)
        self._places = trio.CapacityLimiter(AT_ONCE)
        self._told = False

    async def call(self, message: Mapping[str, Any]) -> None:
        """Give the program a JSON object; return when it has ended or was killed. Never raises for what it does."""
        if not self._arguments:
            return
        async with self._places:
            try:
                problem = await self._run(json.dumps(message).encode() + b"\n")
            except (OSError, ValueError) as error:
                problem = str(error)
        if problem and not self._told:
            self._told = True
            log.get_logger("hook").warning("hook.failed", program=self._arguments[0], problem=problem)

    async def _run(self, message: bytes) -> str:
        """Run the program; return what went wrong, or nothing."""
        secrets = secrets_in(os.environ)
        process = await trio.lowlevel.open_process(
            self._arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if value not in secrets},
        )
        assert process.stdin is not None
        try:
            with trio.move_on_after(SECONDS_MAX) as limit:
                with suppress(trio.BrokenResourceError, trio.ClosedResourceError):  # It need not read what it is told.
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
