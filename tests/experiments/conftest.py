"""Fixtures that write and prepare a small experiment."""

import pytest
import yaml

from replan.experiments.preparation import Installation, prepare
from replan.setup.data_files import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig

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


@pytest.fixture
def write(tmp_path):
    """Write the small experiment with changes, and return its file."""

    def write_file(**changes):
        value = {key: item for key, item in {**SMALL, **changes}.items() if item is not None}
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump(value))
        return path

    return write_file


@pytest.fixture
def prepared(write):
    """Prepare the small experiment with changes."""

    def prepared_experiment(*, skip_broken=False, environment=None, **changes):
        installation = Installation(registry({}, {}), data_root(), UserConfig(), environment or {}, 0.0)
        return prepare(write(**changes), installation, skip_broken=skip_broken)

    return prepared_experiment
