"""`replan fork` of acquisitions, and of runs of steps."""

import json

import pytest

from packages.acquire.tests.test_acquire_command import GOAL, KNOWN, MARKET
from tests.cli.conftest import run_id
from tests.cli.samples import PLAN
from tests.cli.test_delete import BELOW, PARENT
from tests.cli.test_fork import forked, refused


def shown(replan, run):
    return json.loads(replan("show", run, "--json").stdout)


def events(replan, run):
    return json.loads(replan("show", run, "--events", "--json").stdout)["events"]


def test_a_run_of_a_step_is_refused_with_the_run_that_is_to_be_forked(replan, planned, tmp_path):
    (tmp_path / "below.yaml").write_text(BELOW)
    (tmp_path / "parent.yaml").write_text(PARENT)
    top = planned({"g_plan": [PLAN], "g_sketch": []}, "-w", tmp_path / "parent.yaml")
    step = json.loads(replan("show", top, "--tree", "--json").stdout)["nodes"][0]["child"]
    line = refused(replan, step, "--at", 2, code=2)
    assert f"the run is a step of run {top}" in line
    assert f"replan fork {top}" in line


@pytest.fixture
def sized(replan):
    """The id of an acquisition that has ended, and its result."""
    more = (*KNOWN, "--set", "segment.win_rate=4 %")
    done = replan("acquire", "market_size", GOAL, "--docs", MARKET, *more, "--no-input", "--json", "-m", "quoting:")
    assert done.exit_code == 0, done.stderr
    return run_id(replan), json.loads(done.stdout)


def test_a_fork_of_an_acquisition_that_waits_takes_an_answer_of_its_own(replan):
    asked = replan("acquire", "market_size", GOAL, "--docs", MARKET, "--no-input", "--json", "-m", "quoting:")
    assert asked.exit_code == 6, asked.output
    run = run_id(replan)
    fork = forked(replan, run, code=6)
    assert fork["question"]["text"] == shown(replan, run)["question"]["text"]
    assert replan("answer", fork["question"]["id"], "Spain").exit_code == 0
    assert replan("resume", fork["run_id"], "--no-input").exit_code in (0, 6)
    assert "Spain" in replan("show", fork["run_id"], "--events", "--json").stdout
    assert "Spain" not in replan("show", run, "--events", "--json").stdout


def test_an_acquisition_takes_no_workflow_policy_or_workspace(replan, sized, tmp_path):
    run, _ = sized
    for option, value in (("--policy", "belief"), ("--workflow", "single"), ("--workspace", tmp_path / "w")):
        line = refused(replan, run, "--at", 2, option, value, code=2)
        assert option in line or option.removeprefix("--") in line


def test_a_fork_of_an_acquisition_goes_on_with_another_value_which_the_other_run_does_not_have(replan, sized):
    run, result = sized
    before = replan("log", run).stdout
    last = len(events(replan, run)) - 1
    done = forked(replan, run, "--at", last, "--set", "segment.win_rate=8 %")
    fields = {each["path"]: each for each in done["fields"]}
    assert (fields["segment.win_rate"]["value"], fields["segment.win_rate"]["source"]) == (8, "told by the user")
    assert done["calculation"] != result["calculation"], "what follows from it is calculated again"
    kinds = [event["kind"] for event in events(replan, done["run_id"])]
    assert kinds[last : last + 2] == ["forked", "value_told"], "it is told before anything else happens"
    assert replan("log", run).stdout == before
    assert replan("home", "verify").exit_code == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("segment.nonesuch=8 %", "'segment.nonesuch' is not a field of the profile market_size"),
        ("segment.win_rate=none", "segment.win_rate"),
        ("segment.win_rate", "--set: 'segment.win_rate' sets no value"),
        ("Segment=8", "--set: 'Segment=8' sets no field"),
        (f"segment.win_rate={'8' * 600}", "sets no field"),
        ("core.currency=USD", "the units of other values depend on core.currency"),
    ],
)
def test_a_value_that_is_none_starts_no_fork(replan, sized, given, told):
    assert told in refused(replan, sized[0], "--at", len(events(replan, sized[0])) - 1, "--set", given, code=2)


def test_a_planning_run_takes_no_values(replan, planned):
    assert "--set: runs of this kind take no values" in refused(replan, planned(), "--at", 1, "--set", "a.b=1", code=2)
