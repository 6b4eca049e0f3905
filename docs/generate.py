"""Regenerates the parts of the documentation that follow from the program, between two marks on a page.

`python docs/generate.py` rewrites the text between `<!-- generated: NAME -->` and `<!-- end -->` on every page; a test
compares it, so that no page is out of date. `docs/reference/meanings.yaml` has the meanings that are not in the code.
"""
# ruff: noqa: INP001, T201 -- a script, not a package

import ast
import csv
import inspect
import itertools
import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT))  # So that the checkout is documented, whatever is installed.

from actors.config.action_pair import ActionPair, Composite  # noqa: E402
from actors.config.diagram import mermaid  # noqa: E402
from actors.config.loader import read_workflow, shipped_workflows  # noqa: E402
from actors.config.policy_loader import load_policy  # noqa: E402
from actors.config.workflow import Workflow  # noqa: E402
from actors.guards.plan_settings import GUARD_CATALOG  # noqa: E402
from actors.planning.advance import RULES  # noqa: E402
from actors.planning.config import graph_of  # noqa: E402
from actors.planning.events import EVENTS, Outcome  # noqa: E402
from actors.policy.table import BacktrackLevel, Row  # noqa: E402
from actors.prompting.book import PromptEntry, Sections  # noqa: E402
from actors.run.questions import MOVES, Status  # noqa: E402
from actors.search.cost import happy_calls, linear_calls, worst_case_calls  # noqa: E402
from actors.values.findings import Code, ReasonTag  # noqa: E402
from replan.cli.exits import MEANING  # noqa: E402
from runtime.core.crash_points import LABELS  # noqa: E402
from runtime.models.port import FaultKind  # noqa: E402
from runtime.models.replies import ReplyCode  # noqa: E402

