"""A rolling deploy: two releases as processes drive one journal, and no run is stranded."""

import pytest

from runtime.journal.versions import CODEC
from tests.cli.samples import ANALYSIS, ASKING, LOST, PLAN, PROBLEM, RECON, STRATEGY, write_script
from tests.releases.release import ROOT, Release, installed
from tests.support.postgres import running_server

TAG, COMMIT = "0.2.0", "5e0544b7407de8620a800b2f0c150f3802bf490f"
SCRIPT = {"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]}
"""What the author of each run writes: it asks once."""
DEFAULT = {"g_analysis": [ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY, STRATEGY], "g_plan": [LOST, PLAN]}
"""What the author writes in the default workflow, if the rows of its policy decide: they go back to the strategy."""
CALLS = 3
ANSWER = "Version 3.12"


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """The folder of the release before this one."""
    return installed(TAG, COMMIT, tmp_path_factory.mktemp("release"))


@pytest.fixture(params=["sqlite", "postgres"])
def journal(request, tmp_path):
    """The variables that name an empty journal."""
    home = {"REPLAN_HOME": str(tmp_path / "home")}
    if request.param == "sqlite":
        yield home
        return
    with running_server() as server:
        server.execute("postgres", "CREATE DATABASE rolling")
        yield {**home, "REPLAN_JOURNAL": server.url("rolling")}


@pytest.fixture
def releases(packages, journal, tmp_path):
    """The release before and this one, over the journal."""
    old, new = (Release(each, tmp_path, journal) for each in (packages, ROOT))
    yield old, new
    old.close()
    new.close()


def started(release, tmp_path):
    """Start a run for a host; return its id."""
    problem = tmp_path / "problem.md"
    problem.write_text(PROBLEM, encoding="utf-8")
    return release("run", problem, "-m", write_script(tmp_path, SCRIPT), "-w", "option_a", "--detach").strip()


def started_by_default(release, tmp_path):
    """Start a run of the default workflow for a host; return its id. Its policy has a belief, which is left out."""
    model = write_script(tmp_path, DEFAULT, "default.yaml")
    said = release("run", tmp_path / "problem.md", "-m", model, "--detach").splitlines()
    return next(line for line in said if " " not in line)


def answered(release, *runs):
    """Answer the question of each run."""
    for run in runs:
        release("answer", f"{run}/q1", ANSWER)


def vias(release, run):
    """Return the ways on which a run's answers came, as its records say it."""
    events = release.json("show", run, "--events")["events"]
    return [event.get("via") for event in events if event["kind"] == "clarification_answered"]


def test_a_rolling_deploy_strands_no_run_and_the_old_release_says_when_it_is_over(releases, tmp_path):
    """Hosts are killed in the middle and follow each other in both versions; then the floor is raised."""
    old, new = releases
    assert old.json("version")["version"] == TAG
    with old.host() as host:
        first = [started(old, tmp_path) for _ in "12"]
        assert new.json("journal", "upgrade", "--tables")["codec"] == CODEC - 1
        first += [started(new, tmp_path) for _ in "34"]  # The old host drives them on tables that were added to.
        host.until("waiting", *first)
        by_rows = started_by_default(new, tmp_path)
        host.until("finished", by_rows)
    assert old.json("show", by_rows)["outcome"] == "success"
    with new.host() as host:  # The old host was killed; the new one takes over at once.
        answered(old, first[0])
        answered(new, first[2])
        host.until("finished", first[0], first[2])
        second = [started(release, tmp_path) for release in (old, new)]
        host.until("waiting", *second)
    with new.host(), old.host():
        answered(new, first[1], second[0])
    with old.host() as host:  # Both were killed, wherever they were.
        answered(old, first[3], second[1])
        runs = [first[1], first[3], *second]
        waited = [run for run in runs if new.json("show", run)["status"] != "finished"]
        host.until("finished", *waited)
        left = started(old, tmp_path)
        host.until("waiting", left)
        refused = new("journal", "upgrade", code=2)
        assert "hosts of an earlier release serve this journal" in refused
        assert len(refused.splitlines()) == 1
    for release in releases:
        for run in (*first, *second):
            shown = release.json("show", run)
            in_flight = run in (first[1], second[0])  # Perhaps a call was, when both hosts were killed: it is unknown.
            assert (shown["outcome"], CALLS <= shown["calls"] <= CALLS + in_flight) == ("success", True), run
            assert vias(release, run) == [None]

    assert new.json("journal", "upgrade")["codec"] == CODEC
    for command in (["run", "problem.md", "-m", "rules"], ["answer", f"{left}/q1", ANSWER], ["resume", left], ["host"]):
        said = old(*command, code=9).splitlines()[-1]
        assert f"codec {CODEC} of a newer release" in said
        assert said.endswith("upgrade replan")
    assert old.json("show", first[0])["outcome"] == "success"
    with new.host() as host:
        newer = started(new, tmp_path)
        host.until("waiting", newer)
        listed = {row["run_id"]: row for row in old.json("runs")["runs"]}
        assert [run for run, row in listed.items() if row.get("needs_newer")] == [newer]
        assert "upgrade replan" in old("show", newer, code=9)
        assert f"{left}/q1" in old("questions")
        answered(new, left, newer)
        host.until("finished", left, newer)
    assert (vias(new, left), vias(new, newer)) == ([None], ["cli"])
    verified = new.json("journal", "verify")
    assert (verified["ok"], verified["findings"], verified["runs"]) == (True, [], 9)
