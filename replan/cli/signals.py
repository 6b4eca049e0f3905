"""Signals while a run is driven: the first one parks it, a second Ctrl-C cancels it, a third waits for nothing."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from replan.cli.exits import Exit
from runtime.drive.options import Stop


@dataclass
class Signals:
    """The signals that have come, and what follows from them."""

    stop: Stop = field(default_factory=Stop)
    """The stop that the run is driven with."""
    code: Exit | None = None
    """130 after Ctrl-C, 143 after SIGTERM; None before the first signal."""
    interrupted: trio.Event = field(default_factory=trio.Event)
    """Set by the first signal."""
    asking: bool = False
    """Whether the run only waits for the user, so that no reply is in flight."""

    async def watch(
        self, note: Callable[[str], None], cancel: Callable[[], object], elsewhere: Callable[[], bool]
    ) -> None:
        """Park at the first signal, cancel the run at the second Ctrl-C, and wait for nothing more at the third.

        `elsewhere` tells whether another process drives the run, so that there is nothing to park.
        """
        count = 0
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            async for number in received:
                count += 1
                if count == 1:
                    self.code = Exit.TERMINATED if number == signal.SIGTERM else Exit.INTERRUPTED
                    if not (self.asking or elsewhere()):
                        note("parking: at most 10 s for replies in flight; Ctrl-C again cancels the run")
                    self.interrupted.set()
                    self.stop.requested.set()
                elif count == 2 and number == signal.SIGINT:
                    note("cancelling the run")
                    cancel()
                else:
                    self.stop.forced.set()
