"""The published experiments: their files are valid, and running them gives the committed tables."""

import hashlib
import json
from functools import cache
from itertools import pairwise

import jsonschema
import pytest
import yaml

from replan.setup.config_schemas import schema_text
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_lab.experiments.preparation import Installation, prepare
from replan_lab.experiments.report import CAPTIONS, captions, write_report
from replan_lab.experiments.results import RESULTS, ResultsFolder
from replan_lab.experiments.runner import run_simulated
from replan_lab.schemas import SCHEMAS

FOLDER = data_root() / "docs" / "experiments"
FILES = sorted(FOLDER.glob("*.yaml"))
FULL = sorted((FOLDER / "full").glob("*.yaml"))
TABLES = data_root() / "docs" / "experiments"
CONFIGS = data_root("replan_lab") / "configs"
SCHEMA = CONFIGS / "schemas" / "experiment.schema.json"
TRIAL_MS = 8.5
"""A limit of the milliseconds of a simulated trial on two cores, with its share of the report and the bounds."""
PROFILES = [*sorted((CONFIGS / "profiles").glob("*.yaml")), *sorted((FOLDER / "full" / "profiles").glob("*.yaml"))]
REPORTED = 1000
"""The first seed that is not for tuning."""


@cache
def prepared(path):
    """Prepare an experiment; it is not changed by a test."""
    return prepare(path, Installation(registry({}, {}), data_root(), UserConfig(), {}, 0.0))


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_current(name):
    """After a change to a model: `make docs`."""
    assert (SCHEMA.parent / f"{name}.schema.json").read_text() == schema_text(SCHEMAS[name])


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: f"{path.parents[1].name}-{path.stem}")
def test_a_profile_names_its_schema_and_fits_it(path):
    schema = CONFIGS / "schemas" / "profile.schema.json"
    first, text = path.read_text().split("\n", 1)
    assert (path.parent / first.removeprefix("# yaml-language-server: $schema=")).resolve() == schema
    jsonschema.validate(yaml.safe_load(text), json.loads(schema.read_text()))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_experiment_is_valid_and_uses_reporting_seeds(path):
    jsonschema.validate(yaml.safe_load(path.read_text()), json.loads(SCHEMA.read_text()))
    experiment = prepared(path)
    assert experiment.experiment.name == path.stem
    assert experiment.experiment.seeds.first >= REPORTED


@pytest.mark.parametrize(("paths", "minutes"), [(FILES, 15), (FULL, 15)], ids=["make lab", "make lab-full"])
def test_the_experiments_are_done_in_time_on_two_cores(paths, minutes):
    """By their number of trials; whoever adds more makes them cheaper or removes others."""
    assert paths
    trials = 0
    for path in paths:
        experiment = prepared(path)
        trials += len(experiment.arms) * len(experiment.problems) * len(experiment.experiment.seeds.all)
    assert trials * TRIAL_MS / 60_000 < minutes


def test_no_two_published_experiments_share_a_seed():
    """So their random errors are independent of each other."""
    windows = sorted((prepared(path).experiment.seeds.all for path in FILES), key=lambda window: window.start)
    assert all(window.stop <= following.start for window, following in pairwise(windows))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_experiment_has_all_its_tables(path):
    expected = set(captions(prepared(path).experiment))
    assert {table.stem for table in (TABLES / path.stem).glob("*.csv")} == expected


def test_the_quick_experiment_reproduces_its_committed_tables(tmp_path):
    """`make lab` checks all of them."""
    experiment = prepared(data_root() / "docs" / "experiments" / "quick.yaml")
    trials = run_simulated(experiment, ResultsFolder(tmp_path, experiment.header()), lambda done, of: None, 1)
    write_report(experiment, trials, tmp_path)
    for name in CAPTIONS:
        committed = TABLES / "quick" / f"{name}.csv"
        assert (tmp_path / committed.name).read_bytes() == committed.read_bytes(), f"{name}: run `make lab`"
    schema = json.loads((SCHEMA.parent / "trial.schema.json").read_text())
    for line in (tmp_path / RESULTS).read_text().splitlines()[:20]:
        jsonschema.validate(json.loads(line), schema)


@pytest.mark.parametrize("path", FULL, ids=lambda path: path.stem)
def test_an_experiment_of_the_long_set_is_valid(path):
    """`make lab-full` runs them; the race alone uses seeds for tuning."""
    jsonschema.validate(yaml.safe_load(path.read_text()), json.loads(SCHEMA.read_text()))
    experiment = prepared(path).experiment
    assert experiment.name == path.stem
    assert (experiment.seeds.first < REPORTED) == (path.stem == "race")
    assert (experiment.seeds.first + experiment.seeds.count <= REPORTED) == (path.stem == "race")


@pytest.mark.parametrize(
    ("name", "digest"),
    [("search.yaml", "5d969b2fa9231453"), ("policy.yaml", "ffbdbd9a91c7ed05")],
)
def test_the_baseline_is_that_of_the_first_laboratory(name, digest):
    """Its workflow and policy, byte for byte; a change of the shipped ones does not move the measure."""
    assert hashlib.sha256((FOLDER / "baseline" / name).read_bytes()).hexdigest()[:16] == digest


CHANGED = {
    "no_agreement": {"agreement": None},
    "leans_to_plan": {"causes": {"analysis": 0.1, "recon": 0.15, "strategy": 0.25, "plan": 0.4}},
    "mild": {"causes": {"analysis": 0.18, "recon": 0.2, "strategy": 0.22, "plan": 0.3}},
}
"""The keys of the belief that a policy of the experiments changes."""


@pytest.mark.parametrize(("name", "changes"), CHANGED.items(), ids=CHANGED)
def test_a_policy_of_the_experiments_differs_from_the_shipped_one_in_what_it_is_named_for(name, changes):
    shipped, other = (
        yaml.safe_load(path.read_text())
        for path in (data_root() / "configs" / "policies" / "belief.yaml", FOLDER / "policies" / f"{name}.yaml")
    )
    for key, values in changes.items():
        if values is None:
            del shipped["belief"][key]
        else:
            shipped["belief"][key] |= values
    assert {**other, "name": "belief"} == shipped
