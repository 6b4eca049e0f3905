"""The state that the nodes of the graph own; the table names the nodes that may write each field. Frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from actors.acquisition.decision import Origin, PlannerDecision, Status
from actors.acquisition.profile import Decomposition
from actors.acquisition.values import Values
from actors.quantities.numerals import DecimalMark
from runtime.core.events import Value


class Passage(Value):
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


class CalculationStep(Value):
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


class Calculation(Value):
    """The latest calculation of a run."""

    status: CalculationStatus = "none"
    """Whether there was one, and whether every result was calculated and every precondition held."""
    count: int = 0
    """The number of calculations in this round."""
    inputs_hash: str = ""
    """The hash of the values that it was made from; empty where there was none."""
    steps: tuple[CalculationStep, ...] = ()
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
    last_observation: tuple[Passage, ...] = ()
    """The passages that the latest search has found; empty where it found none."""
    rejections: tuple[Rejection, ...] = ()
    """The values that were observed and not taken, oldest first, each once with its count."""
    calculation: Calculation = field(default_factory=Calculation)
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