MARKED = re.compile(r"(?P<open><!-- generated: (?P<name>[a-z-]+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL)
NUMBER = re.compile(r"\bS(\d{1,3})\b(?: to S(\d{1,3})\b)?")
GENERAL = "tests/histories/test_histories.py::test_a_history_happens_as_it_says"
"""The test that runs all histories. It is listed last, since the histories are more specific."""
SHOWN_MAX = 5
"""The largest number of tests that a row of the requirements lists."""


def read(name: str) -> Any:
    """Return a data file of the reference."""
    return yaml.safe_load((DOCS / "reference" / name).read_text(encoding="utf-8"))


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table; cells keep to one line."""
    names = list(head)
    lines = [names, ["---"] * len(names), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


def code(values: Iterable[object]) -> str:
    """Return values as inline code, separated by commas."""
    return ", ".join(f"`{value}`" for value in values)


def findings() -> str:
    """Return one table of finding codes per family."""
    meanings, parts = read("meanings.yaml")["findings"], []
    codes = [str(member) for member in (*ReplyCode, *Code)]
    for family in dict.fromkeys(name.split(".")[0] for name in codes):
        rows = [
            (f"`{name}`", meanings[name]["by"], meanings[name]["means"])
            for name in codes
            if name.split(".")[0] == family
        ]
        parts.append(f"### {family}\n\n{table(('Code', 'From', 'Meaning'), rows)}")
    return "\n\n".join(parts)


def _meanings(section: str, values: Iterable[object], head: str) -> str:
    meanings = read("meanings.yaml")[section]
    return table((head, "Meaning"), ((f"`{value}`", meanings[str(value)]) for value in values))


def policy() -> str:
    """Return the default rule table, row by row."""
    rows = load_policy("default", ROOT).rows
    return table(
        ("#", "Row", "Fires on", "Level", "Target", "Why"),
        (
            (place, f"`{row.id}`", _fires(row), f"`{row.level}`", f"`{row.target}`", row.why)
            for place, row in enumerate(rows, 1)
        ),
    )


def _fires(row: Row) -> str:
    causes = ["a fatal verdict"] if row.fatal else []
    causes += [code(row.codes)] if row.codes else []
    causes += [f"tag {code(row.tags)}"] if row.tags else []
    causes += ["the same failure `r_patience` times in a row"] if row.repeated else []
    delay = f" (first delay {row.backoff_seconds:g} s, doubling)" if row.backoff_seconds else ""
    return ("; ".join(causes) or "anything else") + delay


def keys(model: type[BaseModel]) -> str:
    """Return the keys of a model of configuration: type, default and meaning, as editors show them."""
    schema = model.model_json_schema()
    rows = []
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "required" if field.is_required() else f"`{json.dumps(default, default=dict)}`"
        kind = _type(schema["properties"][name], schema.get("$defs", {}))
        rows.append((f"`{name}`", kind, shown, field.description or ""))
    return table(("Key", "Type", "Default", "Meaning"), rows)


def _type(shape: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    """Return a JSON Schema's type in a few words."""
    if "$ref" in shape:
        name = str(shape["$ref"]).rpartition("/")[2]
        return "several guards" if name == "Composite" else _type(others[name], others)
    if "enum" in shape:
        return code(shape["enum"])
    either = shape.get("anyOf") or shape.get("oneOf")
    if either:
        return " or ".join(dict.fromkeys(_type(item, others) for item in either if item.get("type") != "null"))
    kind = {"array": "list", "object": "mapping", "integer": "whole number", "string": "text"}
    name = str(shape.get("type"))
    low, high = shape.get("minimum"), shape.get("maximum")
    span = f" {low:,g} to {high:,g}" if low is not None and high is not None else ""
    return kind.get(name, name) + span


def workflows() -> str:
    """Return the shipped workflows: what each costs, and its drawing by the product's own graph function."""
    rows, drawings = [], []
    for name in shipped_workflows(ROOT):
        workflow, _, _ = read_workflow(name, ROOT)
        graph = graph_of(workflow)
        # A linear search never makes a second visit, whatever the budgets say.
        worst = linear_calls(graph) if workflow.search == "linear" else worst_case_calls(graph)
        rows.append((f"`{name}`", workflow.description, happy_calls(graph), worst, workflow.max_total_calls))
        drawings.append(f"### {name}\n\n```mermaid\n{mermaid(workflow)}```")
    head = ("Workflow", "What it does", "Calls if all passes", "Worst case", "Cap")
    return "\n\n".join((table(head, rows), *drawings))


def events() -> str:
    """Return every event: its kind, its meaning and its fields, each with the docstring below it."""
    parts = []
    for event in EVENTS:
        meaning, described = " ".join((event.__doc__ or "").split()), field_docs(event)
        fields = [
            f"`{name}`{' (text by hash)' if name in event.texts else ''}: {described[name]}"
            for name in event.model_fields
            if name != "kind"
        ]
        parts.append((f"`{event.model_fields['kind'].default}`", meaning, "<br>".join(fields)))
    return table(("Kind", "Meaning", "Fields"), parts)


def field_docs(model: type) -> dict[str, str]:
    """Return the docstring of each field of a class, its own or inherited."""
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if owner.__module__.startswith(("actors.", "runtime.")):
            [tree] = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
            assert isinstance(tree, ast.ClassDef)
            for field, doc in itertools.pairwise(tree.body):
                named = isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
                if named and isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant):
                    found[field.target.id] = str(doc.value.value)
    return found


