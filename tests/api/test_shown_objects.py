"""Objects of the API: one line as `repr`; in a notebook HTML and Markdown in which no text becomes markup."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import replan
from replan.runs.shipped_examples import example_named
from tests.cli.samples import BACKTRACKS, PROBLEM

HOSTILE = "<script>alert(1)</script> [x](javascript:y) `*_"
NAMES = (
    "AttemptTree",
    "DemandTable",
    "ExecutionResult",
    "Proof",
    "ProvedPlan",
    "Result",
    "TreeAttempt",
)


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add((tag, *sorted(name for name, _ in attrs)))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A result of each kind, whose texts are hostile where a model or a user has written them."""
    folder = tmp_path_factory.mktemp("objects")
    example = example_named("repair")
    example.copy_project(folder / "work")
    planned = replan.solve(f"{PROBLEM}\n{HOSTILE}", model="template:bug", home=folder / "home")
    return {
        "planning": planned,
        "plan": planned.plan,
        "tree": planned.tree,
        "demands": planned.demands,
        "execution": replan.execute(
            json.loads(Path(example.plan).read_text(encoding="utf-8")),
            tools=example.tools,
            workspace=folder / "work",
            model=example.model,
            home=folder / "home",
        ),
    }


REPRS = {
    "planning": r"<Result \w{8}: \w+, not proved, \d+ steps, 4 calls>",
    "plan": r"<ProvedPlan \w+: \d+ steps>",
    "tree": r"<AttemptTree: 4 attempts, 0 rejected>",
    "demands": r"<DemandTable: \d+ demands?, \d+ in no step>",
    "execution": r"<ExecutionResult \w{8}: success, 3 of 3 goals, 2 calls>",
}


@pytest.mark.parametrize("name", REPRS)
def test_each_object_is_one_line_in_a_console_and_a_page_without_foreign_markup_in_a_notebook(results, name):
    shown = results[name]
    assert re.fullmatch(REPRS[name], repr(shown)), repr(shown)
    tags = Tags(shown._repr_html_()).tags
    assert tags <= {("pre", "style"), ("span", "style")}
    assert "<script" not in shown._repr_html_()
    if name == "plan":
        assert shown._repr_markdown_() == shown.to_markdown()
    else:
        assert all(row.startswith("    ") or not row for row in shown._repr_markdown_().splitlines())


def test_a_rejected_attempt_shows_its_finding_and_what_followed(tmp_path, scripted):
    result = replan.solve(PROBLEM, model=scripted(BACKTRACKS), home=tmp_path / "home")
    rows = result.tree._repr_markdown_().splitlines()
    rejected = next(place for place, row in enumerate(rows) if row.endswith("  rejected"))
    assert result.attempts_at("g_plan")[0].findings[0].code in rows[rejected + 1]
    assert rows[rejected + 2].strip().startswith("=> ")


@pytest.mark.parametrize("name", NAMES)
def test_the_types_of_results_are_names_of_the_package(name):
    assert getattr(replan, name).__name__ == name


def test_the_proof_of_a_plan_is_typed(results):
    assert results["planning"].proof == replan.Proof(level="medium")
