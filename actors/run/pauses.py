"""Pauses: what waits do to the calls that have failed, before a further try or until the provider is up. Pure."""

from dataclasses import replace

from actors.run.calls import C, CallFailed, Calls, Tries
from actors.run.waits import PROVIDER, WaitRequested
from runtime.core.copies import changed


def waiting(calls: Calls[C], wait: WaitRequested, before: WaitRequested | None) -> Calls[C]:
    """Return the calls after a wait began: the next try of a call waits for its end.

    `before` is the wait in whose place it comes: that for a provider that is still down.
    """
    if wait.request_id == PROVIDER:
        tries = {call: _paused(each, wait, before) for call, each in calls.tries.items()}
        return changed(calls, tries=tries) if tries else calls
    if wait.node is None or wait.call not in calls.tries:
        return calls
    return changed(calls, tries={**calls.tries, wait.call: replace(calls.tries[wait.call], phase="waiting")})


def _paused(tries: Tries[C], wait: WaitRequested, before: WaitRequested | None) -> Tries[C]:
    if tries.phase != "failed":
        return tries
    since, failed = (tries.failed.at, 0) if before is None else (before.until, 1)
    return replace(tries, count=tries.count + failed, waited=tries.waited + max(0.0, wait.until - since))


def joined(calls: Calls[C], event: CallFailed, wait: WaitRequested) -> Calls[C]:
    """Return the calls after one failed while the provider is waited for: what is left of the wait is its pause too.

    Without it, each of several calls at once would have a patience of its own.
    """
    tries = calls.tries[event.call]
    tries = replace(tries, waited=tries.waited + max(0.0, wait.until - event.at))
    return changed(calls, tries={**calls.tries, event.call: tries})


def rested(calls: Calls[C], wait: WaitRequested) -> Calls[C]:
    """Return the calls after the wait ended: the next try may be asked for."""
    if wait.request_id == PROVIDER:
        return up(calls)
    if wait.node is None or wait.call not in calls.tries:
        return calls
    tries = calls.tries[wait.call]
    tries = replace(tries, phase="rested", waited=tries.waited + wait.until - tries.failed.at)
    return changed(calls, tries={**calls.tries, wait.call: tries})


def up(calls: Calls[C]) -> Calls[C]:
    """Return the calls once their provider is up again: every call that waits for it may be asked for."""
    tries = {
        call: replace(each, phase="rested") if each.phase == "failed" else each for call, each in calls.tries.items()
    }
    return changed(calls, tries=tries) if tries else calls


def begun_anew(calls: Calls[C], *, ask_first: bool) -> Calls[C]:
    """Return the calls after a person has resumed the run: with a new patience, and without pauses.

    With `ask_first` they wait for the provider, which is asked at once; else they may be asked for.
    """
    tries = {call: _anew(each, ask_first=ask_first) for call, each in calls.tries.items()}
    return changed(calls, tries=tries) if tries else calls


def _anew(tries: Tries[C], *, ask_first: bool) -> Tries[C]:
    if tries.phase not in ("failed", "waiting"):
        return replace(tries, count=0, waited=0.0, bad_replies=0)
    return replace(tries, count=0, waited=0.0, bad_replies=0, phase="failed" if ask_first else "rested")
