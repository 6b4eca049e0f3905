"""The plots of the pages about measurements: each is on its page, small, and of the committed tables."""

import importlib.util
import re
from xml.etree import ElementTree as ET

import pytest

from tests.docs.blocks import ROOT

PAGES = ROOT / "docs"
PICTURES = PAGES / "explanation" / "pictures"
PICTURE_BYTES_MAX = 64 * 1024
SHOWN = re.compile(r"^!\[.+\]\((?:\.\./explanation/)?pictures/(.*)\.svg\)$", re.MULTILINE)


def load_plots():
    """Return docs/plots.py as a module."""
    spec = importlib.util.spec_from_file_location("docs_plots", ROOT / "docs" / "plots.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PLOTS = load_plots().PLOTS
DRAWN = {name: draw for page in PLOTS.values() for name, draw in page.items()}


def texts(svg):
    return sorted(text.text or "" for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"))


@pytest.mark.parametrize("page", PLOTS)
def test_a_page_shows_its_plots_and_no_others(page):
    shown = SHOWN.findall((PAGES / f"{page}.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(PLOTS[page])


def test_every_picture_of_the_folder_is_drawn_from_tables():
    assert {path.stem for path in PICTURES.iterdir()} == set(DRAWN)


@pytest.mark.parametrize("name", DRAWN)
def test_a_plot_is_small_and_has_the_names_and_scales_of_the_tables(name):
    """After a change of the tables: `make plots`."""
    picture = PICTURES / f"{name}.svg"
    assert picture.stat().st_size <= PICTURE_BYTES_MAX
    assert texts(picture.read_text(encoding="utf-8")) == texts(DRAWN[name]())
