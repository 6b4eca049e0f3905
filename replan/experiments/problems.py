"""Reads the problems of an experiment: files with one problem each, `.jsonl` files with one per line, and folders."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.files.validation_errors import ParsedFile
from actors.planning.prepare import check_problem
from runtime.core.errors import UsageProblem

TEXT_SUFFIXES = (".md", ".txt")
_ID, _TEXT, _CATEGORY = ("id", "problem_id"), ("problem", "statement"), ("category", "type_hint")
"""The keys of a line's name, text and category; the first that is present counts."""
_SKIP = "--skip-broken leaves it out"


@dataclass(frozen=True, slots=True)
class ExperimentProblem:
    """A problem that the arms of an experiment are tried on."""

    name: str
    """The name in the tables, unique in the experiment: that of its file, or the id in its line."""
    text: str
    """The problem statement, which the run gets unchanged."""
    category: str = ""
    """The category, by which tables group the trials; empty where the file names none."""


def read_problems(
    names: tuple[str, ...], document: ParsedFile, *, skip_broken: bool = False
) -> tuple[list[ExperimentProblem], list[str]]:
    """Return the problems in the files and folders of these names, and a notice for each that was left out.

    Raises:
        UsageProblem: a problem cannot be read or is invalid, with its line; two have the same name; there is none.
    """
    folder, problems, notices = Path(document.source).parent, dict[str, ExperimentProblem](), list[str]()
    for number, name in enumerate(names):
        path = folder / name
        if not path.exists():
            raise document.problem(f"no such file {str(path)!r}", ("problems", number))
        for place, problem in _problems(path):
            if isinstance(problem, UsageProblem):
                if not skip_broken:
                    raise UsageProblem(problem.cause, place=place, hint=problem.hint or _SKIP)
                notices.append(f"left out: {place}: {problem.cause}")
            elif problem.name in problems:
                raise UsageProblem(f"a second problem is named {problem.name!r}", place=place)
            else:
                problems[problem.name] = problem
    if not problems:
        raise document.problem("there is no problem", ("problems",), "name .md, .txt or .jsonl files, or folders")
    return list(problems.values()), notices


def _problems(path: Path) -> Iterator[tuple[str, ExperimentProblem | UsageProblem]]:
    """Yield (place, problem) for each problem of a file or folder; an error stands for an invalid problem."""
    if path.is_dir():
        for inner in sorted(path.iterdir()):
            if inner.suffix in (*TEXT_SUFFIXES, ".jsonl"):
                yield from _problems(inner)
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        yield str(path), UsageProblem(f"cannot be read: {error}")
        return
    if path.suffix != ".jsonl":
        yield str(path), _check(ExperimentProblem(path.stem, text))
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield f"{path}:{number}", _parse_line(line, number)


def _parse_line(line: str, number: int) -> ExperimentProblem | UsageProblem:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return UsageProblem("this line is not JSON")
    if not isinstance(value, dict):
        return UsageProblem("this line is not an object")
    text = _first(value, _TEXT)
    if not isinstance(text, str):
        return UsageProblem("this line has no text", hint=f"give it as {' or '.join(_TEXT)}")
    return _check(
        ExperimentProblem(str(_first(value, _ID) or f"line_{number}"), text, str(_first(value, _CATEGORY) or ""))
    )


def _first(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((value[key] for key in keys if key in value), None)


def _check(problem: ExperimentProblem) -> ExperimentProblem | UsageProblem:
    try:
        check_problem(problem.text)
    except UsageProblem as error:
        return UsageProblem(error.cause, hint=error.hint)
    return problem
