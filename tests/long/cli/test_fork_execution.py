"""`replan fork` of an execution: a workspace of its own, and nothing done twice without a person's word."""

import json
import subprocess

import pytest

from tests.cli.conftest import run_id
from tests.cli.test_fork import forked, refused

TOOLS = """
tools:
  write:
    risk: none
    repeatable: true
    python: ./actions.py:write
  send:
    risk: none
    python: ./actions.py:send
  recall:
    risk: none
    python: ./actions.py:recall
  there:
    risk: none
    repeatable: true
    python: ./actions.py:there
generators: {maker: write, sender: send}
guards: {syntax: there}
"""
ACTIONS = """
def write(workspace):
    (workspace / "made").write_text("made")


def send(workspace):
    with (workspace.parent / "sent").open("a") as file:
        file.write("x")
    (workspace / "log").write_text("sent")


def recall(workspace):
    (workspace.parent / "recalled").write_text("x")


def there(workspace):
    return not (workspace.parent / "broken").exists()
"""


def step(name, generator, needs, gives, **more):
    fields = {"dependencies": [], "preconditions": [needs], "effects": [gives], "guard": "syntax", **more}
    return {"step_id": name, "name": name, "generator": generator, "retry_budget": 1, **fields}


PLAN = {
    "plan_id": "p1",
    "initial_state": ["start"],
    "goal_state": ["sent"],
    "total_retry_budget": 4,
    "steps": [
        step("make", "maker", "start", "made", undo="nothing"),
        step("send", "sender", "made", "sent", dependencies=["make"], undo="recall"),
    ],
}


def git(folder, *words):
    done = subprocess.run(
        ["git", "-c", "user.name=ann", "-c", "user.email=a@b", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture(params=["git", "plain"])
def executed(request, replan, tmp_path):
    """The id of an execution that has succeeded, with its folder: a git repository, or not."""
    (tmp_path / "tools.yaml").write_text(TOOLS)
    (tmp_path / "actions.py").write_text(ACTIONS)
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    work = tmp_path / "work"
    work.mkdir()
    (work / "given").write_bytes(b"one\r\n")
    if request.param == "git":
        git(work, "init", "-q", "-b", "main")
        (work / ".gitattributes").write_text("* text=auto eol=lf filter=evil\n")
        git(work, "config", "filter.evil.smudge", f"touch {tmp_path / 'hooked'}; cat")
        git(work, "config", "filter.evil.clean", "cat")
        hook = work / ".git" / "hooks" / "post-checkout"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'hooked'}\n")
        hook.chmod(0o755)
        git(work, "add", "-A")
        git(work, "commit", "-qm", "first")
    done = execute(replan, tmp_path)
    assert done.exit_code == 0, done.stderr
    return run_id(replan), work, request.param


def execute(replan, top):
    return replan(
        "execute", top / "plan.json", "--tools", top / "tools.yaml", "--workspace", top / "work", "-m", "template:bug"
    )


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != ".git"}


def places(replan, run):
    events = json.loads(replan("show", run, "--events", "--json").stdout)["events"]
    return [(record["seq"], record) for record in events]


def test_a_fork_works_in_a_folder_of_its_own_and_asks_before_it_sends_again(replan, executed, tmp_path):
    run, work, sort = executed
    before = files(work)
    at = ("--at", "make/r1.v1.a1")
    done = replan("fork", run, *at, "--workspace", tmp_path / "other", "--no-input", "--json", "-q")
    if sort == "plain":
        assert done.exit_code == 2
        assert (
            "the workspace is not a git repository, and has changed since the record at which you fork" in done.stderr
        )
        assert not (tmp_path / "other").exists()
        (work / "log").unlink()
        done = replan("fork", run, *at, "--workspace", tmp_path / "other", "--no-input", "--json", "-q")
    assert done.exit_code == 6, done.output
    fork = json.loads(done.stdout)["run_id"]
    assert (tmp_path / "sent").read_text() == "x", "it was not sent again"
    assert files(tmp_path / "other") == {name: text for name, text in before.items() if name != "log"}
    assert not (tmp_path / "hooked").exists(), "no hook and no filter ran"
    [question] = json.loads(replan("questions", fork, "--json").stdout)["questions"]
    assert "The run that this run was forked from has made this call" in question["about"]
    assert replan("answer", f"{fork}/q1", "it ran and succeeded").exit_code == 0
    resumed = replan("resume", fork, "--no-input", "--json", "-q")
    assert json.loads(resumed.stdout)["outcome"] == "success", resumed.stderr
    assert (tmp_path / "sent").read_text() == "x"
    assert "log" not in files(tmp_path / "other")
    assert replan("home", "verify").exit_code == 0
    if sort == "git":
        assert files(work) == before, "the other run's folder is as it was"
        assert "other" in git(work, "worktree", "list")
        assert git(work, "symbolic-ref", "--short", "HEAD") == "main"


