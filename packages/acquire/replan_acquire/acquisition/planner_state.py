"""The state that the nodes of the graph own, the changes that they write, and the passages of searches. Frozen."""

import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from actors.run.tools import ToolFinished, ToolOutcome
from replan_acquire.acquisition.profile import Decomposition
from replan_acquire.acquisition.values import FieldValue, Values, merge_values
from replan_acquire.quantities.numerals import DecimalMark
from runtime.core.copies import changed
from runtime.core.events import Value

Action = Literal["search", "ask_user", "reflect", "calculate", "finish"]
"""The actions that a decision may name. Each action is a node of the graph."""
Origin = Literal["deterministic", "llm", "llm_error"]
"""The author of a decision: a gate (`deterministic`), a model (`llm`), or a gate that decides because the model's reply
was unusable (`llm_error`)."""
Status = Literal["active", "aborted"]
"""Whether the run may still acquire values (`active`) or not (`aborted`). The status is `aborted` if a required value
cannot be acquired."""


class PlannerDecision(Value):
    """The next action of a run, and the field that the action is about."""

    action: Action
    target_field: str = ""
    """The path of the field; empty if the action is about no field."""
    query: str = ""
    """The query of a search; if it is empty, a query is made from the field's words."""
    question: str = ""
    """The question to the user; if it is empty, the field's own question is asked."""
    reasoning: str = ""
    """The reason in one sentence for people. No decision depends on this reason."""


class FoundPassage(Value):
    """A passage of a document that a search has found."""

    source: str
    title: str = ""
    text: str
    first_line: int = 1
    """The number of the passage's first line in the document, from 1."""
    decimal_mark: DecimalMark = ""
    """The decimal mark of the document; empty if it is unknown."""
    language: str = ""
    """The language of the document as a code; empty if it is not clear."""
    places: tuple[tuple[int, str], ...] = Field(default=(), exclude_if=operator.not_)
    """Pairs: an offset in the text, and the name of the document's place that begins there. Empty if the search states
    no places.
    """

    def place_at(self, position: int) -> str:
        """Return the place of the document at an offset in the composed text; empty if the place is not known."""
        return next((place for start, place in reversed(self.places) if start <= position), "")


class SearchMade(Value):
    """A search that was made for a field."""

    path: str
    query: str
    found: int
    problem: str = ""
    """Why the search tool failed, in one line; empty if it did not fail."""


class Rejection(Value):
    """A value in a reply that was not accepted."""

    path: str
    """The path of the field; empty if the reply names no field."""
    code: str
    """The reason as a code, which is `missing_evidence`, `quote_cut`, `not_understood`, `no_unit`, `wrong_unit`,
    `out_of_bounds`, `unreadable` or `unknown_field`.
    """
    message: str
    source: str = ""
    quote: str = ""
    count: int = 1


class CalculatedValue(Value):
    """One result of a calculation."""

    name: str
    label: str
    formula: str
    value: float
    """The result from the chosen values, in `unit`."""
    low: float
    """The lowest result that the ranges of the values allow."""
    high: float
    """The highest result that the ranges of the values allow."""
    unit: str = ""
    """The unit of `value`, `low` and `high`; empty for a plain number."""


class CalculationError(Value):
    """The reason why a result could not be calculated, or must not be used."""

    code: str
    """The reason as a code, which is `missing`, `units`, `division_by_zero`, `overflow`, `domain` or `precondition`."""
    result: str = ""
    """The name of the result; empty for a precondition."""
    fields: tuple[str, ...] = ()
    message: str


CalculationStatus = Literal["none", "blocked", "succeeded"]


