"""`acquire GOAL`: a model proposes a profile, a guard checks it, a person approves it, and it is written and used."""

import json

import pytest
import yaml

from packages.acquire.tests.acquisition.test_profile_guard import GOOD, changed
from tests.cli.conftest import run_id
from tests.cli.samples import write_script

GOAL = "cost per km of our van fleet"


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "fleet.md").write_text("The insurance is 1,250.50 EUR per year. The distance is 28,500 km per year.\n")
    return folder


def test_a_proposal_is_mended_approved_written_and_used(replan, tmp_path, docs):
    wrong = changed(["fields", "cost.insurance", "default"], 300)
    model = write_script(tmp_path, {"g_profile": [wrong, GOOD]})
    path = tmp_path / "fleet.yaml"
    asked = replan("acquire", GOAL, "--docs", docs, "-m", model, "-o", path, "--no-input")
    assert asked.exit_code == 6
    assert "profile rejected: a default has no source" in asked.stderr
    assert f"export {run_id(replan)} -o {path}` writes the profile" in asked.stderr
    assert not path.exists()
    replan("answer", "--last", "approve")
    assert replan("resume", "--last").exit_code == 0
    replan("export", "--last", "-o", path)
    assert yaml.safe_load(path.read_text()) == GOOD
    done = replan("acquire", path, GOAL, "--docs", docs, "-m", "quoting:", "--json")
    [step] = json.loads(done.stdout)["calculation"]["steps"]
    assert step["value"] == pytest.approx(1250.5 / 28_500)


def test_a_rejected_proposal_is_made_anew_with_the_reason(replan, tmp_path, docs):
    model = write_script(tmp_path, {"g_profile": [GOOD, changed(["name"], "other")]})
    replan("acquire", GOAL, "--docs", docs, "-m", model, "--no-input", "-o", tmp_path / "a.yaml")
    replan("answer", "--last", "reject: another name")
    replan("resume", "--last", "--no-input")
    shown = replan("show", "--last", "--prompt", "g_profile/v1.a2").stdout
    assert "another name" in shown
    assert "1,250.50 EUR" in shown  # The documents are there as material.


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-m", "template:bug"], "-m: a template cannot propose a profile"),
        (["-o", "a.json"], "-o: a profile must be a YAML file"),
        (["-o", "there.yaml"], "-o: there.yaml exists already"),
        (["-o", "none/a.yaml"], "-o: the folder of this file does not exist"),
        (["--docs", "none"], "--docs: there is no such folder"),
    ],
)
def test_a_mistake_is_one_line(replan, tmp_path, monkeypatch, more, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.yaml").touch()
    model = [] if "-m" in more else ["-m", write_script(tmp_path, {"g_profile": [GOOD]})]
    done = replan("acquire", GOAL, *model, *more)
    assert done.exit_code == 2
    assert said in done.stderr
