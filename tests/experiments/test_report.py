"""The report is one static page, the same bytes for the same data, and every part of it can be read."""

import csv
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from replan.experiments.plots import Point, curves, points
from replan.experiments.report import CAPTIONS, PAGE, to_csv, write_report
from replan.experiments.results import Store
from replan.experiments.running import run_simulated

VOID = {"meta", "br", "link", "line", "circle", "polygon", "polyline"}


class Page(HTMLParser):
    """Checks that every element that is opened is closed, and remembers what was met."""

    def __init__(self):
        super().__init__()
        self.open, self.met, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        self.met.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.met.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def reported(prepared, tmp_path):
    """Run the small experiment and write its report; return it with its folder."""
    ready = prepared(description="Two <searches> & one problem.")
    trials = run_simulated(ready, Store(tmp_path / "out", ready.header()), lambda done, of: None, 1)
    write_report(ready.experiment, trials, len(trials), tmp_path / "out")
    return ready.experiment, trials, tmp_path / "out"


def test_the_same_data_give_the_same_bytes(reported, tmp_path):
    experiment, trials, folder = reported
    again = tmp_path / "again"
    again.mkdir()
    write_report(experiment, trials, len(trials), again)
    names = {path.name for path in again.iterdir()}
    assert names == {PAGE, "success.svg", "calls.svg", "delta.svg", *(f"{name}.csv" for name in CAPTIONS)}
    assert all((again / name).read_bytes() == (folder / name).read_bytes() for name in names)


def test_the_page_is_whole_and_needs_nothing_else(reported):
    """No script, no font, no picture from elsewhere: it opens from a folder, and prints."""
    page = Page()
    page.feed((reported[2] / PAGE).read_text())
    assert page.open == []
    assert page.links == []
    assert page.met.count("svg") == 3
    assert page.met.count("table") == len(CAPTIONS)
    assert "script" not in page.met
    assert "@media print" in (reported[2] / PAGE).read_text()


def test_names_from_a_file_are_text_on_the_page(reported):
    text = (reported[2] / PAGE).read_text()
    assert "Two &lt;searches&gt; &amp; one problem." in text
    assert "<searches>" not in text


def test_the_tables_are_csv_with_a_line_of_names(reported):
    with (reported[2] / "arms.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["arm"] for row in rows] == ["search/depth_first", "search/blind"]
    assert all(0 <= float(row["success_low"]) <= float(row["success"]) <= float(row["success_high"]) for row in rows)


def test_every_plot_is_sound_svg_that_says_what_it_is(reported):
    for name in ("success", "calls", "delta"):
        root = ET.fromstring((reported[2] / f"{name}.svg").read_text())
        assert root[0].tag.endswith("title")
        assert root[0].text


def test_an_experiment_that_was_cut_short_says_so(reported, tmp_path):
    experiment, trials, folder = reported
    write_report(experiment, trials[:3], 8, folder)
    assert "3 of 8: the budget is spent" in (folder / PAGE).read_text()


def test_an_empty_experiment_has_an_empty_report(reported):
    experiment, _, folder = reported
    write_report(experiment, [], 8, folder)
    page = Page()
    page.feed((folder / PAGE).read_text())
    assert page.open == []


def test_plots_take_what_no_measurement_should_bring():
    ET.fromstring(curves("a < b", {"x": [Point(0.5, 0, 1)]}, "x", "y"))
    ET.fromstring(curves("nothing", {}, "x", "y"))
    ET.fromstring(points("nothing", {}, "x"))
    ET.fromstring(points("far", {"a": Point(1e9, 1.0, 1e12), "b": Point(0.0, -1.0, 0.0)}, "x"))


def test_what_is_not_known_is_an_empty_field():
    assert to_csv([{"a": 1, "b": None}]) == "a,b\n1,\n"
    assert to_csv([]) == "\n"
