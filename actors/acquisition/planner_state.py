"""The state that the nodes of the graph own, the changes that they write, and the passages of searches. Frozen."""

import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from actors.acquisition.profile import Decomposition
from actors.acquisition.values import FieldValue, Values, merge_values
from actors.quantities.numerals import DecimalMark
from actors.run.tools import ToolFinished, ToolOutcome
from runtime.core.copies import changed
from runtime.core.events import Value

Action = Literal["search", "ask_user", "reflect", "calculate", "finish"]
"""What a decision may ask for; each is a node of the graph."""
Origin = Literal["deterministic", "llm", "llm_error"]
"""Who decided: a gate, a model, or a gate in place of a model whose reply could not be used."""
Status = Literal["active", "aborted"]
"""Whether the run may still acquire values; `aborted` once a required one cannot be had."""


class PlannerDecision(Value):
    """What is to be done next, and about which field."""

    action: Action
    """The node that carries it out."""
    target_field: str = ""
    """The path of the field; empty where the action is about none."""
    query: str = ""
    """The query of a search; empty makes one of the field's words."""
    question: str = ""
    """The question to the user; empty takes the field's own."""
    reasoning: str = ""
    """Why, in one sentence for people; nothing is decided by it."""


class FoundPassage(Value):
    """A part of a document that a search has found."""

    source: str
    """The file or address of the document."""
    title: str = ""
    """The title of the document; empty where it has none."""
    text: str
    """The text of the part, as the document has it."""
    first_line: int = 1
    """The line of the document in which it begins, from 1."""
    decimal_mark: DecimalMark = ""
    """The decimal mark of the document; empty where nothing tells."""
    language: str = ""
    """The language of the document as a code; empty where it is not clear."""
    places: tuple[tuple[int, str], ...] = Field(default=(), exclude_if=operator.not_)
    """Where in the text each place of the document begins; empty where the search tells none."""

    def place_at(self, position: int) -> str:
        """Return the place of the document at a position in the text with composed characters; empty for none."""
        return next((place for start, place in reversed(self.places) if start <= position), "")


class SearchMade(Value):
    """A search that was made for a field."""

    path: str
    """The path of the field."""
    query: str
    """The query, as the tool got it."""
    found: int
    """The number of passages that it found; 0 also where the tool failed."""
    problem: str = ""
    """Why the tool failed, in one line; empty where it did not."""


class Rejection(Value):
    """A value that was observed and not taken."""

    path: str
    """The path of the field; empty where the reply names none."""
    code: str
    """The reason as a code: `missing_evidence`, `quote_cut`, `not_understood`, `no_unit`, `wrong_unit`,
    `out_of_bounds`, `unreadable` or `unknown_field`."""
    message: str
    """The reason in one line."""
    source: str = ""
    """The document that the value was said to come from."""
    quote: str = ""
    """The words that were quoted."""
    count: int = 1
    """How many times it was observed so."""


class CalculatedValue(Value):
    """One result of a calculation."""

    name: str
    """The name of the result."""
    label: str
    """The name of the result for people."""
    formula: str
    """The formula by which it was calculated."""
    value: float
    """The result from the chosen values, in `unit`."""
    low: float
    """The lowest result that the ranges of the values allow."""
    high: float
    """The highest result that the ranges of the values allow."""
    unit: str = ""
    """The unit of the three; empty for a plain number."""


class CalculationError(Value):
    """Why a result could not be calculated, or must not be used."""

    code: str
    """The reason as a code: `missing`, `units`, `division_by_zero`, `overflow`, `domain` or `precondition`."""
    result: str = ""
    """The name of the result; empty for a precondition."""
    fields: tuple[str, ...] = ()
    """The paths of the fields that it is about."""
    message: str
    """The reason in one line for people."""


CalculationStatus = Literal["none", "blocked", "succeeded"]


class LatestCalculation(Value):
    """The latest calculation of a run."""

    status: CalculationStatus = "none"
    """Whether there was one, and whether every result was calculated and every precondition held."""
    count: int = 0
    """The number of calculations in this round."""
    inputs_hash: str = ""
    """The hash of the values that it was made from; empty where there was none."""
    steps: tuple[CalculatedValue, ...] = ()
    """The results that could be calculated, in the order of their dependencies."""
    errors: tuple[CalculationError, ...] = ()
    """Why the others could not, in the same order, then the preconditions that did not hold."""


class Reflection(Value):
    """A model's review of a calculation that is blocked, or of a run that does not get on."""

    inputs_hash: str
    """The hash of the values that it was made about."""
    next_field: str = ""
    """The path of the field that should be acquired next; empty where none is proposed."""
    finish: bool = False
    """Whether the run should finish with what it has."""
    caveats: tuple[str, ...] = ()
    """Reservations about the result, for people."""


