"""Fixtures that write and prepare a small experiment."""

from functools import partial

import pytest
import yaml

from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_lab.experiments.preparation import Installation, prepare

PROBLEM = data_root() / "configs" / "problems" / "login_timeout.md"
SMALL = {
    "name": "small",
    "description": "Two searches on one problem.",
    "problems": [str(PROBLEM)],
    "models": ["simulated:base"],
    "pipelines": [{"name": "search"}],
    "searches": ["depth_first", "blind"],
    "seeds": {"first": 1000, "count": 4},
    "baseline": "search/blind",
}


def write_file(folder, **changes):
    """Write the small experiment with changes, and return its file."""
    value = {key: item for key, item in {**SMALL, **changes}.items() if item is not None}
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(value))
    return path


def prepared_in(folder, *, skip_broken=False, environment=None, **changes):
    """Prepare the small experiment with changes; its file is in a folder."""
    installation = Installation(registry({}, {}), data_root(), UserConfig(), environment or {}, 0.0)
    return prepare(write_file(folder, **changes), installation, skip_broken=skip_broken)


@pytest.fixture
def write(tmp_path):
    """Write the small experiment with changes into the test's folder, and return its file."""
    return partial(write_file, tmp_path)


@pytest.fixture
def prepared(tmp_path):
    """Prepare the small experiment with changes."""
    return partial(prepared_in, tmp_path)
