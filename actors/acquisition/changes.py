"""What differs between the results of two acquisitions: values, their sources and places, and results. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from actors.acquisition.result import AcquisitionResult, amount, value_text
from actors.acquisition.values import FieldValue


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One difference between two runs."""

    since: str
    """The id of the earlier run."""
    path: str
    """The field, or the result."""
    text: str
    """What differs, in one line."""


def changes_since(earlier: AcquisitionResult, result: AcquisitionResult) -> tuple[ValueChange, ...]:
    """Return what differs in a result from an earlier one, fields first; fields of other profiles count too."""
    rows = [*_fields(earlier, result), *_results(earlier, result)]
    return tuple(ValueChange(earlier.run_id, path, text) for path, text in rows)


def _fields(earlier: AcquisitionResult, result: AcquisitionResult) -> Iterator[tuple[str, str]]:
    before = {each.path: each.value for each in earlier.fields}
    after = {each.path: each.value for each in result.fields}
    for path in dict.fromkeys((*after, *before)):
        old, new = before.get(path), after.get(path)
        if _shown(old) != _shown(new):
            yield path, f"{path}: {_shown(old) or 'no value'} -> {_shown(new) or 'no value'}{_from(new)}"
        elif old is not None and new is not None and (old.source, old.place) != (new.source, new.place):
            yield path, f"{path}: the same value stands in {new.where}, before in {old.where}"


def _from(value: FieldValue | None) -> str:
    return f" ({value.where})" if value is not None and value.via == "search" else ""


def _shown(value: FieldValue | None) -> str:
    return "" if value is None else value_text(value)


def _results(earlier: AcquisitionResult, result: AcquisitionResult) -> Iterator[tuple[str, str]]:
    before, after = (
        {step.name: amount(step.value, step.low, step.high, step.unit) for step in each.calculation.steps}
        for each in (earlier, result)
    )
    for name in dict.fromkeys((*after, *before)):
        old, new = before.get(name, "not calculated"), after.get(name, "not calculated")
        if old != new:
            yield name, f"{name}: {old} -> {new}"
