"""The rules and questions for undoing all calls of an execution, the last call first. Pure."""

from collections.abc import Mapping
from typing import Any

from actors.execution.events import EffectSettled, UndoDecided
from actors.execution.forbidden import is_forbidden
from actors.execution.ids import undo_node, undo_question_node
from actors.execution.requests import call_request
from actors.execution.state import State
from actors.execution.undo import CallEffect, EffectEnd, Undoing, can_undo, count_ends, effect_views, to_undo
from actors.run import rules
from actors.run.ending import UNDONE, RunFinished
from actors.run.ids import rest_id
from actors.run.inbox import MailRefused
from actors.run.questions import ClarificationRequested, new_id
from actors.run.tools import ToolRequested
from actors.run.waits import WaitRequested
from actors.tools.uses import PersonUse, use_text
from actors.values.format import shorten
from actors.values.question_form import AskedForm, make_form, one_line
from runtime.core.events import make_storable
from runtime.core.messages import Mailed

CALL = "undo it"
CALL_AGAIN = "try again"
BY_HAND = "it is undone"
LEAVE = "leave it"
NOT_DONE = "it was not done"

ENDS: Mapping[str, EffectEnd] = {
    BY_HAND: EffectEnd.BY_HAND,
    LEAVE: EffectEnd.LEFT,
    NOT_DONE: EffectEnd.NOT_DONE,
}
"""A mapping from a person's answers to the way in which the undoing of a call ends. After any other answer, the undo
tool is called."""
_DOES: Mapping[str, str] = {
    CALL: "The undo tool is called.",
    CALL_AGAIN: "The undo tool is called again, with all its attempts.",
    BY_HAND: "The call counts as undone by hand. Then the run undoes the call before this one.",
    LEAVE: "The call is not undone. Then the run undoes the call before this one.",
    NOT_DONE: "The call did nothing, so nothing is undone. Then the run undoes the call before this one.",
}
_TEXT_MAX = 2_000


def _undo_question(state: State, effect: CallEffect, asks: str, *, tried: bool) -> AskedForm:
    use = state.config.tools.undos.get(effect.undo)
    options = [BY_HAND, LEAVE]
    if (
        use is not None
        and not isinstance(use, PersonUse)
        and not is_forbidden(state.constraints.requirements, effect.undo)
    ):
        options.insert(0, CALL_AGAIN if tried else CALL)
    if not effect.certain:
        options.append(NOT_DONE)
    details = [f"The reason for this question: {asks}."]
    if isinstance(use, PersonUse):
        details.append(f"How to undo the call: {shorten(use.instructions, _TEXT_MAX)}")
    elif use is not None:
        details.append(f"The undo tool: {shorten(use_text(use, state.config.tools), _TEXT_MAX)}")
    details.append(f"The arguments of the call were {shorten(effect.arguments, _TEXT_MAX)}.")
    return make_form(
        f"How should the step '{one_line(effect.step, 200)}' (call {effect.number}) be undone?",
        about="The run undoes all its calls, the last call first. Earlier calls wait for the answer.",
        shown="\n".join(details),
        choices={option: _DOES[option] for option in options},
        otherwise="the call is not undone. Then the run undoes the call before this one.",
        priority="high",
    )


BY_PERSON = "a person has asked to undo everything"


def problem(state: State) -> str:
    """Return why the effects of an execution cannot be undone now, as a clause; empty if they can be undone."""
    if state.undoing is not None and (state.run.finished is None or state.run.reopening):
        return "the run is undoing everything already"
    if state.undoing is None and state.run.finished is None:
        return ""  # Something may be at work. If nothing must be undone in the end, the run just ends.
    if state.undoing is not None and to_undo(state.effects, state.ends) is None:
        return "everything that can be undone is undone already"
    if not can_undo(state.effects, state.ends):
        return "there is nothing to undo: no successful call has an undo tool"
    return ""


def accept_undo_message(state: State, body: Mapping[str, Any], message: Mailed) -> UndoDecided | MailRefused | None:
    """Return the event for a message that asks to undo everything; None for any other message."""
    if body.get("kind") != "undo":
        return None
    cause = problem(state)
    if cause:
        return MailRefused(at=message.at, mono=message.mono, key=make_storable(message.key), reason=cause)
    return UndoDecided(by="person", why=BY_PERSON, at=message.at)


