"""The published experiments: sound files, and tables that come out again as they are committed."""

import json

import jsonschema
import pytest
import yaml

from replan.experiments.preparing import Place, prepare
from replan.experiments.report import CAPTIONS, write_report
from replan.experiments.results import RESULTS, Store
from replan.experiments.running import run_simulated
from replan.experiments.schemas import SCHEMAS
from replan.setup.config_schemas import schema_text
from replan.setup.data_files import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig

FILES = sorted((data_root() / "configs" / "experiments").glob("*.yaml"))
TABLES = data_root() / "docs" / "experiments"
SCHEMA = data_root() / "configs" / "schemas" / "experiment.schema.json"
REPORTED = 1000
"""The first seed that is not for tuning."""


def prepared(path):
    return prepare(path, Place(registry({}, {}), data_root(), UserConfig(), {}, 0.0))


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_the_models(name):
    """After a change to a model: `python -m replan.experiments.schemas configs/schemas`."""
    assert (SCHEMA.parent / f"{name}.schema.json").read_text() == schema_text(SCHEMAS[name])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_experiment_is_sound_and_reports_on_fresh_seeds_only(path):
    jsonschema.validate(yaml.safe_load(path.read_text()), json.loads(SCHEMA.read_text()))
    ready = prepared(path)
    assert ready.experiment.name == path.stem
    assert ready.experiment.seeds.first >= REPORTED


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_experiment_has_all_its_tables(path):
    assert {table.stem for table in (TABLES / path.stem).glob("*.csv")} == set(CAPTIONS)


def test_the_quick_experiment_comes_out_as_it_is_committed(tmp_path):
    """`make lab` does this for all of them."""
    ready = prepared(data_root() / "configs" / "experiments" / "quick.yaml")
    trials = run_simulated(ready, Store(tmp_path, ready.header()), lambda done, of: None, 1)
    write_report(ready.experiment, trials, len(trials), tmp_path)
    for name in CAPTIONS:
        committed = TABLES / "quick" / f"{name}.csv"
        assert (tmp_path / committed.name).read_bytes() == committed.read_bytes(), f"{name}: run `make lab`"
    schema = json.loads((SCHEMA.parent / "trial.schema.json").read_text())
    for line in (tmp_path / RESULTS).read_text().splitlines()[:20]:
        jsonschema.validate(json.loads(line), schema)
