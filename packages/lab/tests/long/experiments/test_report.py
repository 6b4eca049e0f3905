"""The report is a static page with tables and plots; the same results give the same bytes."""

import csv
import itertools
from html.parser import HTMLParser
from shutil import copytree
from xml.etree import ElementTree as ET

import pytest

from packages.lab.tests.experiments.conftest import prepared_in
from replan_lab.experiments.plots import Point, curves, groups, points
from replan_lab.experiments.report import CAPTIONS, PAGE, PLOTS, write_report
from replan_lab.experiments.results import ResultsFolder
from replan_lab.experiments.runner import run_simulated
from replan_lab.experiments.tables import to_csv

SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "br", "link"}


def texts(svg):
    return {text.text for text in ET.fromstring(svg).iter(f"{SVG}text")}


def width(svg):
    return float(ET.fromstring(svg).get("width").removesuffix("pt"))


class Page(HTMLParser):
    """Checks that every element that is opened is closed, and collects tags and links."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Run the small experiment and write its report; return it with its folder."""
    folder = tmp_path_factory.mktemp("report")
    experiment = prepared_in(folder, description="Two <searches> & one problem.")
    trials = run_simulated(experiment, ResultsFolder(folder / "out", experiment.header()), lambda done, of: None, 1)
    write_report(experiment, trials, folder / "out")
    return experiment, trials, folder / "out"


@pytest.fixture
def reported(written, tmp_path):
    """The experiment, its trials, and the report in the test's folder."""
    experiment, trials, folder = written
    copytree(folder, tmp_path / "out")
    return experiment, trials, tmp_path / "out"


def test_the_same_data_give_the_same_bytes(reported, tmp_path):
    experiment, trials, folder = reported
    again = tmp_path / "again"
    again.mkdir()
    write_report(experiment, trials, again)
    names = {path.name for path in again.iterdir()}
    assert names == {PAGE, "success.svg", "calls.svg", "delta.svg", *(f"{name}.csv" for name in CAPTIONS)}
    assert all((again / name).read_bytes() == (folder / name).read_bytes() for name in names)


def test_the_page_is_complete_and_self_contained(reported):
    """It has no script, font or picture from elsewhere, so it can be opened as a file; texts are escaped."""
    page = Page()
    page.feed((reported[2] / PAGE).read_text())
    assert page.open == []
    assert page.links == []
    assert page.tags.count("svg") == len(PLOTS)
    assert page.tags.count("table") == len(CAPTIONS)
    assert page.tags.count("figcaption") == page.tags.count("figure") == len(PLOTS) + len(CAPTIONS)
    assert "script" not in page.tags
    text = (reported[2] / PAGE).read_text()
    assert "@media print" in text
    assert "Two &lt;searches&gt; &amp; one problem." in text
    assert "<searches>" not in text


def test_an_interval_is_shown_in_the_cell_of_its_value(reported):
    """Not in its own columns: the widest table would not fit a screen or a page."""
    experiment, trials, folder = reported
    card = write_report(experiment, trials, folder)
    text = (folder / PAGE).read_text()
    assert all(
        name.endswith(("_low", "_high")) or f">{name.replace('_', ' ')}</th>" in text for name in card["arms"][0]
    )
    assert "low</th>" not in text
    assert "high</th>" not in text
    row = card["arms"][0]
    low, high = (f"{row[f'success_{end}']:.3g}" for end in ("low", "high"))
    assert f"<td>{row['success']:.3g} <small>{low} to {high}</small></td>" in text


def test_each_model_has_its_own_plots(prepared, tmp_path):
    """Arms are compared on the same model, and a plot with the lines of all models is unreadable."""
    experiment = prepared(models=["simulated:base", "simulated:stepwise"], seeds={"first": 1000, "count": 1})
    trials = run_simulated(experiment, ResultsFolder(tmp_path / "out", experiment.header()), lambda done, of: None, 1)
    write_report(experiment, trials, tmp_path / "out")
    for place, model in ((1, "simulated:base"), (2, "simulated:stepwise")):
        plots = [ET.fromstring((tmp_path / "out" / f"{name}_{place}.svg").read_text()) for name in PLOTS]
        assert all(plot.findtext(f"{SVG}title").endswith(f", {model}") for plot in plots)
        assert {"search/depth_first", "search/blind"} <= {text.text for text in plots[0].iter(f"{SVG}text")}
    assert len([*(tmp_path / "out").glob("*.svg")]) == 2 * len(PLOTS)


