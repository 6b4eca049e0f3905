"""The report of an acquisition run as Markdown. Pure."""

from collections.abc import Iterator

from actors.acquisition.result import FilledField, Result
from actors.acquisition.result_lines import VIA, amount, period_text, value_text
from runtime.logs.terminal_text import clean


def markdown(result: Result) -> str:
    """Return the report; texts of documents, users and models stand in it as data."""
    rows = [
        f"# {_text(result.goal)}",
        "",
        f"Profile `{result.profile}`, run `{result.run_id}`: {result.outcome or result.status}.",
    ]
    if result.why:
        rows += ["", _text(result.why)]
    rows += _calculation(result)
    if result.calculation.errors:
        rows += ["", *(f"- not calculated: {_text(error.message)}" for error in result.calculation.errors)]
    rows += ["", "## Values", "", "| Field | Value | Source | Confidence |", "| --- | --- | --- | --- |"]
    rows += [_row(each) for each in result.fields]
    rows += [*_quotes(result), *_list("Caveats", result.caveats)]
    return "\n".join(rows) + "\n"


def _calculation(result: Result) -> Iterator[str]:
    if not result.calculation.steps:
        return
    yield from ("", "## Calculation", "")
    yield from ("| Result | Value | Low | High | Unit | Formula |", "| --- | --- | --- | --- | --- | --- |")
    for step in result.calculation.steps:
        numbers = " | ".join(amount(each, None, None, "") for each in (step.value, step.low, step.high))
        yield f"| {_cell(step.label)} | {numbers} | {_cell(step.unit)} | `{_cell(step.formula)}` |"


def _row(field: FilledField) -> str:
    if field.value is None:
        return f"| {_cell(field.spec.label)} (`{field.path}`) | missing | | |"
    source, sure = VIA.get(field.value.via, field.value.source), f"{field.value.confidence:.2f}"
    label = f"{_cell(field.spec.label)} (`{field.path}`)"
    return f"| {label} | {_cell(value_text(field.value))} | {_cell(source)} | {sure} |"


def _quotes(result: Result) -> Iterator[str]:
    quoted = [
        (each.path, value)
        for each in result.fields
        for value in (each.value, *each.others)
        if value and value.via == "search"
    ]
    if quoted:
        yield from ("", "## Quotes")
    for path, value in quoted:
        yield from ("", f"`{path}`, {_text(value.source)}: {_text(value_text(value))}", "", f"> {_text(value.quote)}")
    for field in result.fields:
        if field.disagree and field.spread is not None:
            reach = amount(field.spread.low, None, None, "") + " to " + amount(field.spread.high, None, None, "")
            yield from (
                "",
                f"`{field.path}`: {field.spread.sources} sources disagree, {reach}; rule `{field.spec.choose}`.",
            )
        if text := period_text(field):
            yield from ("", f"`{field.path}`: {_text(text)}.")


def _list(title: str, texts: tuple[str, ...]) -> Iterator[str]:
    if texts:
        yield from ("", f"## {title}", "", *(f"- {_text(text)}" for text in texts))


def _text(text: str) -> str:
    """Return a text on one line, with the marks of Markdown and HTML taken as they stand."""
    line = clean(text, one_line=True)
    return "".join(f"\\{each}" if each in "\\`*_[]<>#|" else each for each in line)


def _cell(text: str) -> str:
    return clean(text, one_line=True).replace("|", "\\|")
