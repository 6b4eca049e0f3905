"""The result of an acquisition run for people: fields with sources, the calculation, the next step. Pure."""

from collections.abc import Iterator

from actors.acquisition.planner_state import Calculation
from actors.acquisition.result import FilledField, Result
from actors.acquisition.values import FieldValue
from actors.quantities.quantity import rounded
from actors.run.advice import advice
from actors.run.result import heading, message_lines, question_lines, used
from actors.values.lines import BLANK, Line, indented, line

VIA = {
    "user": "your answer",
    "given": "given at the start",
    "default": "assumed: the profile's default",
    "computed": "computed",
}
"""How a value came that no document states, in words."""
REJECTIONS_SHOWN = 5
"""Values that were not taken and that the lines of a field without a value show."""
QUOTE_SHOWN = 160
"""Characters of a quote that the lines show; `--json` has all of it."""


def amount(value: float, low: float | None, high: float | None, unit: str) -> str:
    """Return a number with its range and unit, rounded for people, such as `1,200 (1,000 to 1,500) EUR/year`."""
    reach = ""
    if low is not None and high is not None and low < high:
        reach = f" ({rounded(low)} to {rounded(high)})"
    return f"{rounded(value)}{reach} {unit}".rstrip()


def value_text(value: FieldValue) -> str:
    """Return a value for people."""
    if isinstance(value.value, str):
        return value.value
    return amount(value.value, value.low, value.high, value.unit)


def outcome_lines(result: Result, program: str = "replan") -> list[Line]:
    """Return the whole report; `program` is how the user calls this program."""
    rows = list(heading(result, "Complete" if result.succeeded else "Incomplete"))
    rows += [*question_lines(result, program), *message_lines(result)]
    if result.fields:
        rows += [BLANK, line("Fields", "bold"), *(row for each in result.fields for row in field_lines(each))]
    rows += [*calculation_lines(result.calculation)]
    if result.caveats:
        rows += [BLANK, line("Caveats", "bold"), *(indented(text, "yellow") for text in result.caveats)]
    rows += [BLANK, used(result)]
    if result.status == "finished" or result.cause:
        rows += [line(f"Next: {step}.", "cyan") for step in _next(result, program)]
    return rows


def _next(result: Result, program: str) -> Iterator[str]:
    common = advice(result, program)
    if common:
        yield common
    elif result.outcome == "incomplete":
        run = result.run_id
        tell = f"`{program} tell {run} TEXT --as requirement`, then `{program} resume {run}`"
        yield f"{tell} tries again with fresh attempts; `{program} show {run} --tree` shows the path"


def field_lines(field: FilledField) -> Iterator[Line]:
    """Yield a field with its value, its source and quote, and the values that differ."""
    if field.value is None:
        yield indented(f"{field.path}: no value ({_attempts(field)})", "red" if field.spec.required else "dim")
        yield from _rejected(field)
        return
    sure = f", confidence {field.value.confidence:.2f}" if field.value.via == "search" else ""
    source = VIA.get(field.value.via, field.value.source)
    of_year = f", for {field.value.period}" if field.value.period else ""
    yield indented(f"{field.path}: {value_text(field.value)}  [{source}{of_year}{sure}]")
    if field.value.via == "search":
        yield indented(f"“{field.value.quote[:QUOTE_SHOWN]}”", "dim", columns=6)
    if field.disagree and field.spread is not None:
        reach = f"{rounded(field.spread.low)} to {rounded(field.spread.high)}"
        rule = f"chosen by the rule `{field.spec.choose}`" if field.value.via == "search" else "your value counts"
        text = f"{field.spread.sources} sources disagree: {reach}; {rule}"
        yield indented(text, "yellow", columns=6)
    if text := period_text(field):
        yield indented(text, "yellow", columns=6)


def period_text(field: FilledField) -> str:
    """Return which years sources state values for, and which count; empty where they state one at most."""
    if len(field.periods) < 2 or field.value is None or field.value.via != "search":
        return ""
    rule = {"latest": "the latest counts", "any": "all count"}.get(field.spec.period, f"{field.spec.period} counts")
    return f"stated for {', '.join(sorted(field.periods))}; {rule}"


def _rejected(field: FilledField) -> Iterator[Line]:
    """Yield the values that were observed and not taken, each once, with the reason and how many times it came."""
    for each in field.rejections[:REJECTIONS_SHOWN]:
        times = f" ({each.count} times)" if each.count > 1 else ""
        yield indented(f"not taken: {each.message}{times}", "dim", columns=6)


def _attempts(field: FilledField) -> str:
    not_taken = f", {len(field.rejections)} values not taken" if field.rejections else ""
    return f"{field.searches} searches, {field.questions} questions{not_taken}"


def calculation_lines(calculation: Calculation) -> Iterator[Line]:
    """Yield the steps of a calculation, and why others are missing."""
    if calculation.status == "none":
        return
    yield BLANK
    yield line("Calculation" if calculation.status == "succeeded" else "Calculation (blocked)", "bold")
    for step in calculation.steps:
        yield indented(f"{step.label}: {amount(step.value, step.low, step.high, step.unit)}", "green")
        yield indented(f"{step.name} = {step.formula}", "dim", columns=6)
    for error in calculation.errors:
        yield indented(f"{error.result or 'precondition'}: {error.message}", "red")
