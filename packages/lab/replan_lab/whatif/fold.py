"""Replays a recorded run under other rules, and compares each decision with the recorded decision. Pure.

A record is a fact from outside or a decision of the run's machine. The records that were written at once are an append,
which begins with its facts. A replay passes each recorded fact to the machine, and lets the machine make its decisions.
The first different decision ends the comparison, because no answers to this decision are recorded.
"""

from collections.abc import Sequence
from typing import Any

from actors.planning.state import State as PlanningState
from actors.run.calls import Replied
from actors.run.fork_event import Forked
from actors.run.kind import Kind
from actors.run.near_limit import LimitNear
from actors.run.parking import RunResumed
from actors.search.progress import Phase
from replan_lab.whatif.differences import (
    NOTHING,
    EditedRules,
    FoldOutcome,
    RunComparison,
    agrees,
    call_in,
    mark_program,
    reason_of,
)
from replan_lab.whatif.recorded_messages import (
    is_pause,
    may_come_from_outside,
    may_follow_a_fact,
    message_of,
    verdict_message,
)
from replan_lab.whatif.recorded_run import PlacedEvent, RecordedRun
from runtime.core.errors import MachineRunsAway
from runtime.core.machine import Refused, settle

TEXT_MAX = 300


def compare_run(run: RecordedRun, kind: Kind[Any, Any], edit: EditedRules) -> RunComparison:
    """Compare the recorded decisions of a run with the decisions under an edit.

    If a decision differs, the run is also replayed without the edit. If a decision then differs at the same record or
    before it, the edit is not the cause.
    """
    if not run.events:
        return RunComparison(run.run, FoldOutcome.UNREADABLE, run.status, reason="the run has no records")
    unaffected = edit.affects(run.events[0].event)
    if unaffected:
        return RunComparison(run.run, FoldOutcome.NOT_AFFECTED, run.status, reason=unaffected)
    finding = Fold(run, kind, edit).find_difference()
    if edit.is_none or finding.seq is None:
        return finding
    before = Fold(run, kind, EditedRules()).find_difference()
    return mark_program(finding, without_edit=before.seq is not None and before.seq <= finding.seq)


