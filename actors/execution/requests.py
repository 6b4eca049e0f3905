"""Requests for model calls and planning runs, with their prompts. Each request reserves its highest cost. Pure."""

from collections.abc import Sequence
from typing import Any, TypeVar, assert_never

from actors.execution.events import ExecutionCall, FileRequested, ReplanRequested
from actors.execution.ids import replan_node
from actors.execution.state import Attempt, Replan, State
from actors.planning.config import RunConfig
from actors.prompting.render import render
from actors.run.calls import CallRequested, child_share, reserve_fields
from actors.run.machine import CallPrompt, try_fields
from actors.run.tools import ToolRequested
from actors.tools.snapshot_texts import read_file_output
from actors.tools.uses import ModelUse, ToolUse
from actors.values.artifacts import Context
from actors.values.given import Attachment
from runtime.core.ledger import Limit

_MISSING = "(this file does not exist yet)"


def _file_context(state: State, attempt: Attempt) -> Context:
    use = state.config.tools.generator_use(state.plan.by_id[attempt.step])
    assert isinstance(use, ModelUse), "only a model writes a file"
    files = read_file_output(attempt.read) if attempt.read else {}
    shown = tuple(Attachment(name=path, text=_MISSING if text is None else text) for path, text in files.items())
    return step_context(state, attempt, (f"File: {use.file}", use.instructions), shown)


def step_context(
    state: State, attempt: Attempt, task: Sequence[str], attachments: tuple[Attachment, ...] = ()
) -> Context:
    """Return the context of a prompt about a step: task, step, problem, and the reasons for earlier rejections."""
    step, run = state.plan.by_id[attempt.step], state.run
    parts = [*task, f"Step of the plan: {step.name or step.step_id}"]
    if step.description and step.description != step.name:
        parts.append(step.description)
    if state.config.problem:
        parts.append(f"The problem that the plan solves:\n\n{state.config.problem}")
    return Context(
        specification="\n\n".join(parts),
        requirements=run.texts_of("requirement"),
        notes=run.texts_of("note"),
        retry=state.feedback.get(attempt.name, ()),
        attachments=attachments,
    )


def call_request(node: str, use: ToolUse, **fields: Any) -> ToolRequested:
    """Return the request for a call of a tool.

    `fields` are further fields of the request. These fields may replace the arguments of `use`.
    """
    return ToolRequested(
        **{"arguments": use.arguments, **fields},
        node=node,
        tool=use.tool,
        repeatable=use.repeatable,
        timeout_seconds=use.timeout_seconds,
    )


R = TypeVar("R", bound=CallRequested)


def file_request(state: State, attempt: Attempt) -> FileRequested | Limit | None:
    """Return the request for a file that a model writes, or the limit that forbids the request.

    Return None as long as the run must not call a model.
    """
    return None if state.run.saving else _check_budget(state, _file_try(state, attempt, 1))


def replan_request(state: State, replan: Replan) -> ReplanRequested | Limit | None:
    """Return the request for a planning run, or the limit that forbids the request.

    The request reserves as many calls as a planning run may make, but at most all remaining calls. The request reserves
    the same share of the remaining tokens and money. Return None as long as the run must not call a model.
    """
    planning = state.config.planning
    if state.run.saving or planning is None:
        return None
    return _check_budget(state, _replan_try(state, replan, planning, 1))


def next_try(state: State, request: ExecutionCall) -> ExecutionCall | None:
    """Return the request for the next try of a call; None if its attempt or replan no longer exists."""
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
    """Return the prompt of a model that writes a file, with the limits and settings of the call."""
    config = state.config
    return CallPrompt(
        attempt.step,
        render(config.writer, _file_context(state, attempt)),
        config.output_tokens_max,
        config.timeout_seconds,
        settings=config.model_settings,
    )


def _file_try(state: State, attempt: Attempt, try_number: int) -> FileRequested:
    return FileRequested(**try_fields(state, file_prompt(state, attempt), attempt.at_work, try_number))


def _replan_try(state: State, replan: Replan, planning: RunConfig, try_number: int) -> ReplanRequested:
    return ReplanRequested(
        node=replan.node or replan_node(state.revision, replan.number),
        try_number=try_number,
        prompt_hash="",
        **reserve_fields(child_share(state.run.ledger, planning.most_calls)),
        level=replan.level,
    )


def _check_budget(state: State, request: R) -> R | Limit:
    return state.run.ledger.shortfall(request.reserve, state.run.now) or request