@pytest.mark.parametrize("count", [1, 24, 60])
def test_every_line_is_named_in_a_plot_that_is_high_enough(count):
    """The names are beside the plot, one below the other."""
    names = [f"arm_{n}" for n in range(count)]
    svg = curves("many", {name: [Point(0.5, 0.4, 0.6)] for name in names}, "x", "y")
    places = sorted(
        float(text.get("y") or text.get("transform").split()[-1].rstrip(")").split(",")[-1])
        for text in ET.fromstring(svg).iter(f"{SVG}text")
        if text.text in names
    )
    assert len(places) == count
    assert all(after - before > 9 for before, after in itertools.pairwise(places))
    assert 0 < places[0] <= places[-1] < float(ET.fromstring(svg).get("height").removesuffix("pt"))


@pytest.mark.parametrize(("title", "name"), [("t", "a_long_name" * 8), ("Calls, a-model-of-a-certain-date" * 5, "n")])
def test_a_long_name_and_a_long_title_are_whole(title, name):
    """The picture grows with them."""
    line = [Point(0.5, 0, 1)]
    pairs = (
        (curves("t", {"n": line}, "x", "y"), curves(title, {name: line}, "x", "y")),
        (points("t", {"n": line[0]}, "x"), points(title, {name: line[0]}, "x")),
    )
    for short, long in pairs:
        assert {title, name} <= texts(long)
        assert width(long) > width(short)


def test_a_title_is_not_read_as_a_formula():
    assert "from $1 to $2" in texts(points("from $1 to $2", {"n": Point(1, 0, 2)}, "x"))


def test_a_row_of_several_series_has_a_point_and_a_name_for_each():
    svg = groups("t", {"world": {"one": Point(0.2, 0.1, 0.3), "two": Point(0.4, 0.3, 0.5)}}, "x")
    assert {"world", "one", "two"} <= texts(svg)


def test_an_interval_beyond_the_plot_has_an_arrow():
    assert "\u2192" in points("t", {"far": Point(2.0, 1.0, 1e6)}, "x")
    assert "\u2192" not in points("t", {"near": Point(2.0, 1.0, 3.0)}, "x")


def test_lines_differ_in_their_dashes():
    """For grey prints, neighbouring lines have different dashes."""
    svg = curves("t", {name: [Point(0.5, 0, 1), Point(0.6, 0, 1, 9.0)] for name in "abc"}, "x", "y")
    named = [part.split('"')[0] for part in svg.split('<g id="legend_1">')[1].split('<path d="')[1:]]
    assert len(named) >= 3
    assert svg.count("stroke-dasharray: 5.55,2.4") == 2
    assert svg.count("stroke-dasharray: 1.5,2.475") == 2


def test_the_tables_are_csv_with_a_header_and_the_plots_svg_with_a_title(reported):
    with (reported[2] / "arms.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["arm"] for row in rows] == ["search/depth_first", "search/blind"]
    assert all(0 <= float(row["success_low"]) <= float(row["success"]) <= float(row["success_high"]) for row in rows)
    assert all(ET.fromstring((reported[2] / f"{name}.svg").read_text()).findtext(f"{SVG}title") for name in PLOTS)


@pytest.mark.parametrize(
    ("kept", "said"), [(3, "3 of 8, because the budget is spent"), (0, "0 of 8, because the budget is spent")]
)
def test_the_report_of_an_incomplete_or_empty_experiment_says_so(reported, kept, said):
    experiment, trials, folder = reported
    write_report(experiment, trials[:kept], folder)
    page = Page()
    page.feed((folder / PAGE).read_text())
    assert page.open == []
    assert said in (folder / PAGE).read_text()


def test_plots_accept_extreme_values():
    ET.fromstring(curves("a < b", {"x": [Point(0.5, 0, 1)]}, "x", "y"))
    ET.fromstring(curves("nothing", {}, "x", "y"))
    ET.fromstring(points("nothing", {}, "x"))
    ET.fromstring(points("far", {"a": Point(1e9, 1.0, 1e12), "b": Point(0.0, -1.0, 0.0)}, "x"))


def test_none_is_an_empty_field():
    assert to_csv([{"a": 1, "b": None}]) == "a,b\n1,\n"
    assert to_csv([]) == "\n"
