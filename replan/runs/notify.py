"""Telling the notify hook that a run waits for a person, by ids and titles only."""

import trio

from actors.planning.state import PlanningState, State
from actors.run.questions import ClarificationRequested
from replan.runs.prepare import title_of
from replan.views.result import Result
from runtime.host.hook import Hook


class Notifier:
    """Hears what a run asks while it is driven. The hook's calls run in `tasks`, so that nothing waits for them."""

    def __init__(self, hook: Hook, tasks: trio.Nursery) -> None:
        self._hook, self._tasks = hook, tasks
        self._ids: list[str] = []
        self._title = ""

    def take(self, event: object, state: PlanningState) -> None:
        """Take in an event, with the state after it."""
        if isinstance(event, ClarificationRequested) and isinstance(state, State):
            self._ids.append(event.question_id)
            self._title = title_of(state.specification)

    def tell(self, result: Result) -> None:
        """Call the hook if the run has asked something since the last call, and waits for an answer."""
        if result.question is None or not self._ids:
            return
        ids, self._ids = [f"{result.run_id}/{name}" for name in self._ids], []
        message = {"event": "waiting", "run_id": result.run_id, "title": self._title, "questions": ids}
        self._tasks.start_soon(self._hook.call, message)
