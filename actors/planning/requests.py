"""Requests for calls: rendered, bounded, and reserved at the most that they can cost. Pure."""

from typing import assert_never

from actors.planning.call_events import ClassificationRequested, GenerationRequested, PlanningCall
from actors.planning.classifier_prompt import rendered_failure
from actors.planning.config import RunConfig
from actors.planning.ids import classification_id
from actors.planning.prompt_context import rendered
from actors.planning.state import Branch, State
from actors.policy.cause import CLASSIFIER
from actors.prompting.render import Rendered
from actors.prompting.reply_schemas import schema_bytes
from actors.run.ids import step_of
from actors.run.outage import time_limit
from runtime.core.ledger import ZERO, Amount

FRAMING_TOKENS = 64
"""Reserved for what a server puts around the two messages and the schema: roles, separators, the schema's name."""


def next_try(state: State, request: PlanningCall) -> PlanningCall:
    """Return the request for the next try of a call, in whatever branch it belongs to."""
    branch = state.branch_of(request.node)
    match request:
        case GenerationRequested():
            return request_for(state, branch, request.node, request.try_number + 1)
        case ClassificationRequested():
            return classification_of(state, branch, request.node, request.rule, request.try_number + 1)
        case _:
            assert_never(request)


def request_for(state: State, branch: Branch, node: str, try_number: int) -> GenerationRequested:
    """Return the request for a try of an attempt, with the prompt, limits and reservation as they are now."""
    config, step = state.config, step_of(node)
    step_config, prompt, reserve = config.steps[step], rendered(state, branch, step), ZERO
    if step_config.child is not None:
        reserve = _share(state, config.graph.budgets[step].calls)
    elif not config.graph.budgets[step].deterministic:
        reserve = _reserve(config, prompt, step_config.role, step_config.output_tokens_max)
    return GenerationRequested(
        node=node,
        try_number=try_number,
        prompt_hash=prompt.ref,
        calls=reserve.calls,
        tokens_max=reserve.tokens,
        micro_usd_max=reserve.micro_usd,
        timeout_seconds=time_limit(state.run, node, step_config.timeout_seconds),
    )


def classification_of(state: State, branch: Branch, node: str, rule: str, try_number: int) -> ClassificationRequested:
    """Return the request for a try of a classification, likewise."""
    workflow, prompt = state.config.workflow, rendered_failure(state, branch, node)
    reserve = _reserve(state.config, prompt, CLASSIFIER, workflow.output_tokens_max)
    return ClassificationRequested(
        node=node,
        try_number=try_number,
        prompt_hash=prompt.ref,
        tokens_max=reserve.tokens,
        micro_usd_max=reserve.micro_usd,
        timeout_seconds=time_limit(state.run, classification_id(node), workflow.model_timeout_seconds),
        rule=rule,
    )


def _reserve(config: RunConfig, prompt: Rendered, role: str, output: int) -> Amount:
    """Return the most that a call can cost."""
    # A byte-level tokenizer makes at most one token of a byte, so the bytes that are sent bound the input.
    sent = prompt.byte_count + schema_bytes(role) + FRAMING_TOKENS
    price = 0 if config.price is None else config.price.micro_usd(sent, output)
    return Amount(calls=1, tokens=sent + output, micro_usd=price)


def prompt_bytes(config: RunConfig, request: GenerationRequested) -> int:
    """Return the bytes of the prompt of a step that calls the model itself, from what its request reserves."""
    step = config.steps[request.step]
    return request.tokens_max - step.output_tokens_max - schema_bytes(step.role) - FRAMING_TOKENS


def _share(state: State, calls_max: int) -> Amount:
    """Return what a run of its own may take: its calls, or those that are left, and that share of tokens and money.

    One call at least, so that a run without any left is short of calls.
    """
    limits, committed = state.run.ledger.limits, state.run.ledger.committed
    calls_left = limits.calls - committed.calls
    calls = max(1, min(calls_max, calls_left))
    tokens = 0 if limits.tokens is None else (limits.tokens - committed.tokens) * calls // max(1, calls_left)
    money = 0 if limits.micro_usd is None else (limits.micro_usd - committed.micro_usd) * calls // max(1, calls_left)
    return Amount(calls, max(1, tokens) if limits.tokens else 0, max(1, money) if limits.micro_usd else 0)