def settle(state: State) -> EffectSettled | None:
    """Record how the undoing of the current effect ended. If it has not ended, return None."""
    undoing = state.undoing
    effect = to_undo(state.effects, state.ends)
    if undoing is None or undoing.end is None or effect is None:
        return None
    return EffectSettled(node=effect.node, step=effect.step, end=undoing.end, question_id=undoing.end_question)


def finish(state: State) -> RunFinished | None:
    """End the run if everything that can be undone is undone. If something remains, return None."""
    undoing = state.undoing
    is_at_work = bool(state.active or state.run.tools)
    if undoing is None or is_at_work or to_undo(state.effects, state.ends) is not None:
        return None
    came_to = count_ends(effect_views(state.effects, state.ends))
    return RunFinished(outcome=UNDONE, why=f"{undoing.why}; {came_to or 'nothing was done'}")


def rest(state: State) -> WaitRequested | None:
    """Wait before an interrupted undo tool is called again. If no wait is needed, return None."""
    undoing = state.undoing
    effect = to_undo(state.effects, state.ends)
    if undoing is None or effect is None or not undoing.backoff_seconds or state.run.parked:
        return None
    node = undo_node(effect.number)
    name = rest_id(f"{node}.{undoing.tries}")
    if name in state.run.waits:
        return None
    return WaitRequested(request_id=name, until=state.run.wall + undoing.backoff_seconds, why="back-off", node=node)


def request(state: State) -> ToolRequested | ClarificationRequested | None:
    """Call the undo tool of the last effect that is not undone, or ask a person. If neither is possible, return None.

    Open calls of the plan must end first. The limits of the run do not apply to undoing.
    """
    run = state.run
    undoing = state.undoing
    effect = to_undo(state.effects, state.ends)
    may_begin = not (run.parked or run.renewing or state.active or run.tools)
    if undoing is None or effect is None or not may_begin:
        return None
    if undoing.tool_open or undoing.end is not None or undoing.backoff_seconds or undoing.question:
        return None
    asks = undoing.asks or _reason_to_ask(state, effect, undoing)
    node = undo_node(effect.number)
    if asks:
        form = _undo_question(state, effect, asks, tried=bool(undoing.tries))
        return ClarificationRequested(
            **form.form,
            question_id=new_id(run.questions),
            node=undo_question_node(effect.number),
            why=f"{effect.step}: {asks}",
            blocks=(effect.step,),
            for_people=True,
        )
    use = state.config.tools.undos[effect.undo]
    assert not isinstance(use, PersonUse), "a person undoes this effect without a tool"
    arguments = state.config.tools.undo_arguments(effect.undo, effect.arguments_by_name, effect.values)
    assert arguments is not None, "a person is asked if an argument is unknown"
    return call_request(node, use, arguments=arguments, try_number=state.undo_calls.get(node, 0) + 1)


def _reason_to_ask(state: State, effect: CallEffect, undoing: Undoing) -> str:
    """Return why a person must be asked before the undo tool is called, as a clause; empty if there is no reason."""
    use = state.config.tools.undos.get(effect.undo)
    if use is None:
        return f"the tools file has no undo tool {effect.undo!r}" if effect.undo else "the step declares no undo"
    if isinstance(use, PersonUse):
        return "a person must undo the call"
    if is_forbidden(state.constraints.requirements, effect.undo):
        return f"a requirement forbids the tool {effect.undo!r}"
    if state.config.tools.undo_arguments(effect.undo, effect.arguments_by_name, effect.values) is None:
        return "an argument of the undo tool is unknown"
    if undoing.may_call:
        return ""
    if effect.before_fork:
        return "the original run of this fork made the call, and may still need the effect"
    if not effect.certain:
        return "nobody knows whether the call has done its work"
    return "a person must approve each call" if state.config.approval == "each" else ""


def keep_deadline(state: State) -> Any:
    """Apply the deadline of the run, but not while everything is being undone."""
    return None if state.undoing is not None else rules.keep_deadline(state.run)