class LatestCalculation(Value):
    """The latest calculation of a run."""

    status: CalculationStatus = "none"
    """`succeeded` if all results were calculated and all preconditions were true; `none` before the first calculation.
    """
    count: int = 0
    """The number of calculations in this round."""
    inputs_hash: str = ""
    """The hash of the calculation's inputs; empty if there was no calculation."""
    steps: tuple[CalculatedValue, ...] = ()
    """The results that could be calculated, each after the results that it uses."""
    errors: tuple[CalculationError, ...] = ()
    """The errors of the results that could not be calculated, in the same order, followed by the false preconditions.
    """


class Reflection(Value):
    """A model's review of a blocked calculation, or of a run without progress."""

    inputs_hash: str
    next_field: str = ""
    """The path of the proposed next field; empty if no field is proposed."""
    finish: bool = False
    """Whether the run should finish with the values that it has."""
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannerState:
    """The state that the nodes of the graph change."""

    iterations: int = 0
    """The number of passes through the acquisition graph in this round."""
    status: Status = "active"
    decision: PlannerDecision | None = None
    """The current decision; None before the first decision."""
    decision_origin: Origin = "deterministic"
    values: Mapping[str, Values] = field(default_factory=dict)
    decompositions: Mapping[str, Decomposition | None] = field(default_factory=dict)
    """The decompositions that models have proposed, by the path of the composed field. A value is None if no proposal
    could be used.
    """
    searches: tuple[SearchMade, ...] = ()
    asked: tuple[str, ...] = ()
    """The paths of the fields about which the user was asked in this round, one for each question, oldest first."""
    refused: tuple[str, ...] = ()
    """The paths of the fields about which the user has declined a question in this round."""
    last_observation: tuple[FoundPassage, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    """The values that were not accepted, oldest first. Equal rejections are stored once, with their count."""
    calculation: LatestCalculation = field(default_factory=LatestCalculation)
    reflections: tuple[Reflection, ...] = ()

    @property
    def llm_failed(self) -> bool:
        """Whether a gate made the current decision because the model's reply could not be used."""
        return self.decision_origin == "llm_error"

    def searches_for(self, path: str) -> int:
        """Return the number of searches for a field in this round."""
        return sum(1 for search in self.searches if search.path == path)

    def questions_about(self, path: str) -> int:
        """Return the number of questions about a field in this round."""
        return self.asked.count(path)


class Writes(Value):
    """Changes to the planner's state.

    Each field has the name of the field that it changes, and changes nothing if it is None or empty.
    """

    iterations: int | None = None
    status: Status | None = None
    decision: PlannerDecision | None = None
    decision_origin: Origin | None = None
    values: Mapping[str, tuple[FieldValue, ...]] = {}
    """The values to add to each field, by path."""
    composed: Mapping[str, tuple[FieldValue, ...]] = {}
    """The new computed or default values of each field, by path. The new values replace the old values. An empty tuple
    removes the old values.
    """
    decompositions: Mapping[str, Decomposition | None] = {}
    searches: tuple[SearchMade, ...] = ()
    asked: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    calculation: LatestCalculation | None = None
    reflections: tuple[Reflection, ...] = ()


NOTHING = Writes()

STATE_FIELD: Mapping[str, str] = {"composed": "values"}
"""For a field of `Writes`: the field of the planner's state that it changes. Fields that have the same name in both are
not listed."""

REJECTIONS_MAX = 200


def names_of_writes(writes: Writes) -> frozenset[str]:
    """Return the names of those fields of the planner's state that `writes` changes."""
    names = (name for name in type(writes).model_fields if getattr(writes, name) != getattr(NOTHING, name))
    return frozenset(STATE_FIELD.get(name, name) for name in names)


def apply(planner: PlannerState, writes: Writes) -> PlannerState:
    """Return the planner's state after the changes."""
    changes: dict[str, object] = {
        name: value
        for name in ("iterations", "status", "decision", "decision_origin", "calculation")
        if (value := getattr(writes, name)) is not None
    }
    for name in ("searches", "asked", "refused", "reflections"):
        if getattr(writes, name):
            changes[name] = (*getattr(planner, name), *getattr(writes, name))
    if writes.rejections:
        changes["rejections"] = _with_rejections(planner.rejections, writes.rejections)
    if writes.decompositions:
        changes["decompositions"] = {**planner.decompositions, **writes.decompositions}
    if writes.values or writes.composed:
        changes["values"] = _with_values(planner.values, writes)
    return changed(planner, **changes) if changes else planner


def _with_rejections(kept: tuple[Rejection, ...], more: tuple[Rejection, ...]) -> tuple[Rejection, ...]:
    counts: dict[Rejection, int] = {}
    for item in (*kept, *more):
        same = item.model_copy(update={"count": 1})
        counts[same] = counts.get(same, 0) + item.count
    listed = [same.model_copy(update={"count": count}) for same, count in counts.items()]
    return tuple(listed[-REJECTIONS_MAX:])


def _with_values(values: Mapping[str, Values], writes: Writes) -> Mapping[str, Values]:
    after = dict(values)
    for path, more in writes.values.items():
        after[path] = merge_values(after.get(path, ()), more)
    for path, instead in writes.composed.items():
        kept = tuple(item for item in after.get(path, ()) if item.via not in ("computed", "default"))
        after[path] = (*kept, *instead)
        if not after[path]:
            del after[path]
    return after


PASSAGES_MAX = 8
"""The largest number of passages that are kept from one search. The best passages come first."""
PASSAGE_CHARACTERS_MAX = 4_000
NAME_CHARACTERS_MAX = 1_000

LINE_MOST = 10**9
"""The largest line number of a passage that is accepted. A passage with a larger line number gets the number 1."""
PLACES_MAX = 400
PLACE_CHARACTERS_MAX = 120
LANGUAGE_CHARACTERS_MAX = 20


def passages_of(ended: ToolFinished) -> tuple[FoundPassage, ...]:
    """Return the passages that a search has found; empty if it failed or its output has an unexpected form."""
    if ended.outcome is not ToolOutcome.SUCCEEDED:
        return ()
    found = read_output(ended.output)
    return found or ()


def read_output(output: str) -> tuple[FoundPassage, ...] | None:
    """Return the passages in a tool's output; None if the output is not an object with a list `passages`."""
    try:
        value = json.loads(output)
    except (ValueError, RecursionError):
        return None
    listed = value.get("passages") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        return None
    return tuple(passage for item in listed[:PASSAGES_MAX] if (passage := _passage(item)) is not None)


def _passage(value: Any) -> FoundPassage | None:
    if not isinstance(value, dict):
        return None
    source, title, text = (value.get(key, "") for key in ("source", "title", "text"))
    if not (isinstance(source, str) and isinstance(title, str) and isinstance(text, str) and text.strip()):
        return None
    line, mark, language = (value.get(key) for key in ("first_line", "decimal_mark", "language"))
    return FoundPassage(
        source=source[:NAME_CHARACTERS_MAX],
        title=title[:NAME_CHARACTERS_MAX],
        text=text[:PASSAGE_CHARACTERS_MAX],
        first_line=line if isinstance(line, int) and not isinstance(line, bool) and 1 <= line <= LINE_MOST else 1,
        decimal_mark=mark if mark in ("point", "comma") else "",
        language=language[:LANGUAGE_CHARACTERS_MAX] if isinstance(language, str) else "",
        places=_places(value.get("places")),
    )


def _places(value: Any) -> tuple[tuple[int, str], ...]:
    """Return the places of a passage in the order of their offsets; empty if the value has an unexpected form."""
    if not isinstance(value, list):
        return ()
    found: list[tuple[int, str]] = []
    for item in value[:PLACES_MAX]:
        match item:
            case [int(position), str(place)] if not isinstance(position, bool) and 0 <= position <= LINE_MOST:
                found.append((position, place[:PLACE_CHARACTERS_MAX]))
            case _:
                return ()
    return tuple(sorted(found))
