"""What experiments are made of, in a folder of the test."""

import pytest
import yaml

from replan.experiments.preparing import Place, prepare
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

    def written(**changes):
        value = {key: one for key, one in {**SMALL, **changes}.items() if one is not None}
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump(value))
        return path

    return written


@pytest.fixture
def prepared(write):
    """Prepare the small experiment with changes."""

    def ready(*, skip_broken=False, environment=None, **changes):
        where = Place(registry({}, {}), data_root(), UserConfig(), environment or {}, 0.0)
        return prepare(write(**changes), where, skip_broken=skip_broken)

    return ready
