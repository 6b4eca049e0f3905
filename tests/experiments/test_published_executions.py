"""The published experiments about executions: their files are valid, and running them gives the committed tables."""

import json

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from replan.cli.app import app
from replan.experiments.executions import prepare_executions
from replan.experiments.preparation import Installation
from replan.experiments.results import RESULTS
from replan.setup.data_files import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig

FILES = sorted((data_root() / "docs" / "experiments" / "executions").glob("*.yaml"))
COMMITTED = data_root() / "docs" / "experiments"
SCHEMAS = data_root() / "configs" / "schemas"
TABLES = ("arms", "outcomes", "rules")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_experiment_is_valid_uses_reporting_seeds_and_has_its_tables(path):
    schema = json.loads((SCHEMAS / "execution_experiment.schema.json").read_text())
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)
    prepared = prepare_executions(path, Installation(registry({}, {}), data_root(), UserConfig(), {}, 0.0))
    assert prepared.experiment.name == path.stem
    assert prepared.experiment.seeds.first >= 1000
    assert {table.stem for table in (COMMITTED / path.stem).glob("*.csv")} == set(TABLES)


def test_the_command_reproduces_the_committed_tables_of_the_quick_experiment(tmp_path):
    """`make lab` checks all of them."""
    [path] = [path for path in FILES if path.stem == "tools_quick"]
    result = CliRunner().invoke(app, ["experiment", str(path), "--out", str(tmp_path), "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "retry_only" in result.stdout
    for name in TABLES:
        committed = COMMITTED / "tools_quick" / f"{name}.csv"
        assert (tmp_path / committed.name).read_bytes() == committed.read_bytes(), f"{name}: run `make lab`"
    schema = json.loads((SCHEMAS / "execution_trial.schema.json").read_text())
    for line in (tmp_path / RESULTS).read_text().splitlines()[:20]:
        jsonschema.validate(json.loads(line), schema)


def test_the_command_prints_the_tables_as_json(tmp_path):
    path = tmp_path / "mine.yaml"
    value = yaml.safe_load(FILES[0].read_text()) | {"seeds": {"first": 0, "count": 1}, "name": "mine"}
    value["policies"] = [{"name": "default"}]
    path.write_text(yaml.safe_dump(value))
    result = CliRunner().invoke(app, ["experiment", str(path), "--out", str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert set(TABLES) <= set(printed)
    assert printed["arms"][0]["achieved_low"] is None
