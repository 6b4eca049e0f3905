"""Reads the replies of models: a decision, a decomposition or a review, or why the reply is none. Pure and total."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from actors.acquisition.decision import PlannerDecision
from actors.acquisition.planner_state import Reflection
from actors.acquisition.schema import Schema
from actors.acquisition.state import ReplyText, State
from actors.run.ids import step_of
from runtime.core.pydantic_messages import describe
from runtime.core.total_readers import total
from runtime.models.replies import Unreadable, read_reply

ATTEMPTS = 2
"""Replies to one question of a node: the first, and one more after the first could not be used."""
REASON_MAX = 500
"""Characters of a model's reason that are kept."""
TEXT_MAX = 2_000
"""Characters of a question or a query of a model that are kept."""
CAVEATS_MAX = 10
"""Caveats of one review that are kept."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a reply cannot be used, in one sentence for the model."""

    message: str
    """The sentence; it may quote the reply, so it is data."""


def replies_for(state: State, purpose: str, path: str = "") -> tuple[ReplyText, ...]:
    """Return the replies that came at this node to the calls of a purpose, about a field where one is given."""
    return tuple(each for each in state.replies if step_of(each.call) == purpose and path in ("", each.path))


def last_problem(read: object) -> str:
    """Return what is wrong with a reply that was read; empty for one that can be used."""
    return read.message if isinstance(read, Unusable) else ""


def read_object(reply: ReplyText) -> Mapping[str, Any] | Unusable:
    """Return the JSON object in a reply, or why there is none."""
    if reply.ended_early:
        return Unusable("The end of the reply is missing; write one short JSON object and nothing else.")
    found = read_reply(reply.content)
    if isinstance(found, Unreadable):
        return Unusable(found.message)
    if not isinstance(found.value, dict):
        return Unusable("The reply is not a JSON object.")
    return found.value


@total("the decision", Unusable)
def read_decision(reply: ReplyText, schema: Schema) -> PlannerDecision | Unusable:
    """Return the decision in a reply. One about a field that is not in the schema cannot be used."""
    value = read_object(reply)
    if isinstance(value, Unusable):
        return value
    fields = {key: text_of(value.get(key)) for key in ("target_field", "query", "question", "reasoning")}
    try:
        decision = PlannerDecision.model_validate({"action": value.get("action"), **fields})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return Unusable(f"{first['loc'][0] if first['loc'] else 'reply'}: {describe(first)}")
    about = decision.action in ("search", "ask_user")
    if about and decision.target_field not in schema.fields:
        return Unusable(f"There is no field {decision.target_field[:80]!r}; target_field is one of the listed paths.")
    if not about and decision.target_field not in schema.fields:
        decision = decision.model_copy(update={"target_field": ""})
    return decision.model_copy(
        update={
            "reasoning": one_line(decision.reasoning, REASON_MAX),
            "query": one_line(decision.query, TEXT_MAX),
            "question": decision.question.strip()[:TEXT_MAX],
        }
    )


@total("the review", Unusable)
def read_reflection(reply: ReplyText, schema: Schema, inputs: str) -> Reflection | Unusable:
    """Return the review in a reply; a proposed field that is not in the schema is left out."""
    value = read_object(reply)
    if isinstance(value, Unusable):
        return value
    if not isinstance(value.get("finish"), bool):
        return Unusable("`finish` is true or false.")
    listed = value.get("caveats")
    caveats = (
        [one_line(each, REASON_MAX) for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    )
    path = text_of(value.get("next_field"))
    return Reflection(
        inputs_hash=inputs,
        next_field=path if path in schema.fields else "",
        finish=value["finish"],
        caveats=tuple(filter(None, caveats))[:CAVEATS_MAX],
    )


def text_of(value: object) -> str:
    """Return a text of a reply; empty for anything else."""
    return value if isinstance(value, str) else ""


def one_line(text: str, most: int) -> str:
    """Return a text on one line, cut to a number of characters."""
    return " ".join(text.split())[:most]
