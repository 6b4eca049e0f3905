"""Commands that read runs: the list, the result, the tree, the plan, the prompts, the records and their lines."""

import json
import re
import shutil
import time

import pytest
import trio
from click.testing import CliRunner

from actors.planning.kind import PLANNING
from actors.values.format import clock, stamp
from replan.cli.app import app
from replan.runs.home import open_home
from runtime.process.identity import identity
from tests.cli.conftest import run_id
from tests.cli.samples import (
    ANALYSIS,
    ASKING,
    BACKTRACKS,
    DEMAND_KEYS,
    LOST,
    PLAN,
    PROBLEM,
    RECON,
    RESULT_KEYS,
    delayed_reply,
    distinct,
    write_script,
)
from tests.cli.test_bad_input import assert_refused


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory):
    """A home with a run that had one partial replan, and the run's id."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "problem.md").write_text(PROBLEM, encoding="utf-8")
    arguments = ["run", str(folder / "problem.md"), "-m", write_script(folder, BACKTRACKS), "--json"]
    result = CliRunner().invoke(app, arguments, env={"REPLAN_HOME": str(folder / "home")})
    return folder / "home", json.loads(result.stdout)["run_id"]


@pytest.fixture
def finished(shared_home, home):
    shutil.copytree(shared_home[0], home)
    return shared_home[1]


def test_the_list_has_the_contracts_keys(replan, finished):
    (row,) = json.loads(replan("runs", "--json").stdout)["runs"]
    assert set(row) == {"run_id", "kind", "status", "title", "outcome", "created", "updated", "records", "driven_by"}
    assert (row["run_id"], row["status"], row["outcome"], row["title"]) == (
        finished,
        "finished",
        "success",
        "Login fails",
    )
    assert finished in replan("runs").stdout


def test_an_empty_home_has_a_hint_how_to_begin(replan):
    assert "replan run PROBLEM" in replan("runs").stdout
    assert json.loads(replan("runs", "--json").stdout) == {"runs": []}
    assert "no open questions" in replan("questions").stdout


def test_the_doctor_counts_the_runs(replan, finished):
    assert ", 1 run, 0 waiting (" in replan("doctor").stdout


def test_show_prints_the_result_as_run_did(replan, finished):
    shown = json.loads(replan("show", finished, "--json").stdout)
    assert set(shown) == {*RESULT_KEYS, *DEMAND_KEYS, "outcome", "why"}
    assert "Plan p1" in replan("show", finished).stdout


READING = [["runs"], ["show", "--last", "--json"], ["log", "--last"], ["questions", "--json"]]


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
def test_invalid_settings_are_a_warning_for_a_reading_command(replan, finished, home, command):
    before = replan(*command)
    (home / "config.yaml").write_text("modle: rules\n")
    result = replan(*command)
    assert (result.exit_code, result.stdout) == (0, before.stdout)
    (warning,) = result.stderr.splitlines()
    assert warning.startswith(f"replan: warning: {home}/config.yaml:1")


@pytest.mark.parametrize("command", [["resume"], ["tell", "It is slow"], ["cancel"]], ids=lambda command: command[0])
def test_invalid_settings_stop_a_writing_command(replan, finished, home, command):
    (home / "config.yaml").write_text("modle: rules\n")
    assert_refused(replan(command[0], finished, *command[1:]), "config.yaml:1", "did you mean 'model'?")


def test_the_tree_explains_a_replan(replan, finished):
    text = replan("show", finished, "--tree").stdout
    for part in (
        "g_plan/v1.a1  rejected by plan_medium",
        "plan.precondition_unsatisfied at fix",
        "to g_analysis, g_recon because of plan.precondition_unsatisfied, by rule belief",
        "The mistake is most likely in the ",
        "cleared g_analysis, g_recon, g_strategy, g_plan; cost of the lost work: 5 calls",
        "=> local_retry because of plan.precondition_unsatisfied, by rule told: The finding says what to add",
        "g_plan/v2.a1  accepted",
    ):
        assert part in text


def test_the_tree_shows_the_usage_of_attempts_and_replans(replan, problem, scripted):
    script = {step: [delayed_reply(reply, tokens=1200) for reply in replies] for step, replies in BACKTRACKS.items()}
    replan("run", problem, "-m", scripted(script))
    lines = replan("show", "--last", "--tree").stdout.splitlines()
    attempts = [line for line in lines if re.search(r"g_\w+/v\d\.a\d  ", line)]
    assert len(attempts) == 9
    assert all(line.endswith("(1,200 tokens)") for line in attempts)
    assert [line.partition("cost of the lost work: ")[2] for line in lines if "cost of the lost work" in line] == [
        "5 calls, 6,000 tokens"
    ]


def test_the_tree_as_json_has_the_same_content(replan, finished):
    nodes = {item["node"]: item for item in json.loads(replan("show", finished, "--tree", "--json").stdout)["nodes"]}
    decision = nodes["g_plan/v1.a2"]["decision"]
    assert (decision["level"], decision["targets"], decision["rule"]) == (
        "full_replan",
        ["g_analysis", "g_recon"],
        "belief",
    )
    assert decision["cleared"] == ["g_analysis", "g_recon", "g_strategy", "g_plan"]
    assert decision["cost"]["calls"] == 5
    assert decision["weighing"]["options"][0]["targets"] == ["g_analysis", "g_recon"]
    assert nodes["g_strategy/v1.a1"]["status"] == "superseded"
    assert nodes["g_plan/v2.a1"]["parent"] == "g_strategy/v2.a1"
    assert sum(node["calls"] for node in nodes.values()) == 9


def test_the_plan_is_shown_as_text_or_json(replan, finished):
    assert json.loads(replan("show", finished, "--plan", "--json").stdout) == PLAN
    assert "Proved" not in replan("show", finished, "--plan").stdout


def test_the_diagram_has_steps_dependencies_and_failure_branches(replan, finished):
    text = replan("show", finished, "--mermaid").stdout
    assert text.startswith("flowchart TD\n")
    assert 's2{{"ask<br/>Ask somebody<br/>human"}}' in text
    assert "s1 --> s2" in text
    assert 's1 -. "fails: unknown" .-> s2' in text
    assert "s3 -. fails .-> handover" in text


def test_the_records_are_shown_and_logged(replan, finished):
    events = json.loads(replan("show", finished, "--events", "--json").stdout)["events"]
    assert [item["seq"] for item in events] == list(range(1, len(events) + 1))
    assert (events[0]["kind"], events[-1]["kind"]) == ("run_started", "run_finished")
    assert {"at", "epoch"} <= set(events[3])
    log = replan("log", finished)
    assert log.stdout == replan("show", finished, "--events").stdout
    assert log.stdout == replan("log", finished, "--follow").stdout
    assert len(log.stdout.splitlines()) == len(events)


def test_a_run_without_a_plan_has_no_plan_view(replan, problem, scripted):
    model = scripted({"g_plan": distinct(LOST, 3)})
    run = json.loads(replan("run", problem, "-m", model, "-w", "single", "--json").stdout)["run_id"]
    for view in ("--plan", "--mermaid"):
        assert_refused(replan("show", run, view), "no proved plan", f"replan show {run}")
    assert "No plan: all_pruned" in replan("show", run).stdout


@pytest.mark.parametrize("command", [["show"], ["log"], ["resume"], ["cancel"], ["questions"]])
def test_an_unknown_run_is_exit_8(replan, command, finished):
    assert_refused(replan(*command, "zzzzzzzz"), "no run 'zzzzzzzz'", "replan runs", code=8)
    assert_refused(replan(*command, finished[:5]), "is too short: give at least 6 characters of the run's id", code=8)


def test_a_run_is_named_by_six_characters(replan, finished):
    assert json.loads(replan("show", finished[:6], "--json").stdout)["run_id"] == finished


def test_an_error_about_a_run_is_an_object_with_json(replan):
    result = replan("show", "zzzzzzzz", "--json")
    assert result.exit_code == 8
    assert json.loads(result.stdout)["error"]["kind"] == "RunNotFound"


def test_mermaid_cannot_be_combined_with_json(replan, finished):
    result = replan("show", finished, "--mermaid", "--json")
    assert result.exit_code == 2


def test_views_cannot_be_combined(replan, finished):
    result = replan("show", finished, "--tree", "--plan", "--events")
    assert_refused(result, "--tree and --plan and --events", "keep one of the options")


def test_progress_has_local_time(monkeypatch):
    monkeypatch.setenv("TZ", "XXX2")
    time.tzset()
    try:
        assert clock(1_800) == "22:30:00"
        assert stamp(1_800) == "1970-01-01T00:30:00Z"
    finally:
        monkeypatch.undo()
        time.tzset()


NAMED = re.compile(r"([a-z]\w*)/v\d+\.a\d+(?:\.b(\d+))?")
"""A node id, alone or within a request id."""


async def announce():
    async with open_home() as engine:
        await engine.journal.announce("a host", identity(), 60.0)


@pytest.fixture
def beam_search(replan, home, problem, scripted):
    model = scripted({"g_plan": ["this is no plan", "nor is this", PLAN, PLAN]})
    assert replan("run", problem, "-m", model, "-w", "single", "--search", "beam:2").exit_code == 0
    lines = [json.loads(row) for row in (home / "log.jsonl").read_text().splitlines()]
    records = json.loads(replan("show", run_id(replan), "--events", "--json").stdout)["events"]
    return records, [row for row in lines if row["logger"] == "replan.journal"]


def test_each_record_has_one_line_with_its_number(beam_search):
    records, lines = beam_search
    assert [(row["seq"], row["event"]) for row in lines] == [(record["seq"], record["kind"]) for record in records]
    assert len({row["run_id"] for row in lines}) == 1


def test_the_line_of_a_record_with_a_node_has_its_step_and_branch(beam_search):
    records, lines = beam_search
    kinds, branches = set(), set()
    for record, row in zip(records, lines, strict=True):
        named = NAMED.search(f"{record.get('node', '')} {record.get('request_id', '')}")
        if named is not None:
            assert (row["step"], row["branch"]) == (named[1], int(named[2] or 0)), row
            kinds.add(record["kind"])
            branches.add(row["branch"])
    assert kinds >= {
        "generation_requested", "artifact_produced", "judgement_requested", "verdict_reached", "decided"
    }  # fmt: skip
    assert len(branches) > 1


def test_the_line_of_a_branch_event_has_its_branch(beam_search):
    _, lines = beam_search
    opened = [row["branch"] for row in lines if row["event"] == "branch_opened"]
    assert opened == list(range(1, len(opened) + 1))
    assert isinstance(lines[-1]["branch"], int)


def test_an_admission_is_logged(replan, home, problem):
    trio.run(announce)
    assert replan("run", problem, "-m", "template:bug", "--detach").exit_code == 0
    (line,) = [json.loads(row) for row in (home / "log.jsonl").read_text().splitlines()]
    assert (line["event"], line["seq"]) == ("run_started", 1)


def test_the_line_of_an_answer_has_its_step(replan, home, problem, scripted):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    assert replan("run", problem, "-m", model, "-w", "option_a", "--no-input").exit_code == 6
    run = run_id(replan)
    assert replan("answer", f"{run}/q1", "3.12").exit_code == 0
    assert replan("resume", run).exit_code == 0
    lines = [json.loads(row) for row in (home / "log.jsonl").read_text().splitlines()]
    (line,) = [row for row in lines if row["event"] == "clarification_answered"]
    assert (line["step"], line["node"], line["branch"]) == ("g_analysis", "g_analysis/v1.a1", 0)


WORKFLOW = """
name: look
action_pairs:
  look:
    generator: model
    guard: analysis_valid
    prompt: analysis
  search:
    generator: model
    guard: recon_valid
    prompt: recon
