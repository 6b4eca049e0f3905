"""The pages hold together: links lead somewhere, generated parts are current, and every requirement has its test."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from actors.planning.events import PlanningOutcome
from runtime.core.hooks import LABELS
from tests.docs.blocks import FENCE, ROOT, pages
from tests.long.shell.planted_bugs import AGAIN, BUGS

LINK = re.compile(r"\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (?P<text>.+)$", re.MULTILINE)
NUMBERS = range(1, 138)
"""The numbers of all requirements, those included of which nothing is built yet."""
TOP = ("runtime", "actors", "replan")
NOT_YET: tuple[int, ...] = ()


def load_generator():
    """Return docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = load_generator()


def anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", match["text"].lower()).strip().replace(" ", "-") for match in HEADING.finditer(text)
    }


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page):
    """Relative links name a file that is there, and a heading that it has."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        target, _, anchor = match["target"].partition("#")
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{target} does not exist"
        assert not anchor or anchor in anchors(file), f"{target} has no heading {anchor}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_generated_parts_are_current(page):
    """After a change of the program: `make docs`."""
    text = page.read_text(encoding="utf-8")
    assert GENERATE.regenerated(text) == text


@pytest.mark.parametrize("name", GENERATE.DOCUMENTS)
def test_generated_files_are_current(name):
    """After a change of the program: `make docs`."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == GENERATE.DOCUMENTS[name]()


def test_every_page_can_be_reached_from_the_front_page():
    """Readers do not find a page without a link."""
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        for match in LINK.finditer(page.read_text(encoding="utf-8")):
            target = (page.parent / match["target"].partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in seen:
                waiting.append(target)
    assert {page.relative_to(ROOT) for page in pages()} <= {page.relative_to(ROOT) for page in seen}


def test_every_meaning_is_of_something_and_everything_has_a_meaning():
    """`configs/meanings.yaml` has the codes of the program, no more and no fewer."""
    meanings = GENERATE.requirements.read("meanings.yaml")
    codes = {str(member) for member in (*GENERATE.ReplyCode, *GENERATE.Code)}
    assert set(meanings["findings"]) == codes
    for section, values in (
        ("tags", GENERATE.ReasonTag),
        ("levels", GENERATE.BacktrackLevel),
        ("outcomes", PlanningOutcome),
        ("faults", GENERATE.FaultKind),
        ("crash_points", LABELS),
    ):
        assert set(meanings[section]) == {str(value) for value in values}, section


def test_the_last_soak_found_all_planted_bugs_as_the_promises_say():
    found = json.loads((ROOT / "benchmarks" / "results" / "soak.json").read_text(encoding="utf-8"))["planted"]["bugs"]
    assert [(row["class"], row["bug"]) for row in found] == [(bug.kind, name) for name, bug in BUGS.items()], AGAIN
    assert all(row["seed"] is not None for row in found)
    promises = (ROOT / "docs" / "explanation" / "promises.md").read_text(encoding="utf-8")
    assert f"The simulation finds all {len(BUGS)} bugs" in promises


def test_the_page_about_the_code_names_every_package():
    page = (ROOT / "docs" / "reference" / "code.md").read_text(encoding="utf-8")
    packages = sorted(path.parent.relative_to(ROOT) for top in TOP for path in (ROOT / top).glob("*/__init__.py"))
    assert len(packages) > 15
    assert [f"{package}" for package in packages if f"`{package}/`" not in page] == []


def test_every_requirement_is_there():
    """Each number has an entry with a text, and a test, what is done instead, or that it is not built yet."""
    entries = GENERATE.requirements.read("requirements.yaml")
    assert [number for key in entries for number in GENERATE.requirements.numbers(key)] == [
        f"S{number}" for number in NUMBERS
    ]
    by_number = GENERATE.requirements.named_tests()
    for number, entry in entries.items():
        assert entry["says"].strip()
        assert "not_yet" in entry or entry.get("tests") or by_number.get(number), f"{number} has no test"
    not_yet = [
        number for key, entry in entries.items() if "not_yet" in entry for number in GENERATE.requirements.numbers(key)
    ]
    assert not_yet == [f"S{number}" for number in NOT_YET]
    assert {number for number, entry in entries.items() if "instead" in entry} >= {"S5", "S7", "S21", "S24", "S38"}


def test_every_test_that_a_requirement_names_exists():
    """A renamed test must not leave a claim behind."""
    for number, entry in GENERATE.requirements.read("requirements.yaml").items():
        for name in entry.get("tests", ()):
            file, _, test = name.partition("::")
            assert (ROOT / file).is_file(), f"{number}: {file}"
            assert test in {name for name, _ in GENERATE.requirements.tests_in(Path(ROOT / file))}, f"{number}: {name}"
