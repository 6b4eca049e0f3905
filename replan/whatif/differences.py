"""What comes of folding a recorded run again: the first decision that differs, then and now, and why. Pure values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from actors.planning.events import Decided, JudgementRequested, PlanningCall
from actors.run.calls import CallReissued, CallRequested
from actors.run.ending import RunFinished
from actors.run.questions import ClarificationRequested

NOTHING = "nothing more"
"""What a machine decides that waits for the world."""
_EXPLAINS: Mapping[type, frozenset[str]] = {
    Decided: frozenset({"rule", "code", "wanted", "classified", "weighing"}),
    CallRequested: frozenset({"calls", "tokens_max", "micro_usd_max", "timeout_seconds"}),
    JudgementRequested: frozenset({"guard"}),
    RunFinished: frozenset({"why", "cause", "at", "mono"}),
    ClarificationRequested: frozenset({"why"}),
}
"""The fields of a decision that say why, or what it may cost: another rule may come to the same decision."""


class FoldOutcome(StrEnum):
    """What comes of one run."""

    SAME = "same"  # every decision is as recorded
    DIFFERS = "differs"  # a decision differs
    NEEDS_REPLY = "needs_reply"  # a model would be asked something that nobody has recorded a reply to
    FAILED = "failed"  # a guard or the program has raised, or did not end in time
    UNREADABLE = "unreadable"  # damaged, unknown, or of a kind or format that the program does not know
    NOT_AFFECTED = "not_affected"  # the edit is of something that the run does not use


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What comes of one run."""

    run: str
    """Its id."""
    outcome: FoldOutcome
    """How it compares."""
    status: str = ""
    """The status of its row, such as `waiting`."""
    seq: int | None = None
    """The number of the first record that would be another; None where none would."""
    reason: str = ""
    """The reason in a few words, the same for all runs with the same cause."""
    then: str = ""
    """The recorded decision, in one line."""
    now: str = ""
    """What is decided instead, in one line."""
    odds: float | None = None
    """The estimated chance that the next attempt at the plan is accepted, by the belief; None without one."""
    request: str = ""
    """The id of the first call that has no recorded reply; empty for none."""
    without_edit: bool = False
    """Whether the program already decides otherwise than it did, without the edit."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data; what is empty is left out."""
        fields: dict[str, Any] = {"run_id": self.run, "outcome": self.outcome.value, "status": self.status}
        fields |= {"seq": self.seq, "reason": self.reason, "then": self.then, "now": self.now, "request": self.request}
        shown = {name: value for name, value in fields.items() if value not in ("", None)}
        if self.odds is not None:
            shown["odds_estimate"] = self.odds
        return {**shown, "without_edit": True} if self.without_edit else shown

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "RunComparison":
        """Return the value that `to_json` has made plain."""
        own = {name: value for name, value in fields.items() if name not in ("run_id", "outcome", "odds_estimate")}
        outcome = FoldOutcome(fields["outcome"])
        return cls(run=fields["run_id"], outcome=outcome, odds=fields.get("odds_estimate"), **own)


def agrees(then: Any, now: Any, *, in_every_field: bool) -> bool:
    """Tell whether two decisions are the same: `in_every_field`, or in what they do."""
    if type(then) is not type(now):
        return False
    if then == now:
        return True
    if in_every_field:
        return False
    if isinstance(then, CallReissued):
        return then.replaces == now.replaces and agrees(then.again, now.again, in_every_field=False)
    ignored = next((fields for base, fields in _EXPLAINS.items() if isinstance(then, base)), frozenset())
    names = type(then).model_fields.keys() - ignored
    return bool(ignored) and all(getattr(then, name) == getattr(now, name) for name in names)


def reason_of(then: Any, now: Any) -> str:
    """Return the cause of a difference in a few words that many runs may share; None means no decision."""
    match then, now:
        case None, _:
            return f"decides more: {_sort(now)}"
        case _, None:
            return f"decides less: no {_sort(then)}"
        case Decided(), Decided() if then.level != now.level:
            return f"the policy decides otherwise: {now.level} in place of {then.level}"
        case Decided(), Decided() if then.targets != now.targets:
            return f"the policy goes back to {_steps(now.targets)} in place of {_steps(then.targets)}"
        case CallRequested(), CallRequested() if then.request_id == now.request_id:
            if then.prompt_hash != now.prompt_hash:
                return f"the prompt of {_call_text(now)} differs"
            return f"the limits of {_call_text(now)} differ"
        case CallRequested(), CallRequested():
            return f"asks {_call_text(now)} in place of {_call_text(then)}"
        case RunFinished(), RunFinished() if then.outcome != now.outcome:
            return f"ends with {now.outcome} in place of {then.outcome}"
        case ClarificationRequested(), ClarificationRequested():
            return "asks another question"
        case _:
            pass
    if type(then) is type(now):
        names = [name for name in type(then).model_fields if getattr(then, name) != getattr(now, name)]
        return f"another {_sort(then)}: {', '.join(names)}"
    return f"{_sort(now)} in place of {_sort(then)}"


def call_in(event: Any) -> CallRequested | None:
    """Return the call that an event asks for; None for any other event."""
    if isinstance(event, CallReissued):
        return event.again
    return event if isinstance(event, CallRequested) else None


def _sort(event: Any) -> str:
    match event:
        case RunFinished():
            return f"end with {event.outcome}"
        case ClarificationRequested():
            return "question"
        case CallRequested():
            return f"call of {_call_text(event)}"
        case _:
            return str(event.kind).replace("_", " ")


def _call_text(call: PlanningCall | CallRequested) -> str:
    return f"{call.step} ({str(call.kind).replace('_requested', '').replace('_', ' ')})"


def _steps(targets: tuple[str, ...]) -> str:
    return " and ".join(targets) or "nothing"


@dataclass(frozen=True)
class EditedRules:
    """What is edited, as the fold of a run uses it; without an edit, only the program is compared."""

    first: Callable[[Any], Any] = lambda event: event
    """Returns a run's first event with the edit."""
    verdict: Callable[[Any, Any, Any, Any], Any] = lambda _, __, ___, ____: None
    """Returns the message of the new verdict of a guard that is edited; None for any other.

    From the machine, the state, the recorded event and the run's first one. Raises what the guard raises.
    """
    affects: Callable[[Any], str] = lambda _: ""
    """Returns why a run, by its first event, is not affected; empty where it is."""
    in_every_field: bool = True
    """Whether decisions are compared in every field, or only in what they do."""
    is_none: bool = True
    """Whether nothing is edited."""
    daily_budget: bool = False
    """Whether the home has a daily budget, which may have held a call back until later."""


def mark_program(finding: RunComparison, *, without_edit: bool) -> RunComparison:
    """Return a finding that says whether the program differs without the edit, too."""
    reason = "this program decides otherwise than the recorded one, without the edit, too"
    return replace(finding, without_edit=True, reason=reason) if without_edit else finding
