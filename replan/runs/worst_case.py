"""Computes the worst case of a planning run before its start: the largest number of calls and the highest cost. Pure.

Both numbers follow from the limits, the workflow and the model's price. Every part of a prompt is counted with its
maximum size.
"""

from collections.abc import Iterable
from typing import Any

from actors.config.workflow import find_prompt_entry
from actors.planning.config import RunConfig
from actors.planning.prepare import RunRequest
from actors.policy.table import CLASSIFIER
from actors.prompting.book import schema_bytes
from actors.prompting.render import (
    ANSWER_BYTES_MAX,
    DEPENDENCY_BYTES_MAX,
    FEEDBACK_BYTES_MAX,
    SPECIFICATION_BYTES_MAX,
)
from actors.run.calls import FRAMING_TOKENS
from actors.search.graph import happy_calls, worst_case_calls
from actors.search.progress import Search
from actors.values.format import format_count, money
from runtime.core.ledger import MICRO

ATTACHMENT_FRAME_BYTES = 400
"""The largest size, in bytes, of the headings and delimiters around one attachment in a prompt."""
HEADING_FIELD_BYTES = 200
"""The size, in bytes, that the worst case assumes for a value in a prompt's heading, such as a number or an attempt's
id."""


def cost_of_run(request: RunRequest, problem_bytes: int | None = None) -> dict[str, Any]:
    """Return the worst case of a run, in the form of `cost_of`. The money is at most the run's limit.

    `problem_bytes` replaces the length of the problem's text.
    """
    size = len(request.problem.encode(errors="replace")) if problem_bytes is None else problem_bytes
    cost = cost_of(request.pinned, size, _attached_bytes(request))
    if request.limits.micro_usd is not None and cost["cost_usd_max"] is not None:
        cost["cost_usd_max"] = min(cost["cost_usd_max"], request.limits.micro_usd / MICRO)
    return cost


def cost_of(pinned: RunConfig, problem_bytes: int = SPECIFICATION_BYTES_MAX, attached: int = 0) -> dict[str, Any]:
    """Return the fewest and the most calls of a run with this configuration, and its highest cost, as a JSON object."""
    workflow = pinned.workflow
    worst = _worst_calls(pinned)
    calls = min(worst, workflow.max_total_calls)
    largest = _largest_call_usd(pinned, problem_bytes, attached)
    own = {step: pin.model for step, pin in pinned.step_models.items()}
    return {
        "workflow": workflow.name,
        "workflow_ref": pinned.workflow_ref,
        "search": str(workflow.search),
        "model": pinned.model,
        "branches_max": pinned.strategy.branches_max,
        "steps": list(workflow.graph.order),
        "calls_happy": happy_calls(pinned.graph),
        "calls_worst": worst,
        "calls_limit": workflow.max_total_calls,
        "calls_max": calls,
        "cost_usd_max": round(largest * calls, 6) if pinned.price_known else None,
    } | ({"step_models": own} if own else {})


def cost_texts(cost: dict[str, Any]) -> dict[str, str]:
    """Return texts about the cost of a run: `best` and `worst` are about calls, and `money` is about dollars."""
    worst = f"{format_count(cost['calls_worst'], 'call')} between two changes of the requirements"
    if cost["calls_worst"] > cost["calls_limit"]:
        worst = f"{format_count(cost['calls_limit'], 'call')}, the limit; without it {worst}"
    usd = cost["cost_usd_max"]
    return {
        "best": f"{format_count(cost['calls_happy'], 'call')}, if every first attempt is accepted",
        "worst": worst,
        "money": "unknown: the price of this model is not known" if usd is None else f"at most {money(usd)}",
    }


def _attached_bytes(request: RunRequest) -> int:
    return sum(len(each.shown.encode(errors="replace")) + ATTACHMENT_FRAME_BYTES for each in request.attachments)


def _worst_calls(pinned: RunConfig) -> int:
    """Return the largest number of calls in one round without limits.

    If the search has several branches, the number is an upper bound.

    A linear search makes no second visit. Only a depth-first search makes calls that classify rejections.
    """
    classified = pinned.workflow.classifications_max if pinned.search is Search.DEPTH_FIRST else 0
    if pinned.strategy.compares or pinned.search is Search.LINEAR:
        return pinned.strategy.calls_worst + classified
    return worst_case_calls(pinned.graph, classified)


def _largest_call_usd(pinned: RunConfig, problem_bytes: int, attached: int = 0) -> float:
    """Return the most that one call of the run or of a child run can cost, in dollars.

    The problem of a child run is not known yet. It is counted with the maximum size, `SPECIFICATION_BYTES_MAX`.
    """
    own = (_call_usd(pinned, purpose, problem_bytes, attached) for purpose in _purposes(pinned))
    below = (_largest_call_usd(child, SPECIFICATION_BYTES_MAX) for child in pinned.children.values())
    return max((*own, *below))


def _purposes(pinned: RunConfig) -> Iterable[str | None]:
    """Yield the purposes of the run's own calls: the names of its steps, and None for a classification."""
    yield from pinned.workflow.graph.order
    if pinned.workflow.classifications_max:
        yield None


def _call_usd(pinned: RunConfig, step: str | None, problem_bytes: int, attached: int) -> float:
    """Return the highest cost of one call, in dollars. Every part of its prompt, and its output, has the maximum size.

    `step` is None for a classification. Its output is limited by the `output_tokens_max` of the workflow.
    """
    workflow = pinned.workflow
    price = pinned.price if step is None else pinned.steps[step].price
    if price is None or (step is not None and workflow.is_deterministic(step)):
        return 0.0
    output = workflow.output_tokens_max if step is None else workflow.output_tokens_max_of(step)
    # A token has at least one byte, so the bytes of a prompt bound its tokens.
    input_tokens_max = _prompt_bytes_max(pinned, step, problem_bytes, attached) + FRAMING_TOKENS
    return price.micro_usd_at_most(input_tokens_max, output) / MICRO


def _prompt_bytes_max(pinned: RunConfig, step: str | None, problem_bytes: int, attached: int) -> int:
    """Return the largest size of a step's prompt, in bytes.

    If `step` is None, the prompt of a classification is counted with the parts of any step's prompt.
    """
    workflow = pinned.workflow
    if step is None:
        entry = pinned.prompts.entries[CLASSIFIER]
        role = CLASSIFIER
        requires = max(len(pair.requires) for pair in workflow.action_pairs.values())
    else:
        entry = find_prompt_entry(pinned.prompts, workflow, step)
        role = workflow.role(step)
        requires = len(workflow.action_pairs[step].requires)
    questions = workflow.questions_max
    rejections = 2 * workflow.feedback_window  # Those of the step's own tries, and those that a later step has caused.
    texts = sum(len(str(text).encode()) for text in entry.model_dump().values())
    sections = pinned.prompts.sections.model_dump().values()
    headings = sum(len(str(text).encode()) + HEADING_FIELD_BYTES for text in sections)
    uses_of_texts = 1 + rejections + requires + questions
    return (
        min(problem_bytes, SPECIFICATION_BYTES_MAX)
        + attached
        + len(workflow.constraints.encode())
        + requires * DEPENDENCY_BYTES_MAX
        + questions * 2 * ANSWER_BYTES_MAX  # A question and its answer.
        + rejections * FEEDBACK_BYTES_MAX
        + (texts + headings) * uses_of_texts
        + schema_bytes(role)
    )