"""


@pytest.fixture
def analysed(replan, problem, scripted, tmp_path):
    (tmp_path / "look.yaml").write_text(WORKFLOW)
    model = scripted({"look": [ANALYSIS], "search": [RECON]})
    result = replan("run", problem, "-w", tmp_path / "look.yaml", "-m", model)
    assert result.exit_code == 0, result.output
    return result


def test_the_artifacts_of_the_leaves_are_printed_with_their_guards(analysed):
    lines = analysed.stdout.splitlines()
    assert '  "problem_type": "bug_fix",' in lines
    assert "Accepted by analysis_valid." in lines
    assert "Accepted by recon_valid." in lines
    assert "Proved" not in analysed.stdout
    assert "null" not in lines


def test_there_is_no_plan_to_show(analysed, replan):
    run = run_id(replan)
    assert_refused(replan("show", run, "--plan"), "workflow look", "makes no plan")
    assert_refused(replan("show", run, "--mermaid"), "makes no plan")
    assert json.loads(replan("show", run, "--json").stdout)["plan"] is None


@pytest.fixture
def planned(replan, problem, scripted):
    replan("run", problem, "-m", scripted(BACKTRACKS), "--no-input")
    return run_id(replan)


def test_every_call_of_a_run_is_rebuilt_with_its_hash(replan, planned):
    events = json.loads(replan("show", planned, "--events", "--json").stdout)["events"]
    requests = [event for event in events if event["kind"] == "generation_requested"]
    assert len(requests) == 9
    for event in requests:
        shown = json.loads(replan("show", planned, "--prompt", event["node"], "--json").stdout)
        assert (shown["prompt_hash"], shown["verified"]) == (event["prompt_hash"], True)
        assert [message["role"] for message in shown["messages"]] == ["system", "user"]
        assert PROBLEM.strip() in shown["messages"][1]["content"]


def test_the_messages_have_the_feedback_that_the_attempt_got(replan, planned):
    first = replan("show", planned, "--prompt", "g_plan/v1.a1").stdout
    assert first.startswith("=== system ===\n")
    assert "\n=== user ===\n" in first
    assert "nobody_makes_this" not in first
    assert "nobody_makes_this" in replan("show", planned, "--prompt", "g_plan/v2.a1").stdout


def test_an_unknown_call_is_refused_with_the_nearest_one(replan, planned):
    assert_refused(
        replan("show", planned, "--prompt", "g_plan/v1.a9"), "no call 'g_plan/v1.a9'", "did you mean 'g_plan/v1.a2'?"
    )
    assert_refused(replan("show", planned, "--prompt", "g_plan/v1.a1", "--tree"), "--tree and --prompt")


def test_rebuilt_messages_that_differ_from_the_sent_ones_are_reported(replan, planned):
    rebuilt = PLANNING.views.prompt

    def other(records, node):
        return rebuilt(records, node)._replace(verified=False)

    object.__setattr__(PLANNING.views, "prompt", other)
    try:
        result = replan("show", planned, "--prompt", "g_plan/v1.a1")
    finally:
        object.__setattr__(PLANNING.views, "prompt", rebuilt)
    assert result.exit_code == 1
    assert "these are not the exact messages of g_plan/v1.a1" in result.stderr
