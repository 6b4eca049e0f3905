"""What becomes of figures that a person noted in documents which other programs wrote; as a program, it publishes that.

`python -m packages.acquire.tests.documents.noted_figures FOLDER` writes the table. FOLDER has the documents of other
authors. `other_programs/figures.yaml` names them and says where they come from. Our documents are beside that file.
"""

import csv
import hashlib
import re
import sys
import tempfile
import unicodedata
from pathlib import Path

import pytest
import yaml

from replan_acquire.acquisition.observation import find_passage, read_stated_quantity
from replan_acquire.acquisition.planner_state import read_output
from replan_acquire.documents.index import open_index
from replan_acquire.documents.passages import search_output
from replan_acquire.quantities.quantity import Refusal
from replan_acquire.quantities.unit_forms import with_words
from replan_acquire.quantities.units import UnitTable
from tests.tidy.source import ROOT

FOLDER = Path(__file__).with_name("other_programs")
PUBLISHED = ROOT / "docs" / "experiments" / "documents" / "other_programs.csv"
COUNTED = ("van", "vehicle", "employee", "check", "airplane", "work-hour", "unit", "duck")
"""Units that are things which are counted."""
COLUMNS = ("file", "made_with", "language", "figure", "number", "place", "outcome")
NOTED = yaml.safe_load((FOLDER / "figures.yaml").read_text(encoding="utf-8"))
FILES = {**NOTED["own"], **NOTED["public"]}


def folded(text):
    """Return a text without the differences that a person does not see."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).lower()


def hand_quotes(passages, words, number):
    """Yield each passage and sentence, or row of a table, that has the words and the number of a figure."""
    for passage in passages:
        for line in passage.text.split("\n"):
            pieces = [line] if " | " in line else re.split(r"(?<=[.!?]) (?=[A-ZÀ-Ý])", line)
            for piece in pieces:
                whole = re.search(rf"(?<![\d.,]){re.escape(folded(number))}(?![\d]|[.,]\d)", folded(piece))
                if whole and all(word[:6] in folded(piece) for word in folded(words).split()):
                    yield passage, piece


def judged(index, figure):
    """Return what becomes of a figure. Fails where another value is read, or where it stands at another place."""
    words, number, unit, value, place = figure
    passages = read_output(search_output(index.search(words, 8), (), 1)) or ()
    outcome = "missed: its words and its number stand in no sentence or row together"
    for passage, quote in hand_quotes(passages, words, number):
        declared = dict.fromkeys(COUNTED, "")
        units = with_words(declared, tuple(words.split()))
        written = next(each for each in spellings(number) if each in quote)
        if find_passage(passages, passage.source, quote) is None:
            continue
        read = read_stated_quantity(passage, quote, written, unit, wanted=unit, units=units, table=UnitTable(declared))
        if isinstance(read, Refusal):
            outcome = f"refused: {read.code}"
            continue
        low, high = value if isinstance(value, list) else (value, value)
        assert (read.quantity.low, read.quantity.high) == (pytest.approx(low), pytest.approx(high)), quote
        assert passage.place_at(read.start).partition(", box")[0] == place, quote
        return "found"
    return outcome


def spellings(number):
    """Return how a number may be written in a text: with one of several kinds of space."""
    return [number.replace(" ", space) for space in (" ", "\u00a0", "\u202f", "\u2009")]


def measured(folder, name):
    """Return the rows of the published table about a document."""
    noted = FILES[name]
    index = open_index(folder)
    found = [judged(index, figure) for figure in noted["figures"]]
    return [
        dict(
            zip(COLUMNS, (name, noted["made_with"], noted["language"], words, number, str(place), outcome), strict=True)
        )
        for (words, number, _, _, place), outcome in zip(noted["figures"], found, strict=True)
    ]


def alone(name, tmp_path, content):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / name).write_bytes(content)
    return tmp_path / "docs"


def publish(folder):
    """Write the table; `folder` has the documents of others. Raises `SystemExit` for a file that is another one."""
    rows = []
    for name in FILES:
        content = ((FOLDER if name in NOTED["own"] else folder) / name).read_bytes()
        if name in NOTED["public"] and hashlib.sha256(content).hexdigest() != NOTED["public"][name]["sha256"]:
            raise SystemExit(f"{name} is another file than the one whose figures were noted")
        with tempfile.TemporaryDirectory() as made:
            rows += measured(alone(name, Path(made), content), name)
    with PUBLISHED.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    publish(Path(sys.argv[1]))
