"""Requests for calls of an execution: rendered, bounded, and reserved at the most that they can cost. Pure."""

from typing import assert_never

from actors.execution.events import ExecutionCall, FileRequested, ReplanRequested
from actors.execution.ids import replan_node
from actors.execution.prompt import rendered_file
from actors.execution.state import Attempt, Replan, State
from actors.run.outage import time_limit
from runtime.core.ledger import Amount, Limit

FRAMING_TOKENS = 64
"""Reserved for what a server puts around the two messages: roles and separators."""


def file_request(state: State, attempt: Attempt, try_number: int = 1) -> FileRequested | Limit | None:
    """Return the request for a file that a model writes, or the limit that does not allow it.

    None while nothing may be asked of models.
    """
    if state.run.saving:
        return None
    request = _file_request(state, attempt, try_number)
    return state.run.ledger.shortfall(request.reserve, state.run.now) or request


def _file_request(state: State, attempt: Attempt, try_number: int) -> FileRequested:
    config, prompt = state.config, rendered_file(state, attempt)
    # A byte-level tokenizer makes at most one token of a byte, so the bytes that are sent bound the input.
    sent, output = prompt.byte_count + FRAMING_TOKENS, config.output_tokens_max
    return FileRequested(
        node=attempt.at_work,
        try_number=try_number,
        prompt_hash=prompt.ref,
        tokens_max=sent + output,
        micro_usd_max=0 if config.price is None else config.price.micro_usd(sent, output),
        timeout_seconds=time_limit(state.run, attempt.at_work, config.timeout_seconds),
    )


def replan_request(state: State, replan: Replan, try_number: int = 1) -> ReplanRequested | Limit | None:
    """Return the request for a planning run, or the limit that does not allow it.

    It reserves the calls that the run may take, or those that are left, and that share of tokens and money; one call at
    least, so that an execution without any left is short of calls. None while nothing may be asked of models.
    """
    planning = state.config.planning
    if state.run.saving or planning is None:
        return None
    ledger = state.run.ledger
    limits, committed, left = ledger.limits, ledger.committed, ledger.calls_left
    calls = max(1, min(planning.most_calls, left))
    tokens = 0 if limits.tokens is None else max(1, (limits.tokens - committed.tokens) * calls // max(1, left))
    money = 0 if limits.micro_usd is None else max(1, (limits.micro_usd - committed.micro_usd) * calls // max(1, left))
    short = ledger.shortfall(Amount(calls, tokens, money), state.run.now)
    return short or ReplanRequested(
        node=replan.node or replan_node(state.revision, replan.number),
        try_number=try_number,
        prompt_hash="",
        calls=calls,
        tokens_max=tokens,
        micro_usd_max=money,
        level=replan.level,
    )


def next_try(state: State, request: ExecutionCall) -> ExecutionCall | Limit | None:
    """Return the request for the next try of a call, or the limit that does not allow it; None for none."""
    number = request.try_number + 1
    match request:
        case FileRequested():
            attempt = state.attempt_at(request.node)
            return None if attempt is None else file_request(state, attempt, number)
        case ReplanRequested():
            replan = state.replan
            return None if replan is None or replan.node != request.node else replan_request(state, replan, number)
        case _:
            assert_never(request)
