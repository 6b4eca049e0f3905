"""Notes for the user while a run waits for its provider: once when the wait begins, and once when it ends."""

from typing import Any

from actors.run.state import RunState
from actors.run.waits import PROVIDER, WaitEnded, WaitRequested


class OutageNotes:
    """The notes of one run."""

    def __init__(self) -> None:
        self._waiting = False

    def about(self, event: Any, run: RunState[Any] | None) -> str:
        """Return the note about an event, empty for none; `run` is the common state after it."""
        match event:
            case WaitRequested(node=str(), why=why) if event.for_provider and not self._waiting:
                self._waiting = True
                return f"the provider is down ({why}); it is asked again and again; Ctrl-C parks the run"
            case WaitEnded(request_id=name) if name == PROVIDER and self._waiting:
                self._waiting = False
                return "the provider is up again"
            case _:
                self._waiting = self._waiting and run is not None and PROVIDER in run.waits
                return ""
