"""The pytest plug-in, in a pytest of its own: what its fixtures, its marker and its assertion give a user's tests."""

import os
import re
import subprocess
import sys

import pytest

from replan.testing import assert_plan
from tests.cli.samples import BACKTRACKS, LOST, PLAN, PROBLEM, write_script

TESTS = f"""
import pytest
import replan
from replan.testing import assert_plan

SCRIPT = {BACKTRACKS!r}

def test_a_script_plans_in_a_home_of_the_test(replan_home, replan_script):
    result = replan.solve({PROBLEM!r}, model=replan_script(SCRIPT))
    assert_plan(result.plan, level="medium")
    assert [run.run_id for run in replan.runs(home=replan_home)] == [result.run_id]

@pytest.mark.replan_recording("replies.yaml")
def test_recorded(replan_home):
    assert replan.solve({PROBLEM!r}).calls == 9
    assert len(replan.runs()) == 1

@pytest.mark.replan_recording("missing.yaml")
def test_missing():
    pass

@pytest.mark.replan_recording()
def test_no_file():
    pass

def test_nothing_is_asked_for(monkeypatch):
    import os
    assert "REPLAN_HOME" not in os.environ
"""


def run_pytest(folder, *arguments, **environment):
    hidden = {"REPLAN_HOME", "REPLAN_MODEL", "PYTEST_CURRENT_TEST", "PYTEST_ADDOPTS"}
    known = {name: value for name, value in os.environ.items() if name not in hidden and "XDIST" not in name}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments]
    known |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "replan.testing", **environment}
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=False)


CHANGED = TESTS.replace("The login fails", "The logout fails")
LENIENT = CHANGED.replace('"replies.yaml")', '"replies.yaml", mode="lenient")')


def test_a_recording_is_made_with_a_model_once_replayed_without_it_and_completed(tmp_path):
    """A prompt that has changed fails with the difference, and only what is missing is recorded then."""
    tests, replies = tmp_path / "test_plans.py", tmp_path / "replies.yaml"
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    tests.write_text(TESTS)
    model = write_script(tmp_path, BACKTRACKS)
    recorded = run_pytest(tmp_path, "--replan-record", "-k", "recorded", REPLAN_MODEL=model)
    assert "1 passed" in recorded.stdout, recorded.stdout + recorded.stderr
    first = replies.read_text(encoding="utf-8")
    replayed = run_pytest(tmp_path)
    assert "3 passed, 2 errors" in replayed.stdout, replayed.stdout + replayed.stderr
    assert f"there are no recorded replies in {tmp_path / 'missing.yaml'}" in replayed.stdout
    assert "replan_recording takes a file of replies, and mode='strict' or 'lenient'" in replayed.stdout
    tests.write_text(CHANGED)
    changed = run_pytest(tmp_path, "-k", "recorded")
    assert re.search(r"the recording has no reply to the prompt of 'g_(analysis|recon)/v1\.a1'", changed.stdout)
    assert "-The login fails with a timeout" in changed.stdout
    assert "+The logout fails with a timeout" in changed.stdout
    added = run_pytest(tmp_path, "--replan-record-missing", "-k", "recorded", REPLAN_MODEL=model)
    assert "1 passed" in added.stdout, added.stdout
    both = replies.read_text(encoding="utf-8")
    assert (first.count("- request:"), both.count("- request:")) == (9, 18)
    (tmp_path / "script.yaml").unlink()
    (tmp_path / "test_changed.py").write_text(CHANGED)
    tests.write_text(TESTS)
    assert "2 passed" in run_pytest(tmp_path, "-k", "recorded").stdout
    (tmp_path / "test_changed.py").unlink()
    tests.write_text(LENIENT)
    replies.write_text(first, encoding="utf-8")
    assert "1 passed" in run_pytest(tmp_path, "-k", "recorded").stdout


def test_a_plan_that_is_not_proved_fails_with_its_findings():
    assert_plan(PLAN)
    with pytest.raises(pytest.fail.Exception, match=r"plan\.precondition_unsatisfied at"):
        assert_plan(LOST)
