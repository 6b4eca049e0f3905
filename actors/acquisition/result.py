"""The result of an acquisition run: the filled schema, the calculation with every step, and the path. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actors.acquisition.planner_state import Calculation, Rejection
from actors.acquisition.profile import FieldSpec
from actors.acquisition.schema import schema_of
from actors.acquisition.state import State, Visited
from actors.acquisition.values import FieldValue, Spread, Values, chosen, of_period, spread
from actors.run.result import RunResult, RunView, result_fields


@dataclass(frozen=True, slots=True)
class FilledField:
    """One field of the schema, as the run has filled it."""

    path: str
    """The path of the field."""
    spec: FieldSpec
    """The field as the profile, or a decomposition, has it."""
    value: FieldValue | None
    """The value that counts; None where there is none."""
    others: Values
    """The values that do not count, in the order in which they came."""
    spread: Spread | None
    """How far the values from sources reach that the field's `period` admits; None where there are none."""
    periods: tuple[str, ...]
    """The years that sources state values for, in the order in which they came."""
    searches: int
    """The searches for it in this round."""
    questions: int
    """The questions about it in this round."""
    rejections: tuple[Rejection, ...]
    """The values that were observed for it and not taken."""

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
            shown["other_values"] = [{"value": each.value, **_value_json(each)} for each in self.others]
        if self.disagree and self.spread is not None:
            shown["spread"] = {"low": self.spread.low, "high": self.spread.high, "rule": self.spec.choose}
        if len(self.periods) > 1:
            shown["periods"] = {"stated": list(self.periods), "rule": self.spec.period}
        if self.rejections:
            shown["not_taken"] = [each.model_dump(mode="json", exclude={"path"}) for each in self.rejections]
        return shown


def _value_json(value: FieldValue) -> dict[str, Any]:
    shown: dict[str, Any] = {"unit": value.unit} if value.unit else {}
    if value.low is not None:
        shown |= {"low": value.low, "high": value.high}
    shown |= {"via": value.via, "source": value.source}
    if value.period:
        shown["period"] = value.period
    if value.quote:
        shown["quote"] = value.quote
    return {**shown, "confidence": value.confidence}


@dataclass(frozen=True, kw_only=True)
class Result(RunResult):
    """The result of an acquisition run."""

    profile: str
    """The name of the profile; empty before the run began."""
    goal: str
    """The user's goal."""
    acquisition_status: str
    """`active`, or `aborted` once a required value could not be had."""
    iterations: int
    """The passes through the graph in this round."""
    fields: tuple[FilledField, ...]
    """All fields in the profile's order, with the components of each behind it."""
    calculation: Calculation
    """The latest calculation; where there was none since the last value, one of the values as they are."""
    caveats: tuple[str, ...]
    """Reservations of the model's reviews."""
    path: tuple[Visited, ...]
    """The nodes of the graph that the run has left, in order."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The paths of the required fields without a value."""
        return tuple(each.path for each in self.fields if each.spec.required and each.value is None)

    def details(self) -> Mapping[str, Any]:
        """Return the keys that `--json` prints for acquisition runs, in addition to those of every run."""
        return {
            "profile": self.profile,
            "goal": self.goal,
            "acquisition_status": self.acquisition_status,
            "iterations": self.iterations,
            "fields": [each.to_json() for each in self.fields],
            "missing": list(self.missing),
            "calculation": self.calculation.model_dump(mode="json", exclude={"inputs_hash"}),
            "caveats": list(self.caveats),
            "path": [{"node": each.node, "outcome": each.outcome, "reason": each.reason} for each in self.path],
        }


def result_of(view: RunView) -> Result:
    """Return the result of a run."""
    state: State = view.state
    with_inbox = view.with_inbox
    planner = state.planner
    return Result(
        **result_fields(view, state.run, with_inbox.run, price_known=state.config.price is not None),
        profile=state.config.profile.name,
        goal=state.goal,
        acquisition_status=planner.status,
        iterations=planner.iterations,
        fields=filled_fields(state),
        calculation=planner.calculation,
        caveats=tuple(dict.fromkeys(text for review in planner.reflections for text in review.caveats)),
        path=state.path,
    )


def filled_fields(state: State) -> tuple[FilledField, ...]:
    """Return all fields of a run's schema as they are filled."""
    planner, found = state.planner, []
    for path, spec in schema_of(state).fields.items():
        values = planner.values.get(path, ())
        value = chosen(spec, values)
        found.append(
            FilledField(
                path=path,
                spec=spec,
                value=value,
                others=tuple(each for each in values if each is not value),
                spread=spread(of_period(spec, values)),
                periods=tuple(dict.fromkeys(each.period for each in values if each.period)),
                searches=planner.searches_for(path),
                questions=planner.questions_about(path),
                rejections=tuple(each for each in planner.rejections if each.path == path),
            )
        )
    return tuple(found)
