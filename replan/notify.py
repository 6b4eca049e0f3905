"""What the notify hook is told: that a run waits for a person, by ids and titles only."""

from dataclasses import dataclass, field
from typing import Any

from actors.machine.events import ClarificationRequested


@dataclass
class Asked:
    """The questions that were asked while a run was driven."""

    ids: list[str] = field(default_factory=list)

    def take(self, event: object) -> None:
        """Take in an event."""
        if isinstance(event, ClarificationRequested):
            self.ids.append(event.question_id)

    def message(self, run: str, title: str) -> dict[str, Any]:
        """Return the message, and begin anew."""
        ids, self.ids = self.ids, []
        return {"event": "waiting", "run_id": run, "title": title, "questions": [f"{run}/{name}" for name in ids]}
