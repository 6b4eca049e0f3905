"""Calling the notify hook when a run waits for a person, with ids and titles only."""

import trio

from actors.run.questions import ClarificationRequested
from actors.run.result import RunResult
from runtime.host.hook import Hook


class Notifier:
    """Collects the questions that a run asks while it is driven. The hook runs in `tasks`, so that nothing waits."""

    def __init__(self, hook: Hook, tasks: trio.Nursery, title: str) -> None:
        self._hook, self._tasks, self._title = hook, tasks, title
        self._ids: list[str] = []

    def take(self, event: object) -> None:
        """Note a question, if the event is one."""
        if isinstance(event, ClarificationRequested):
            self._ids.append(event.question_id)

    def tell(self, result: RunResult) -> None:
        """Call the hook if the run has asked something since the last call, and waits for an answer."""
        if result.question is None or not self._ids:
            return
        ids, self._ids = [f"{result.run_id}/{name}" for name in self._ids], []
        message = {"event": "waiting", "run_id": result.run_id, "title": self._title, "questions": ids}
        self._tasks.start_soon(self._hook.call, message)