class Fold:
    """One replay of the records of a run."""

    def __init__(self, run: RecordedRun, kind: Kind[Any, Any], edit: EditedRules) -> None:
        self._run, self._kind, self._edit = run, kind, edit
        self._machine: Any = kind.machine
        self._state: Any = self._machine.initial()
        self._seq = 0
        self._verdict = ""
        self._reserved = {
            call.request_id: call.reserve for placed in run.events if (call := call_in(placed.event)) is not None
        }

    def find_difference(self) -> RunComparison:
        """Return the first difference.

        The outcome is `SAME` if there is none, and `FAILED` if the program or a guard raises an exception.
        """
        try:
            return self._fold()
        except Exception as error:  # noqa: BLE001 -- the program under test, or a guard, is a user's edit
            text = f"{type(error).__name__}: {error}".splitlines()[0][:TEXT_MAX]
            return RunComparison(self._run.run, FoldOutcome.FAILED, self._run.status, self._seq, f"raises {text}")

    def _fold(self) -> RunComparison:
        events, leading, begins = self._run.events, True, True
        shared = self._shared_count()
        for position, placed in enumerate(events):
            self._seq = placed.seq
            if position < shared:
                first = self._edit.first(placed.event) if position == 0 else placed.event
                self._state = self._machine.evolve(self._state, first)
                continue
            if begins and position > shared and not self._only_started(position):
                more = self._decision()
                if more is not None and not self._is_held_back(more, position):
                    return self._difference(None, more)
            if isinstance(placed.event, LimitNear):
                begins = placed.ends
                continue
            leading = leading or begins
            if not (begins and may_come_from_outside(placed)):
                now = self._decision()
                if now is not None and agrees(placed.event, now, in_every_field=self._edit.in_every_field):
                    self._state, leading = self._machine.evolve(self._state, now), False
                    begins = placed.ends
                    continue
                paused = is_pause(placed.event) and now is not None and call_in(now) is not None
                if not (paused or (leading and may_follow_a_fact(placed))):
                    return self._difference(placed.event, now)
            difference = self._pass_fact(placed)
            if difference is not None:
                return difference
            begins = placed.ends
        return self._at_end()

    def _shared_count(self) -> int:
        """Return how many records a fork has copied from another run; 0 if this run is not a fork.

        These records are not compared, because the other run has them too.
        """
        places = [place for place, each in enumerate(self._run.events, 1) if isinstance(each.event, Forked)]
        return places[-1] if places else 0

    def _decision(self) -> Any:
        """Return the machine's next decision, or None.

        Warnings about limits are skipped, because no decision depends on them.
        """
        while isinstance(now := self._machine.advance(self._state), LimitNear):
            self._state = self._machine.evolve(self._state, now)
        return now

    def _pass_fact(self, placed: PlacedEvent) -> RunComparison | None:
        """Pass a recorded fact to the machine.

        Return the difference if the machine does not turn the fact into the recorded event; otherwise None.
        """
        event, again = placed.event, None
        if placed.seq == 1:
            event = message = self._edit.first(event)
        else:
            if verdict_message(self._state, event) is not None:
                again = self._edit.verdict(self._machine, self._state, event, self._run.events[0].event)
            message = again or message_of(self._machine, self._state, placed, self._run.mail, self._reserved)
        if message is None:
            self._state = self._machine.evolve(self._state, event)
            return None
        accepted = self._machine.accept(self._state, message)
        if accepted is None or isinstance(accepted, Refused):
            return self._difference(event, None)
        if again is not None:
            self._note_verdict(event, accepted)
        elif accepted != event:
            return self._difference(event, accepted)
        self._state = self._machine.evolve(self._state, accepted)
        return None

    def _note_verdict(self, then: Any, now: Any) -> None:
        """Remember how the edited guard's verdict differs from the recorded verdict.

        This explains a later difference.
        """
        if (then.verdict.passed, then.verdict.findings) != (now.verdict.passed, now.verdict.findings):
            match then.verdict.passed, now.verdict.passed:
                case True, False:
                    self._verdict = "the guard now rejects an artifact that it accepted"
                case False, True:
                    self._verdict = "the guard now accepts an artifact that it rejected"
                case _:
                    self._verdict = "the guard now has other findings"

    def _only_started(self, position: int) -> bool:
        """Return whether a driver took the run over when only its start was recorded.

        Such a run makes its first decision after the takeover.
        """
        return position == 1 and isinstance(self._run.events[1].event, RunResumed)

    def _is_held_back(self, more: Any, position: int) -> bool:
        """Return whether the decision `more` was made in a later append when the run was recorded.

        The daily budget may have postponed a call, so that a later record requests it.
        """
        call = call_in(more)
        return (
            self._edit.daily_budget
            and call is not None
            and any(
                (later := call_in(each.event)) is not None and later.request_id == call.request_id
                for each in self._run.events[position:]
            )
        )

    def _at_end(self) -> RunComparison:
        self._seq += 1
        more = self._decision() if len(self._run.events) > max(1, self._shared_count()) else None
        if more is None:
            return RunComparison(self._run.run, FoldOutcome.SAME, self._run.status)
        return self._difference(None, more)

    def _difference(self, recorded: Any, decided: Any) -> RunComparison:
        """Return the difference at the current record.

        `recorded` is the recorded event and `decided` the new decision; None if there is none.
        """
        state, following = self._settle_decision(decided)
        calls = [call for event in following if (call := call_in(event)) is not None]
        open_call = next((call for call in calls if not self._has_reply(call)), None)
        call = call_in(decided)
        # The edited run only sends a prompt without a recorded reply.
        only_asks = call is not None and open_call is call and not isinstance(recorded, Replied)
        before_call = self._state if decided is None or isinstance(recorded, Replied) else state
        return RunComparison(
            run=self._run.run,
            outcome=FoldOutcome.NEEDS_REPLY if only_asks else FoldOutcome.DIFFERS,
            status=self._run.status,
            seq=self._seq,
            reason=self._verdict or reason_of(recorded, decided),
            then=NOTHING if recorded is None else self._text(recorded, self._state_after(recorded)),
            now=NOTHING if decided is None else self._text(decided, state),
            odds=None if open_call is None else odds_of(before_call),
            request="" if open_call is None else open_call.request_id,
        )

    def _settle_decision(self, now: Any) -> tuple[Any, Sequence[Any]]:
        """Return the state after a decision and all decisions that follow from it, and these decisions."""
        if now is None:
            return self._state, ()
        try:
            return settle(self._machine, self._state, now)
        except MachineRunsAway:
            return self._machine.evolve(self._state, now), (now,)

    def _has_reply(self, call: Any) -> bool:
        """Return whether the run has a recorded reply to the same prompt for the same attempt."""
        request_ids = {
            same.request_id for placed in self._run.events if (same := _same_call(placed.event, call)) is not None
        }
        return any(
            isinstance(placed.event, Replied) and placed.event.request_id in request_ids for placed in self._run.events
        )

    def _state_after(self, event: Any) -> Any:
        """Return the state after the recorded event. The text of the event is made from this state.

        If the event does not fit the state, return the state before the event.
        """
        try:
            return self._machine.evolve(self._state, event)
        except Exception:  # noqa: BLE001 -- an event of other rules: only its text is wanted
            return self._state

    def _text(self, event: Any, state: Any) -> str:
        try:
            return self._kind.views.record_text(event, state)[:TEXT_MAX]
        except Exception:  # noqa: BLE001 -- as above
            return str(event.kind).replace("_", " ")


def _same_call(event: Any, call: Any) -> Any:
    recorded = call_in(event)
    if recorded is None or (recorded.node, recorded.prompt_hash) != (call.node, call.prompt_hash):
        return None
    return recorded


def odds_of(state: Any) -> float | None:
    """Return the probability that the next attempt at the plan is accepted; None if the policy has no belief.

    The policy's belief estimates it from the rejections so far in the branch that is searched.
    """
    if not isinstance(state, PlanningState) or state.config.belief is None:
        return None
    model, branch = state.config.belief, state.branches[-1]
    leaves = [step for step in model.graph.leaves if branch.progress[step].phase is not Phase.ACCEPTED]
    if not leaves:
        return None
    return round(model.chance(model.odds(model.after(tuple(branch.history))), (), leaves[0]), 3)
