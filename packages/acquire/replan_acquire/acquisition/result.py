"""The result of an acquisition run, as an object and as lines of text for people. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired

from typing_extensions import TypedDict

from actors.run.advice import advice
from actors.run.result import RunResult, RunView, heading, message_lines, question_lines, result_fields, usage_line
from actors.values.format import format_count
from actors.values.lines import BLANK, Line, indent_line, line
from replan_acquire.acquisition.planner_state import LatestCalculation, Rejection
from replan_acquire.acquisition.profile import FieldSpec
from replan_acquire.acquisition.schema import schema_of
from replan_acquire.acquisition.state import State, Visited
from replan_acquire.acquisition.values import FieldValue, Spread, Values, choose_value, filter_by_period, find_spread
from replan_acquire.quantities.quantity import format_rounded


@dataclass(frozen=True, slots=True)
class FilledField:
    """A field of the schema with its values."""

    path: str
    spec: FieldSpec
    value: FieldValue | None
    """The chosen value; None if there is no value."""
    others: Values
    spread: Spread | None
    """The range of the values from sources that match the field's `period`; None if there are no such values."""
    periods: tuple[str, ...]
    """The years for which sources state values, in the order in which the values were found."""
    searches: int
    questions: int
    rejections: tuple[Rejection, ...]

    @property
    def disagree(self) -> bool:
        """Whether sources state different values."""
        return self.spread is not None and self.spread.sources > 1 and self.spread.low < self.spread.high

    def to_json(self) -> dict[str, Any]:
        """Return the field as plain data."""
        shown: dict[str, Any] = {"path": self.path, "label": self.spec.label, "required": self.spec.required}
        shown["value"] = None if self.value is None else self.value.value
        if self.value is not None:
            shown |= _value_json(self.value)
        shown["attempts"] = {"searches": self.searches, "questions": self.questions}
        if self.others:
            shown["other_values"] = [{"value": other.value, **_value_json(other)} for other in self.others]
        if self.disagree and self.spread is not None:
            shown["spread"] = {"low": self.spread.low, "high": self.spread.high, "rule": self.spec.choose}
        if len(self.periods) > 1:
            shown["periods"] = {"stated": list(self.periods), "rule": self.spec.period}
        if self.rejections:
            shown["not_taken"] = [rejection.model_dump(mode="json", exclude={"path"}) for rejection in self.rejections]
        return shown


def _value_json(value: FieldValue) -> dict[str, Any]:
    shown: dict[str, Any] = {"unit": value.unit} if value.unit else {}
    if value.low is not None:
        shown |= {"low": value.low, "high": value.high}
    shown |= {"via": value.via, "source": value.source}
    stated = {"period": value.period, "place": value.place, "quote": value.quote}
    return {**shown, **{name: text for name, text in stated.items() if text}, "confidence": value.confidence}


class GateJson(TypedDict):
    """One step of the run through the graph: a node, and the outcome of its gate."""

    node: str
    outcome: str
    reason: str


class FieldJson(TypedDict):
    """A field of the schema."""

    path: str
    label: str
    required: bool
    value: Any
    unit: NotRequired[str]
    low: NotRequired[Any]
    high: NotRequired[Any]
    via: NotRequired[str]
    source: NotRequired[Any]
    place: NotRequired[Any]
    quote: NotRequired[str]
    confidence: NotRequired[Any]
    attempts: dict[str, int]
    other_values: NotRequired[list[dict[str, Any]]]
    spread: NotRequired[dict[str, Any]]
    periods: NotRequired[dict[str, Any]]
    not_taken: NotRequired[list[dict[str, Any]]]


class AcquisitionJson(TypedDict):
    """The keys that `--json` prints for acquisition runs, besides the keys of every run."""

    profile: str
    """The name of the profile."""
    goal: str
    """The user's goal."""
    acquisition_status: str
    """`aborted` if a required value could not be acquired; otherwise `active`."""
    iterations: int
    """The number of passes through the acquisition graph in this round."""
    fields: list[FieldJson]
    """The fields with their values and sources."""
    missing: list[str]
    """The required fields without a value."""
    calculation: dict[str, Any]
    """The latest calculation: its results and its errors."""
    caveats: list[str]
    """Doubts about the result."""
    path: list[GateJson]
    """The gates that the run has passed."""