def results(experiment: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a committed table of an experiment."""
    with (DOCS / "experiments" / experiment / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def share(row: Mapping[str, str], name: str) -> str:
    """Return a share with its interval, in percent."""
    return f"{float(row[name]):.1%} ({float(row[name + '_low']):.1%} to {float(row[name + '_high']):.1%})"


def number(row: Mapping[str, str], name: str) -> str:
    """Return a number with its interval, or a dash where there is none."""
    if not row[name]:
        return "-"
    return f"{float(row[name]):.1f} ({float(row[name + '_low']):.1f} to {float(row[name + '_high']):.1f})"


def compared(experiment: str) -> str:
    """Return what an experiment says of its arms."""
    head = ("Arm", "Success", "Difference to the baseline", "Calls per trial", "Calls per success")
    cells = (
        (
            row["arm"],
            share(row, "success"),
            difference(row),
            f"{float(row['calls_mean']):.1f}",
            number(row, "calls_per_success"),
        )
        for row in results(experiment, "arms")
    )
    return table(head, cells)


def difference(row: Mapping[str, str]) -> str:
    """Return the paired difference of success in points; nothing for the baseline itself."""
    points = [100 * float(row[name]) for name in ("delta_success", "delta_low", "delta_high")]
    return f"{points[0]:+.1f} ({points[1]:+.1f} to {points[2]:+.1f})" if any(points) else ""


def matrix() -> str:
    """Return the comparison of the workflows in all that was measured of them."""
    columns = {
        "calls_mean": "Calls per trial",
        "calls_per_success": "Calls per success",
        "tokens_mean": "Tokens",
        "seconds_median": "Seconds (median)",
        "backtracks_mean": "Steps back",
        "strategy_aligned": "Strategy fits",
    }
    rows = results("decompositions", "arms")
    cells = ((row["arm"], share(row, "success"), *(short(row[name]) for name in columns)) for row in rows)
    return table(("Workflow", "Success", *columns.values()), cells)


def short(value: str) -> str:
    """Return a number without decimals that say nothing, or a dash."""
    return f"{float(value):,.4g}" if value else "-"


def by_budget(experiment: str) -> str:
    """Return success by budget of calls, a column per budget."""
    rows = results(experiment, "budgets")
    budgets = list(dict.fromkeys(row["calls"] for row in rows))
    shares = {(row["arm"], row["calls"]): f"{float(row['success']):.1%}" for row in rows}
    arms = dict.fromkeys(row["arm"] for row in rows)
    return table(
        ("Arm", *(f"{calls} calls" for calls in budgets)),
        ((arm, *(shares[arm, calls] for calls in budgets)) for arm in arms),
    )


def by_depth(experiment: str, arms: Iterable[str]) -> str:
    """Return how far back some arms go, by where the problem is hard."""
    rows = (row for row in results(experiment, "depths") if row["arm"] in arms)
    cells = ((row["arm"], row["group"], row["depth"], row["steps_back"], f"{float(row['share']):.0%}") for row in rows)
    return table(("Arm", "Hard at", "Depth", "Steps back", "Share"), cells)


def by_cause(experiment: str) -> str:
    """Return success by where the problem is hard, a column each."""
    rows = results(experiment, "causes")
    groups = sorted({row["group"] for row in rows})
    shares = {(row["arm"], row["group"]): share(row, "success") for row in rows}
    arms = dict.fromkeys(row["arm"] for row in rows)
    return table(("Arm", *groups), ((arm, *(shares[arm, group] for group in groups)) for arm in arms))


def requirements() -> str:
    """Return every requirement with what is done instead, what is missing, its state and the tests that check it."""
    by_number, rows = named_tests(), []
    for number, entry in read("requirements.yaml").items():
        tests = sorted(dict.fromkeys([*entry.get("tests", ()), *by_number.get(number, ())]), key=GENERAL.__eq__)
        notes = [f" **{key.capitalize()}:** {entry[key]}" for key in ("instead", "missing") if key in entry]
        shown = "<br>".join(f"`{test.removeprefix('tests/')}`" for test in tests[:SHOWN_MAX])
        rows.append((number, requirement_state(entry), entry["says"] + "".join(notes), shown))
    return table(("Number", "State", "Requirement", "Tests"), rows)


def requirement_state(entry: Mapping[str, Any]) -> str:
    """Return how far a requirement is met: `not yet`, `partly`, `differently` or `met`."""
    if "not_yet" in entry:
        return "not yet"
    return "partly" if "missing" in entry else "differently" if "instead" in entry else "met"


def requirement_counts() -> str:
    """Return how many requirements are in each state; an entry for a range counts each number of it."""
    counts = Counter[str]()
    for number, entry in read("requirements.yaml").items():
        counts[requirement_state(entry)] += len(numbers(number))
    return (
        f"Of {counts.total()} requirements, {counts['met']} are met as stated, {counts['differently']} are met in "
        f"another way (*Instead*), {counts['partly']} are met in part (*Missing*), and "
        f"{counts['not yet']} are not built yet."
    )


@cache
def named_tests() -> dict[str, list[str]]:
    """Return the tests and histories that name a number in their docstring or first line, by number."""
    tests: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for test, docstring in tests_in(path):
            for number in numbers(docstring):
                tests.setdefault(number, []).append(f"{path.relative_to(ROOT)}::{test}")
    for path in sorted((ROOT / "tests" / "histories").glob("*.txt")):
        for number in numbers(path.read_text(encoding="utf-8").partition("\n")[0]):
            tests.setdefault(number, []).append(str(path.relative_to(ROOT)))
    return tests


def numbers(text: str) -> list[str]:
    """Return the requirement numbers in a text; `S12 to S21` means all of them."""
    names: list[str] = []
    for low, high in NUMBER.findall(text):
        names += [f"S{number}" for number in range(int(low), int(high or low) + 1)]
    return names


def tests_in(path: Path) -> list[tuple[str, str]]:
    """Return the tests of a file with their docstrings; a method as `Class::test`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    holders = [
        ("", tree.body),
        *((f"{node.name}::", node.body) for node in tree.body if isinstance(node, ast.ClassDef)),
    ]
    return [
        (f"{prefix}{node.name}", ast.get_docstring(node) or "")
        for prefix, body in holders
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


def faults() -> str:
    """Return every fault of a model's transport and what follows from it."""
    meanings = read("meanings.yaml")["faults"]
    rows = (
        (f"`{fault}`", meanings[fault], "no" if fault.final else "yes", "no" if fault.refunded else "yes")
        for fault in FaultKind
    )
    return table(("Fault", "Meaning", "Tried again", "Charged"), rows)


def questions() -> str:
    """Return the life of a question as a drawing, from the table that the machine follows."""
    caused: dict[tuple[str, str], list[str]] = {}
    for (before, kind), after in MOVES.items():
        caused.setdefault((str(before), str(after)), []).append(kind)
    rows = [f"    {before} --> {after}: {', '.join(kinds)}" for (before, after), kinds in caused.items()]
    start = f"    [*] --> {Status.ASKED}: clarification_requested"
    ends = [f"    {status} --> [*]" for status in Status if not any(before is status for before, _ in MOVES)]
    return "\n".join(("```mermaid", "stateDiagram-v2", start, *rows, *ends, "```"))


def machine_rules() -> str:
    """Return the rules of the planning machine's `advance`, in the order in which they are tried."""
    rows = (
        (place, rule.name, rule.scope, (rule.function.__doc__ or "").partition("\n")[0])
        for place, rule in enumerate(RULES, 1)
    )
    return table(("#", "Rule", "Scope", "What it decides"), rows)


def planted() -> str:
    """Return the bugs that the simulation must find, by class; every test run looks for the first of each."""
    bugs = read("meanings.yaml")["planted_bugs"]
    return table(("Class", "Bugs"), ((kind, "; ".join(names)) for kind, names in bugs.items()))


PARTS: Mapping[str, Callable[[], str]] = {
    "composite-keys": lambda: keys(Composite),
    "crash-points": lambda: _meanings("crash_points", LABELS, "Label"),
    "events": events,
    "exit-codes": lambda: table(
        ("Code", "Meaning"), ((int(exit_code), meaning) for exit_code, meaning in MEANING.items())
    ),
    "faults": faults,
    "findings": findings,
    "guard-names": lambda: code(sorted(GUARD_CATALOG)),
    "experiment-budgets": lambda: by_budget("searches"),
    "experiment-decompositions": matrix,
    "experiment-depths": lambda: by_depth("searches", ("search/depth_first", "search/blind")),
    "experiment-guard-errors": lambda: compared("guard_errors"),
    "experiment-levels": lambda: by_cause("searches"),
    "experiment-muddled": lambda: compared("muddled"),
    "experiment-patience": lambda: compared("patience"),
    "experiment-policy-rows": lambda: compared("policy_rows"),
    "experiment-searches": lambda: compared("searches"),
    "experiment-worlds": lambda: compared("worlds"),
    "levels": lambda: _meanings("levels", BacktrackLevel, "Level"),
    "machine-rules": machine_rules,
    "outcomes": lambda: _meanings("outcomes", Outcome, "Outcome"),
    "planted-bugs": planted,
    "policy": policy,
    "prompt-keys": lambda: keys(PromptEntry),
    "questions": questions,
    "requirement-counts": requirement_counts,
    "requirements": requirements,
    "row-keys": lambda: keys(Row),
    "section-keys": lambda: keys(Sections),
    "step-keys": lambda: keys(ActionPair),
    "tags": lambda: _meanings("tags", ReasonTag, "Tag"),
    "workflow-keys": lambda: keys(Workflow),
    "workflows": workflows,
}
"""What can be generated, by the name in the mark."""


def regenerated(text: str) -> str:
    """Return a page with its generated parts as they are now. Raises `KeyError` for an unknown name."""
    return MARKED.sub(lambda mark: f"{mark['open']}{PARTS[mark['name']]()}\n{mark['close']}", text)


def pages() -> list[Path]:
    """Return every page of the documentation, the front page included."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def main() -> None:
    """Rewrite the pages, and say which ones changed."""
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = regenerated(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"changed {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
