"""Requests for calls of an execution, reserved at the most that they can cost. Pure."""

from typing import TypeVar, assert_never

from actors.execution.events import ExecutionCall, FileRequested, ReplanRequested
from actors.execution.ids import replan_node
from actors.execution.prompt import rendered_file
from actors.execution.state import Attempt, Replan, State
from actors.planning.config import RunConfig
from actors.run.calls import CallRequested, child_share
from actors.run.machine import CallPrompt, try_fields
from runtime.core.ledger import Limit

R = TypeVar("R", bound=CallRequested)


def file_request(state: State, attempt: Attempt) -> FileRequested | Limit | None:
    """Return the request for a file that a model writes, or the limit that does not allow it.

    None while nothing may be asked of models.
    """
    return None if state.run.saving else _affordable(state, _file_try(state, attempt, 1))


def replan_request(state: State, replan: Replan) -> ReplanRequested | Limit | None:
    """Return the request for a planning run, or the limit that does not allow it.

    It reserves the calls that the run may take, or those that are left, and that share of tokens and money. None while
    nothing may be asked of models.
    """
    planning = state.config.planning
    if state.run.saving or planning is None:
        return None
    return _affordable(state, _replan_try(state, replan, planning, 1))


def next_try(state: State, request: ExecutionCall) -> ExecutionCall | None:
    """Return the request for the next try of a call; None where its attempt or replan is gone."""
    number, planning = request.try_number + 1, state.config.planning
    match request:
        case FileRequested():
            attempt = state.attempt_at(request.node)
            return None if attempt is None else _file_try(state, attempt, number)
        case ReplanRequested():
            replan = state.replan
            if planning is None or replan is None or replan.node != request.node:
                return None
            return _replan_try(state, replan, planning, number)
        case _:
            assert_never(request)


def file_prompt(state: State, attempt: Attempt) -> CallPrompt:
    """Return what a model is sent that is to write a file."""
    config = state.config
    return CallPrompt(attempt.step, rendered_file(state, attempt), config.output_tokens_max, config.timeout_seconds)


def _file_try(state: State, attempt: Attempt, try_number: int) -> FileRequested:
    return FileRequested(**try_fields(state, file_prompt(state, attempt), attempt.at_work, try_number))


def _replan_try(state: State, replan: Replan, planning: RunConfig, try_number: int) -> ReplanRequested:
    share = child_share(state.run.ledger, planning.most_calls)
    return ReplanRequested(
        node=replan.node or replan_node(state.revision, replan.number),
        try_number=try_number,
        prompt_hash="",
        calls=share.calls,
        tokens_max=share.tokens,
        micro_usd_max=share.micro_usd,
        level=replan.level,
    )


def _affordable(state: State, request: R) -> R | Limit:
    return state.run.ledger.shortfall(request.reserve, state.run.now) or request
