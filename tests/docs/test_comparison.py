"""The comparison with other tools: each report names its thread and tests that exist, and each test its report."""

import ast
import re
from datetime import date

import pytest

from tests.docs.blocks import ROOT
from tests.support.yaml_files import read_yaml

ISSUE = re.compile(r"[\w.-]+/[\w.-]+#\d+")
STATES = {"open", "closed", "merged"}
OWN = ROOT / "tests" / "long" / "peers"
"""The tests that were written for the comparison."""


CLASSES = read_yaml(ROOT / "docs" / "explanation" / "comparison.yaml")
REPORTS = [report for reports in CLASSES.values() for report in reports]


def sentences(file):
    """Return the docstring of each test of a file, by name."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {node.name: ast.get_docstring(node) or "" for node in found if node.name.startswith("test_")}


def test_each_report_is_named_once():
    """The page names how many there are, and their three classes: crashes, people, limits."""
    assert [*CLASSES] == ["After a crash", "People", "Limits and size"]
    page = (ROOT / "docs" / "explanation" / "comparison.md").read_text(encoding="utf-8")
    assert f"has {len(REPORTS)} public reports" in page
    names = [report["issue"] for report in REPORTS]
    assert len(names) >= 25
    assert sorted(names) == sorted({*names})


@pytest.mark.parametrize("report", REPORTS, ids=[report["issue"] for report in REPORTS])
def test_a_report_names_a_thread_and_tests_that_exist(report):
    """A test of `tests/long/peers` says in its docstring which report it shows."""
    assert ISSUE.fullmatch(report["issue"])
    assert report["state"] in STATES
    assert report["date"] is None or isinstance(report["date"], date)
    assert report["tests"]
    for name in report["tests"]:
        file, _, test = name.partition("::")
        docstring = sentences(ROOT / file).get(test)
        assert docstring is not None, f"{file} has no test {test}"
        if (ROOT / file).parent == OWN:
            assert docstring.startswith(f"{report['issue']}: ")


def test_each_test_that_shows_a_report_is_on_the_page():
    listed = {name for report in REPORTS for name in report["tests"]}
    written = {
        f"{file.relative_to(ROOT).as_posix()}::{name}" for file in OWN.glob("test_*.py") for name in sentences(file)
    }
    assert written - listed == set()


def test_numbers_of_a_test_are_those_that_the_page_states():
    """How much is sent and stored is measured in the test, and the limit on calls is asserted in it."""
    from tests.long.peers import test_history, test_limits

    here = {report["issue"]: report["here"] for report in REPORTS}
    stated = here["temporalio/sdk-python#1890"]
    assert f"{test_history.SENT_MB} MB of prompts were sent, and {test_history.STORED_MB} MB are stored" in stated
    assert f"after at most {test_limits.CALLS_WITHOUT_HOPE} calls" in here["jwbron/egg#3595"]
