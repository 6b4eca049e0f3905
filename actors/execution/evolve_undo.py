"""Applies events to the effects of an execution and to their undoing. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from actors.execution.attempts import Answer
from actors.execution.events import EffectSettled, StepOutcome, StepSettled, UndoDecided
from actors.execution.ids import Owner, owner_of, undo_node
from actors.execution.state import Attempt, State
from actors.execution.undo import CallEffect, EffectEnd, Undoing, has_effect, to_undo, with_effect
from actors.execution.undo_rules import ENDS
from actors.plans.plan import NOTHING
from actors.run.evolve import drop_open_work
from actors.run.questions import ClarificationAnswered, ClarificationRequested
from actors.run.tools import ToolFinished, ToolOutcome, ToolRequested
from actors.tools.uses import ModelUse, canonical
from runtime.core.copies import changed, without

REST_SECONDS = 1.0
"""The back-off, in seconds, after the first interruption of an undo tool. Each further interruption doubles the
back-off.
"""
REST_MAX = 60.0


_WORDS: Mapping[ToolOutcome, str] = {
    ToolOutcome.SUCCEEDED: "succeeded",
    ToolOutcome.FAILED: "failed",
    ToolOutcome.TRANSIENT: "did not finish",
    ToolOutcome.PERMANENT: "cannot be called",
    ToolOutcome.BROKEN: "broke off",
    ToolOutcome.UNKNOWN: "may have done its work",
}


def record_call(state: State, attempt: Attempt, request: ToolRequested | None) -> Attempt:
    """Return an attempt after its phase was requested.

    If the phase is a call with effects, the attempt stores the number and the arguments of the call.
    """
    use = state.config.tools.generator_use(state.plan.by_id[attempt.step])
    if attempt.phase is None or not has_effect(use, attempt.phase):
        return attempt
    arguments = "{}" if request is None else request.arguments
    if isinstance(use, ModelUse):
        arguments = canonical({"file": use.file})
    return replace(attempt, call=state.calls + 1, arguments=arguments)


def record_reissue(state: State, request: ToolRequested) -> State:
    """Return the state after a call was made again. A repeatable call may have done its work the first time."""
    attempt = state.attempt_at(request.node)
    if attempt is None or not request.repeatable:
        return state
    return changed(state, active={**state.active, attempt.name: replace(attempt, doubtful=True)})


def with_effect_of(
    state: State, before: Attempt, after: Attempt, values: tuple[tuple[str, str], ...], *, may_have_run: bool
) -> State:
    """Return the state after a call of an attempt has ended.

    The result includes the call's effect, if the call has one.

    `before` is the attempt while the call was open. `after` is the attempt after the call has ended. `values` are the
    values from the call's output. If `may_have_run`, nobody knows whether the call did its work. The effect of a
    successful call replaces the uncertain effects of earlier calls in the same visit.
    """
    use = state.config.tools.generator_use(state.plan.by_id[before.step])
    if before.phase is None or not has_effect(use, before.phase) or not before.call:
        return state
    done = len(after.todo) < len(before.todo)
    effects = without(state.effects, (before.at_work,)) if before.at_work in state.effects else state.effects
    if not (done or may_have_run or before.doubtful):
        return state if effects is state.effects else changed(state, effects=effects)
    if done:
        visit = f"{before.name}/r{before.revision}.v{before.visit}."
        doubtful = [item.node for item in effects.values() if not item.certain and item.node.startswith(visit)]
        effects = without(effects, doubtful) if doubtful else effects
    effect = _effect_of(state, before, {**state.values, **dict(values)}, certain=done)
    return changed(state, effects=with_effect(effects, effect))


def withdraw_attempts(state: State, attempts: Iterable[Attempt]) -> State:
    """Return the state after attempts were dropped. Nobody knows what their open calls have done."""
    for attempt in attempts:
        use = state.config.tools.generator_use(state.plan.by_id[attempt.step])
        is_open = attempt.call and (attempt.open or attempt.unsure)
        if is_open and attempt.phase is not None and has_effect(use, attempt.phase):
            effect = _effect_of(state, attempt, state.values, certain=False)
            state = changed(state, effects=with_effect(state.effects, effect))
    return state


def _effect_of(state: State, attempt: Attempt, values: Mapping[str, str], *, certain: bool) -> CallEffect:
    step = state.plan.by_id[attempt.step]
    return CallEffect(
        node=attempt.at_work,
        number=attempt.call,
        step=attempt.step,
        undo=step.undo,
        attempts=step.retry_budget,
        arguments=attempt.arguments,
        values=values,
        certain=certain,
    )


def mark_calls_before_fork(state: State, *nodes: str) -> State:
    """Return the state with the calls at `nodes` marked as made before the fork."""
    marked = {node: replace(state.effects[node], before_fork=True) for node in nodes if node in state.effects}
    return changed(state, effects={**state.effects, **marked}) if marked else state


def settle_by_hand(state: State, event: StepSettled) -> State:
    """Return the state after a person has said that a step is done.

    If the step's call may have had an effect, the effect counts as uncertain.
    """
    step, name = state.plan.by_id[event.step], state.plan.names[event.step]
    visit = f"{name}/r{state.revision}.v{state.visits.get(name, 0)}."
    known = any(not item.certain and item.node.startswith(visit) for item in state.effects.values())
    if event.node or event.outcome is not StepOutcome.OK or step.undo == NOTHING or known:
        return state
    number = state.calls + 1
    effect = CallEffect(f"{visit}hand", number, event.step, step.undo, step.retry_budget, certain=False)
    return changed(state, calls=number, effects=with_effect(state.effects, effect))


def begin_undo(state: State, event: UndoDecided) -> State:
    """Return the state after a decision to undo everything. No other work begins, and open work stops.

    A call that is not repeatable continues to its end, and is then undone too. A run that has ended is reopened when
    a process next drives the run.
    """
    stopped = [attempt for attempt in state.active.values() if not _must_finish(state, attempt)]
    state = withdraw_attempts(state, stopped)
    nodes = {node for attempt in stopped for node in (attempt.at_work, attempt.node)} | set(state.replan_nodes)
    run = drop_open_work(state.run, nodes)
    run = changed(run, reopening=run.reopening or run.finished is not None)
    active = without(state.active, [attempt.name for attempt in stopped])
    # A cancel may have stopped an undoing after its last call. The result of that call counts.
    at_work = any(owner_of(tool.request.node) is Owner.UNDO for tool in run.tools.values())
    before = state.undoing or Undoing(event.why)
    undoing = replace(before, why=event.why, question="", tool_open=before.tool_open and at_work)
    return changed(state, run=run, active=active, trouble=None, replan=None, ending=None, undoing=undoing)


def _must_finish(state: State, attempt: Attempt) -> bool:
    use = state.config.tools.generator_use(state.plan.by_id[attempt.step])
    if attempt.phase is None or not has_effect(use, attempt.phase):
        return False
    open_tools = (tool.request for tool in state.run.tools.values())
    return any(request.node == attempt.at_work and not request.repeatable for request in open_tools)


def record_request(state: State, request: ToolRequested) -> State:
    """Return the state after a call of an undo tool was requested."""
    if state.undoing is None:
        return state
    again = state.undoing.tool_open  # It is an earlier driver's call, made again.
    tries = state.undoing.tries if again else state.undoing.tries + 1
    undoing = replace(state.undoing, tries=tries, tool_open=True, backoff_seconds=0.0)
    calls_by_node = {**state.undo_calls, request.node: request.try_number}
    return changed(state, undoing=undoing, undo_calls=calls_by_node)


def record_tool_end(state: State, event: ToolFinished, request: ToolRequested) -> State:
    """Return the state after a call of an undo tool has ended."""
    undoing, effect = state.undoing, to_undo(state.effects, state.ends)
    if undoing is None or effect is None or request.node != undo_node(effect.number):
        return state
    undoing = replace(undoing, tool_open=False)
    cause = f"the undo tool {_WORDS[event.outcome]}{f': {event.reason}' if event.reason else ''}"
    tries_left = undoing.tries < effect.attempts
    match event.outcome:
        case ToolOutcome.SUCCEEDED:
            undoing = replace(undoing, end=EffectEnd.UNDONE, end_question=event.question_id)
        case ToolOutcome.FAILED if tries_left:
            pass
        case ToolOutcome.TRANSIENT | ToolOutcome.BROKEN if (request.repeatable or event.not_made) and tries_left:
            undoing = replace(undoing, backoff_seconds=min(REST_MAX, REST_SECONDS * 2 ** (undoing.tries - 1)))
        case _:
            undoing = replace(undoing, asks=cause)
    return changed(state, undoing=undoing)


def record_question(state: State, event: ClarificationRequested) -> State:
    """Return the state after a question about the undoing of an effect was asked."""
    if state.undoing is None:
        return state
    return changed(state, undoing=replace(state.undoing, question=event.question_id))


def record_answer(state: State, event: Answer) -> State:
    """Return the state after a question about the undoing of an effect was closed."""
    undoing = state.undoing
    if undoing is None or undoing.question != event.question_id:
        return state
    answer = event.answer if isinstance(event, ClarificationAnswered) else ""
    end = ENDS.get(answer, None if answer else EffectEnd.LEFT)
    if end is None:  # The tool is to be called, with all its attempts.
        return changed(state, undoing=replace(Undoing(undoing.why), may_call=True, tries=0))
    return changed(state, undoing=replace(undoing, question="", asks="", end=end, end_question=event.question_id))


def end_backoff(state: State) -> State:
    """Return the state after the back-off before the next call of the undo tool has ended."""
    return state if state.undoing is None else changed(state, undoing=replace(state.undoing, backoff_seconds=0.0))


def settle_effect(state: State, event: EffectSettled) -> State:
    """Return the state after the undoing of an effect has ended. The run then undoes the next effect."""
    assert state.undoing is not None, "an effect is settled only while the run undoes everything"
    return changed(state, ends={**state.ends, event.node: event.end}, undoing=Undoing(state.undoing.why))
