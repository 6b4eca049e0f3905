"""What `check` prints of plans, one by one, in each of its forms: only one plan's report is in memory."""

from collections.abc import Mapping
from typing import Any, Protocol

from replan.cli.terminal.console import show
from replan.cli.terminal.plain import JsonArray, print_json, print_text
from replan.views.check_report import report_lines

Report = Mapping[str, Any]


class CheckOutput(Protocol):
    """Prints reports in one form."""

    def add(self, report: Report, guards: Mapping[str, str], text: str) -> None:
        """Print the report on one plan: its object, the guards of its steps, and the text that was checked."""

    def end(self) -> None:
        """Print what follows the last report."""


class _Each:
    """The forms in which each report stands alone."""

    def __init__(self, form: str) -> None:
        self._form = form

    def add(self, report: Report, guards: Mapping[str, str], text: str) -> None:
        match self._form:
            case "json":
                print_json(report)
            case "jsonl":
                print_json(report, indent=None)
            case "github":
                from replan.views.check_formats import github_lines

                print_text("".join(f"{row}\n" for row in github_lines(report, text)))
            case _:
                show(report_lines(report, dict(guards)))

    def end(self) -> None:
        """Print nothing."""


class _Array:
    """One array of JSON."""

    def __init__(self) -> None:
        self._array = JsonArray()

    def add(self, report: Report, guards: Mapping[str, str], text: str) -> None:
        del guards, text
        self._array.add(report)

    def end(self) -> None:
        self._array.end()


class _Sarif:
    """One log of SARIF 2.1.0."""

    def __init__(self) -> None:
        from replan.setup.version import release
        from replan.views.check_formats import sarif_head

        self._before = sarif_head(release())

    def add(self, report: Report, guards: Mapping[str, str], text: str) -> None:
        del guards
        from replan.views.check_formats import sarif_results

        for result in sarif_results(report, text):
            print_text(self._before + "\n")
            print_json(result, indent=None)
            self._before = ","

    def end(self) -> None:
        from replan.views.check_formats import SARIF_TAIL

        print_text((self._before if self._before != "," else "") + SARIF_TAIL)


class _Junit:
    """One suite of JUnit's XML."""

    def __init__(self) -> None:
        from replan.views.check_formats import JUNIT_HEAD

        print_text(JUNIT_HEAD)

    def add(self, report: Report, guards: Mapping[str, str], text: str) -> None:
        del guards
        from replan.views.check_formats import junit_case

        print_text(junit_case(report, text))

    def end(self) -> None:
        from replan.views.check_formats import JUNIT_TAIL

        print_text(JUNIT_TAIL)


def output_of(form: str, *, single: bool) -> CheckOutput:
    """Return what prints in a format; `single` says that one plan is checked, whose JSON is an object and no array."""
    match form:
        case "json" if not single:
            return _Array()
        case "sarif":
            return _Sarif()
        case "junit":
            return _Junit()
        case _:
            return _Each(form)
