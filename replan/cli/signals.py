"""Signals while a run is driven: the first one parks it, a second one waits for nothing. Neither cancels the run."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from replan.cli.exits import Exit
from runtime.drive.options import TERMINATED_SECONDS, Stop


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

    async def watch(self, note: Callable[[str], None], elsewhere: Callable[[], bool]) -> None:
        """Park at the first signal, and wait for nothing more at the second.

        `elsewhere` tells whether another process drives the run, so that there is nothing to park.
        """
        count = 0
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            async for number in received:
                count += 1
                if count == 1:
                    self.code = Exit.TERMINATED if number == signal.SIGTERM else Exit.INTERRUPTED
                    if number == signal.SIGTERM:
                        self.stop.grace = min(TERMINATED_SECONDS, self.stop.grace or TERMINATED_SECONDS)
                    if not (self.asking or elsewhere()):
                        note(
                            f"parking: {_how_long(self.stop.grace)}; Ctrl-C again leaves at once, nothing is cancelled"
                        )
                    self.interrupted.set()
                    self.stop.requested.set()
                else:
                    self.stop.forced.set()


def _how_long(grace: float | None) -> str:
    if grace is None:
        return "waiting for the replies in flight, as long as their time limits allow"
    return f"waiting at most {grace:g} s for the replies in flight"