@dataclass(frozen=True)
class PlannerState:
    """The state of the graph. Every field has a default, so that records of a release without it can be read."""

    iterations: int = 0
    """The passes through the graph in this round."""
    status: Status = "active"
    """`aborted` once a required value cannot be had."""
    decision: PlannerDecision | None = None
    """The decision in force; None before the first."""
    decision_origin: Origin = "deterministic"
    """Who has made it."""
    values: Mapping[str, Values] = field(default_factory=dict)
    """The schema: the values of each field that has some, by path."""
    decompositions: Mapping[str, Decomposition | None] = field(default_factory=dict)
    """The decompositions that a model has proposed, by path of the composed field; None where none could be used."""
    searches: tuple[SearchMade, ...] = ()
    """The searches that were made in this round, oldest first."""
    asked: tuple[str, ...] = ()
    """The paths of the fields that the user was asked for in this round, oldest first."""
    refused: tuple[str, ...] = ()
    """The paths of the fields about which the user will not answer, in this round."""
    last_observation: tuple[FoundPassage, ...] = ()
    """The passages that the latest search has found; empty where it found none."""
    rejections: tuple[Rejection, ...] = ()
    """The values that were observed and not taken, oldest first, each once with its count."""
    calculation: LatestCalculation = field(default_factory=LatestCalculation)
    """The latest calculation."""
    reflections: tuple[Reflection, ...] = ()
    """The reviews of this round, oldest first."""

    @property
    def llm_failed(self) -> bool:
        """Whether the decision in force stands in place of a model's reply that could not be used."""
        return self.decision_origin == "llm_error"

    def searches_for(self, path: str) -> int:
        """Return how many searches were made for a field in this round."""
        return sum(1 for search in self.searches if search.path == path)

    def questions_about(self, path: str) -> int:
        """Return how many times the user was asked for a field in this round."""
        return self.asked.count(path)


class Writes(Value):
    """Changes to the planner's state; a field that is None or empty is not written. Names are those of the state."""

    iterations: int | None = None
    """The passes through the graph from now on."""
    status: Status | None = None
    """The status from now on."""
    decision: PlannerDecision | None = None
    """The decision from now on."""
    decision_origin: Origin | None = None
    """Who has made it."""
    values: Mapping[str, tuple[FieldValue, ...]] = {}
    """Values by path, which are added to those that the fields have."""
    composed: Mapping[str, tuple[FieldValue, ...]] = {}
    """Values by path that take the place of computed and assumed ones, or empty where there are none any more."""
    decompositions: Mapping[str, Decomposition | None] = {}
    """Decompositions by path; None for a path for which none could be used."""
    searches: tuple[SearchMade, ...] = ()
    """Searches that were made."""
    asked: tuple[str, ...] = ()
    """Fields that the user was asked for."""
    refused: tuple[str, ...] = ()
    """Fields about which the user will not answer."""
    rejections: tuple[Rejection, ...] = ()
    """Values that were observed and not taken."""
    calculation: LatestCalculation | None = None
    """The latest calculation from now on."""
    reflections: tuple[Reflection, ...] = ()
    """Reviews that were made."""


NOTHING = Writes()
"""No change."""

STATE_FIELD: Mapping[str, str] = {"composed": "values"}
"""The field of the state that a field of `Writes` changes, where its name is another one."""

REJECTIONS_MAX = 200
"""Observed values that were not taken and are kept; older ones are only in the journal."""


def names_of_writes(writes: Writes) -> frozenset[str]:
    """Return the names of the fields of the state that the writes change."""
    names = (name for name in type(writes).model_fields if getattr(writes, name) != getattr(NOTHING, name))
    return frozenset(STATE_FIELD.get(name, name) for name in names)


def apply(planner: PlannerState, writes: Writes) -> PlannerState:
    """Return the state after the writes."""
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
    """Return the rejections with others added; the same one again is counted, and not listed again."""
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
"""Passages of one search that are kept; a tool brings the best first."""
PASSAGE_CHARACTERS_MAX = 4_000
"""Characters of one passage that are kept."""
NAME_CHARACTERS_MAX = 1_000
"""Characters of a source and of a title that are kept."""

LINE_MOST = 10**9
"""The highest number of a line; a higher one is taken as the first."""
PLACES_MAX = 400
"""Places of one passage that are kept."""
PLACE_CHARACTERS_MAX = 120
"""Characters of a place that are kept."""
LANGUAGE_CHARACTERS_MAX = 20
"""Characters of a language's code that are kept."""


def passages_of(ended: ToolFinished) -> tuple[FoundPassage, ...]:
    """Return the passages that a search has found; none where it failed, or where its output has another form."""
    if ended.outcome is not ToolOutcome.SUCCEEDED:
        return ()
    found = read_output(ended.output)
    return found or ()


def read_output(output: str) -> tuple[FoundPassage, ...] | None:
    """Return the passages in a tool's output; None where it has another form than `{"passages": [...]}`."""
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
    """Return the places of a passage in the order of their positions; none where they have another form."""
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