@dataclass(frozen=True, kw_only=True, repr=False)
class AcquisitionResult(RunResult):
    """The result of an acquisition run."""

    profile: str
    goal: str
    acquisition_status: str
    """`aborted` if a required value could not be acquired; otherwise `active`."""
    iterations: int
    fields: tuple[FilledField, ...]
    """All fields in the profile's order. A field's components come directly after it."""
    calculation: LatestCalculation
    caveats: tuple[str, ...]
    path: tuple[Visited, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """The paths of the required fields without a value."""
        return tuple(field.path for field in self.fields if field.spec.required and field.value is None)

    def facts(self) -> tuple[str, ...]:
        """Return a text that says how many fields have a value."""
        return (
            f"{sum(field.value is not None for field in self.fields)} of {format_count(len(self.fields), 'field')}",
        )

    def so_far(self) -> Sequence[Line]:
        """Return lines about the fields and their values so far."""
        return [row for field in self.fields for row in _field_lines(field)]

    def details(self) -> Mapping[str, Any]:
        """Return the values for the keys of `AcquisitionJson`."""
        return {
            "profile": self.profile,
            "goal": self.goal,
            "acquisition_status": self.acquisition_status,
            "iterations": self.iterations,
            "fields": [field.to_json() for field in self.fields],
            "missing": list(self.missing),
            "calculation": self.calculation.model_dump(mode="json", exclude={"inputs_hash"}),
            "caveats": list(self.caveats),
            "path": [{"node": item.node, "outcome": item.outcome, "reason": item.reason} for item in self.path],
        }


def result_of(view: RunView) -> AcquisitionResult:
    """Return the result of a run."""
    state: State = view.state
    with_inbox = view.with_inbox
    planner = state.planner
    return AcquisitionResult(
        **result_fields(view, state.run, with_inbox.run, price_known=state.config.price is not None),
        profile=state.config.profile.name,
        goal=state.goal,
        acquisition_status=planner.status,
        iterations=planner.iterations,
        fields=_filled_fields(state),
        calculation=planner.calculation,
        caveats=tuple(dict.fromkeys(text for review in planner.reflections for text in review.caveats)),
        path=state.path,
    )


def _filled_fields(state: State) -> tuple[FilledField, ...]:
    planner = state.planner
    fields = []
    for path, spec in schema_of(state).fields.items():
        values = planner.values.get(path, ())
        value = choose_value(spec, values)
        fields.append(
            FilledField(
                path=path,
                spec=spec,
                value=value,
                others=tuple(item for item in values if item is not value),
                spread=find_spread(filter_by_period(spec, values)),
                periods=tuple(dict.fromkeys(item.period for item in values if item.period)),
                searches=planner.searches_for(path),
                questions=planner.questions_about(path),
                rejections=tuple(rejection for rejection in planner.rejections if rejection.path == path),
            )
        )
    return tuple(fields)


VIA = {
    "user": "your answer",
    "given": "given at the start",
    "default": "assumed: the profile's default",
    "computed": "computed",
}
"""The words that tell where a value comes from if no document states it. The keys are values of `via`."""
REJECTIONS_SHOWN = 5
QUOTE_SHOWN = 160
"""The largest number of characters of a quote in the lines of a printed result. `--json` prints the whole quote."""


def amount(value: float, low: float | None, high: float | None, unit: str) -> str:
    """Return a number with its range and unit, rounded for people, such as `1,200 (1,000 to 1,500) EUR/year`."""
    reach = ""
    if low is not None and high is not None and low < high:
        reach = f" ({format_rounded(low)} to {format_rounded(high)})"
    return f"{format_rounded(value)}{reach} {unit}".rstrip()


def value_text(value: FieldValue) -> str:
    """Return a value as text for people."""
    if isinstance(value.value, str):
        return value.value
    return amount(value.value, value.low, value.high, value.unit)


def outcome_lines(result: AcquisitionResult, program: str = "replan") -> list[Line]:
    """Return the lines of the whole report. `program` is the command with which the user calls Replan."""
    rows = list(heading(result, "Complete" if result.succeeded else "Incomplete"))
    rows += [*question_lines(result, program), *message_lines(result)]
    if result.fields:
        rows += [BLANK, line("Fields", "bold"), *(row for field in result.fields for row in _field_lines(field))]
    if result.missing:
        rows.append(indent_line(f"missing: {', '.join(result.missing)}", "yellow"))
    rows += [*_calculation_lines(result.calculation)]
    if result.caveats:
        rows += [BLANK, line("Caveats", "bold"), *(indent_line(text, "yellow") for text in result.caveats)]
    rows += [BLANK, usage_line(result)]
    if result.status == "finished" or result.cause:
        rows += [line(f"Next: {step}.", "cyan") for step in _next_steps(result, program)]
    return rows


def _next_steps(result: AcquisitionResult, program: str) -> Iterator[str]:
    common = advice(result, program)
    if common:
        yield common
    elif result.outcome == "incomplete":
        run = result.run_id
        retry = f"use `{program} tell {run} TEXT --as requirement`, then `{program} resume {run}`"
        yield f"to try again with new attempts, {retry}; `{program} show {run} --tree` shows the path"


def _field_lines(field: FilledField) -> Iterator[Line]:
    if field.value is None:
        yield indent_line(f"{field.path}: no value ({_attempts_text(field)})", "red" if field.spec.required else "dim")
        yield from _rejected_lines(field)
        return
    sure = f", confidence {field.value.confidence:.2f}" if field.value.via == "search" else ""
    source = VIA.get(field.value.via, field.value.where)
    of_year = f", for {field.value.period}" if field.value.period else ""
    yield indent_line(f"{field.path}: {value_text(field.value)}  [{source}{of_year}{sure}]")
    if field.value.via == "search":
        yield indent_line(f"“{field.value.quote[:QUOTE_SHOWN]}”", "dim", columns=6)
    if field.disagree and field.spread is not None:
        reach = f"{format_rounded(field.spread.low)} to {format_rounded(field.spread.high)}"
        text = f"{field.spread.sources} sources disagree: {reach}; {choice_text(field)}"
        yield indent_line(text, "yellow", columns=6)
    if text := period_text(field):
        yield indent_line(text, "yellow", columns=6)


def choice_text(field: FilledField) -> str:
    """If the sources of a field disagree, return who chose its value: a rule of the profile, or the user."""
    by_rule = field.value is not None and field.value.via == "search"
    return f"the rule `{field.spec.choose}` chose the value" if by_rule else "your value is used"


def period_text(field: FilledField) -> str:
    """Return a text with the years of values from sources, and the rule for choosing; empty for less than two."""
    if len(field.periods) < 2 or field.value is None or field.value.via != "search":
        return ""
    rules = {"latest": "the latest is used", "any": "all are used"}
    rule = rules.get(field.spec.period, f"{field.spec.period} is used")
    return f"sources state values for {', '.join(sorted(field.periods))}; {rule}"


def _rejected_lines(field: FilledField) -> Iterator[Line]:
    for rejection in field.rejections[:REJECTIONS_SHOWN]:
        times = f" ({rejection.count} times)" if rejection.count > 1 else ""
        yield indent_line(f"rejected: {rejection.message}{times}", "dim", columns=6)


def _attempts_text(field: FilledField) -> str:
    not_taken = f", {len(field.rejections)} values rejected" if field.rejections else ""
    return f"{field.searches} searches, {field.questions} questions{not_taken}"


def _calculation_lines(calculation: LatestCalculation) -> Iterator[Line]:
    if calculation.status == "none":
        return
    yield BLANK
    yield line("Calculation" if calculation.status == "succeeded" else "Calculation (blocked)", "bold")
    for step in calculation.steps:
        yield indent_line(f"{step.label}: {amount(step.value, step.low, step.high, step.unit)}", "green")
        yield indent_line(f"{step.name} = {step.formula}", "dim", columns=6)
    for error in calculation.errors:
        yield indent_line(f"{error.result or 'precondition'}: {error.message}", "red")