def test_without_a_place_the_last_one_is_taken_that_a_snapshot_shows(replan, executed, tmp_path):
    """Where a check has failed, that is before the check: the fork checks again what the other run has made."""
    _, work, _ = executed
    for name in ("made", "log"):
        (work / name).unlink()
    (tmp_path / "broken").touch()
    assert execute(replan, tmp_path).exit_code == 6, "the first step fails its check, and a person is asked"
    run = run_id(replan)
    (tmp_path / "broken").unlink()
    done = forked(replan, run, "--workspace", tmp_path / "other")
    assert (done["outcome"], files(tmp_path / "other")["made"]) == ("success", b"made")
    kinds = [(event["kind"], event.get("node")) for _, event in places(replan, done["run_id"])]
    after = kinds[[kind for kind, _ in kinds].index("forked") :]
    assert ("tool_requested", "make/r1.v1.a1.act") not in after, "the file is not made again"
    assert json.loads(replan("show", run, "--json").stdout)["status"] == "waiting"
    assert (tmp_path / "sent").read_text() == "xx"


def test_a_place_that_no_snapshot_shows_is_refused_with_the_nearest_one(replan, executed, tmp_path):
    run, work, _ = executed
    [asked] = [seq for seq, event in places(replan, run) if event.get("node") == "send/r1.v1.a1.act"]
    line = refused(replan, run, "--at", asked, "--workspace", tmp_path / "other")
    near = f"the nearest record with a snapshot is {asked - 1}"
    assert f"--at: there is no snapshot of the workspace at record {asked} ({near})" in line
    assert not (tmp_path / "other").exists()
    line = refused(replan, run, "--at", 1, "--workspace", work)
    assert "this path already exists" in line
    assert "the folder above this path does not exist" in refused(
        replan, run, "--at", 1, "--workspace", tmp_path / "a" / "b"
    )
    assert "in Replan's home" in refused(replan, run, "--at", 1, "--workspace", tmp_path / "home" / "b")
    assert "cannot use another policy" in refused(replan, run, "--at", 1, "--policy", "belief")


def test_files_that_are_gone_are_one_line_and_leave_nothing_behind(replan, executed, tmp_path):
    run, work, sort = executed
    if sort == "git":
        (work / ".git").rename(work / "gone")
        assert "git cannot make a worktree: the workspace is no longer a git repository" in refused(
            replan, run, "--at", 3
        )
        git(tmp_path, "init", "-q", "elsewhere")
        (tmp_path / "elsewhere" / ".git").rename(work / ".git")
        line = refused(replan, run, "--at", 3)
        assert "not the same as at the start of the run" in line or "git cannot make a worktree" in line
    else:
        for path in work.iterdir():
            path.unlink()
        work.rmdir()
        assert "cannot be read" in refused(replan, run, "--at", 3)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("work-")] == []


def test_what_the_other_run_did_is_undone_by_a_fork_only_with_a_person_s_word(replan, executed, tmp_path):
    run, _, _ = executed
    last = max(seq for seq, event in places(replan, run) if event["kind"] == "step_settled")
    fork = forked(replan, run, "--at", last, "--workspace", tmp_path / "other")["run_id"]
    undone = replan("undo", fork, "--no-input", "--json", "-q")
    assert undone.exit_code == 6, undone.output
    [question] = json.loads(replan("questions", fork, "--json").stdout)["questions"]
    assert "the original run of this fork made the call" in json.dumps(question)
    assert not (tmp_path / "recalled").exists()
    assert replan("answer", f"{fork}/q1", "leave it").exit_code == 0
    assert json.loads(replan("resume", fork, "--no-input", "--json", "-q").stdout)["outcome"] == "undone"
    assert not (tmp_path / "recalled").exists()


def test_a_fork_of_a_fork_has_a_folder_of_its_own_too(replan, executed, tmp_path):
    run, _, _ = executed
    last = max(seq for seq, event in places(replan, run) if event["kind"] == "step_settled")
    first = forked(replan, run, "--at", last)
    second = forked(replan, first["run_id"], "--at", last)
    folders = [tmp_path / f"work-{first['run_id']}", tmp_path / f"work-{first['run_id']}-{second['run_id']}"]
    assert files(folders[0]) == files(folders[1]) == files(tmp_path / "work")
    assert (tmp_path / "sent").read_text() == "x"


def test_a_workspace_is_for_executions_alone(replan, problem, scripted, tmp_path):
    from tests.cli.samples import PLAN as SOUND

    replan("run", problem, "-w", "single", "-m", scripted({"g_plan": [SOUND]}), "--no-input", "-q")
    line = refused(replan, run_id(replan), "--at", 1, "--workspace", tmp_path / "other")
    assert "--workspace: runs of this kind have no workspace" in line
