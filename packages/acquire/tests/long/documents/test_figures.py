"""Each figure that a person finds in our own reports is found at its place, or refused with a reason; as published."""

import csv
import io
from collections import Counter

import pytest

import replan
import replan_acquire
from packages.acquire.tests.documents.figures import FIELDS, LANGUAGES, ROWS, WORDS, files, hand_place, profile, report
from packages.acquire.tests.documents.written_documents import FORMATS
from replan_acquire.acquisition.observation import find_passage, read_stated_quantity
from replan_acquire.acquisition.planner_state import read_output
from replan_acquire.documents.index import open_index
from replan_acquire.documents.passages import search_output
from replan_acquire.quantities.quantity import Refusal
from replan_acquire.quantities.unit_forms import with_words
from replan_acquire.quantities.units import UnitTable
from tests.tidy.source import ROOT

PUBLISHED = ROOT / "docs" / "experiments" / "documents" / "figures.csv"
COLUMNS = ("language", "format", "figures", "found", "refused", "rules_found", "rules_other", "rules_none")


def hand_quote(made, path, passages):
    """Return the passage and the words of it that a person points at: a sentence, or the cells of a row."""
    shown = made.shown[path][0]
    word = WORDS[made.language][path]
    number = {shown, shown.replace(".", "").replace(",", "."), str(made.values[path])}
    number |= {each.replace(".", ",") for each in number}
    number = {each.replace("\u00a0", " ") for each in number}
    for passage in passages:
        for line in passage.text.split("\n"):
            pieces = line.replace(". ", ".\n").split("\n") if path not in ROWS else [line]
            for piece in pieces:
                if word.lower()[:5] in piece.lower() and any(each in piece.replace("\u00a0", " ") for each in number):
                    return passage, piece
    return None


def judged(made, wanted, path, index):
    """Return `found` or the code of the refusal. Fails for another value or place, and for a passage not found."""
    unit, words = FIELDS[path], WORDS[made.language][path]
    passages = read_output(search_output(index.search(words, 8), (), 1))
    hand = hand_quote(made, path, passages)
    assert hand is not None, "the search has not found the passage"
    passage, quote = hand
    assert find_passage(passages, passage.source, quote) == passage
    units = with_words({"van": ""}, (words,))
    value = str(made.values[path][0]) if isinstance(made.values[path], tuple) else made.shown[path][0]
    read = read_stated_quantity(passage, quote, value, unit, wanted=unit, units=units, table=UnitTable(units))
    if isinstance(read, Refusal):
        assert read.message
        return str(read.code)
    want = made.values[path]
    low, high = want if isinstance(want, tuple) else (want, want)
    assert (read.quantity.low, read.quantity.high) == (pytest.approx(low), pytest.approx(high))
    source, place = hand_place(made, wanted, path)
    assert passage.source == source
    assert passage.place_at(read.start).partition(", box")[0] == place
    return "found"


def by_sentences(made, folder):
    """Return how many figures the model `quoting:` finds, how many others it takes, and how often it finds none."""
    (folder / "profile.yaml").write_text(profile(made.language), encoding="utf-8")
    result = replan_acquire.acquire(
        folder / "profile.yaml",
        "the fleet",
        docs=folder / "docs",
        model="quoting:",
        home=replan.MEMORY,
        max_calls=200,
    )
    counts = Counter()
    for field in result.fields:
        want = made.values[field.path]
        low, high = want if isinstance(want, tuple) else (want, want)
        if field.value is None:
            counts["none"] += 1
        elif (field.value.low or field.value.value, field.value.high or field.value.value) == pytest.approx(
            (low, high)
        ):
            counts["found"] += 1
        else:
            counts["other"] += 1
    return counts


def measured(language, wanted, folder):
    made = report(language)
    name, content = files(made)[wanted]
    (folder / "docs").mkdir()
    (folder / "docs" / name).write_bytes(content)
    index = open_index(folder / "docs")
    assert index.notices == ()
    outcomes = {path: judged(made, wanted, path, index) for path in FIELDS}
    refused = sorted(f"{path}: {code}" for path, code in outcomes.items() if code != "found")
    rules = by_sentences(made, folder)
    found = len(FIELDS) - len(refused)
    return (language, wanted, len(FIELDS), found, "; ".join(refused), rules["found"], rules["other"], rules["none"])


def published():
    return {(row["language"], row["format"]): row for row in csv.DictReader(io.StringIO(PUBLISHED.read_text()))}


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("wanted", FORMATS)
def test_each_figure_is_found_at_its_place_or_refused_as_published(tmp_path, language, wanted):
    row = dict(zip(COLUMNS, map(str, measured(language, wanted, tmp_path)), strict=True))
    assert row == published()[language, wanted]


def test_the_published_table_has_each_language_and_format():
    assert {*published()} == {(language, wanted) for language in LANGUAGES for wanted in FORMATS}
