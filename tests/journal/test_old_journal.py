"""A home that an earlier release has written: every run in it is shown as that release showed it, and goes on.

The folder `ba24455` has the journal, what that release printed about each of its runs, and what the unfinished ones
came to when it resumed them. It was made once, by the programs in it, with that release, and is never made anew.
"""

import json
import re
import time
import zipfile

import pytest

from replan.cli.app import app
from tests.journal.ba24455.showing import (
    ENVIRONMENT,
    HERE,
    LISTS,
    RESUMED,
    VIEWS,
    called,
    kept,
    pretty,
    resumed,
    shortened,
    unpack,
    without_times,
)

with zipfile.ZipFile(HERE / "expected.zip") as _archive:
    EXPECTED = {name: _archive.read(name).decode() for name in _archive.namelist()}
RUNS = sorted(name.removesuffix(".show.txt") for name in EXPECTED if name.endswith(".show.txt"))
WRITTEN_ANEW = {
    "crashed01": ("g_plan",),
    "daily0001": ("g_strategy", "g_plan"),
    **dict.fromkeys(("admitted1", "aside0001", "waiting01", "waiting02"), ("g_analysis", "g_strategy", "g_plan")),
    "crashed02": ("g_plan",),
    "crashed02.367efd6c": ("c_plan",),
}
"""The runs that the built-in author writes on, with the steps whose texts it has worded in another way since then."""
WITHOUT_PLAN = [run for run in RUNS if f"{run}.plan.txt" not in EXPECTED]


def frame_of(shown):
    """Return what a run came to without the texts of its author."""
    frame = {key: value for key, value in shown.items() if key not in ("plan", "path", "not_taken_up", "not_checked")}
    return frame | {"path": [(step["step"], step["node"], step["score"]) for step in shown["path"]]}


def values_of(shown, *, without):
    """Return the accepted artifacts of a run, apart from those of the steps `without`."""
    return {step["step"]: step["value"] for step in shown["path"] if step["step"] not in without}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Print as wide as then, without colours, and in UTC."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def home(tmp_path):
    """A copy of the old home."""
    return unpack(tmp_path / "home")


EXPLAINED = re.compile(r"\nWhat \w+ means: replan explain \w+$", re.MULTILINE)
"""The line that names the command which explains an outcome."""


UNTIL = re.compile(r', "until": "[^"]+"')
"""When a question expires, which that release did not list."""


def written(name):
    """Return what the old release printed."""
    return EXPECTED[name]


def test_there_are_runs_of_every_kind():
    """A folder without files would let everything pass."""
    assert len(RUNS) >= 35
    assert set(RESUMED) <= set(RUNS)
    assert len(WITHOUT_PLAN) < len(RUNS) - 10
    assert {"finished1", "failed001", "pruned001", "crashed01", "parent001", "parent001.367efd6c"} <= set(RUNS)


@pytest.mark.parametrize("name", LISTS)
def test_an_old_home_is_listed_as_it_was(home, name):
    done = called(app, home, *LISTS[name])
    assert done.exit_code == 0, done.output
    shown = kept(done.stdout, name).replace('"kind": "planning", ', "")  # That release knew one kind.
    shown = UNTIL.sub("", shown)
    assert shown == written(f"{name}.txt")


@pytest.mark.parametrize("run", RUNS)
def test_an_old_run_is_shown_as_it_was(home, run):
    """In every view; and looking at it changes nothing."""
    for _ in range(2):
        for view, options in VIEWS.items():
            done = called(app, home, "show", run, *options)
            if view in ("plan", "mermaid") and run in WITHOUT_PLAN:
                assert done.exit_code == 2, done.output
            else:
                assert done.exit_code == 0, done.output
                shown, before = kept(done.stdout, view), written(f"{run}.{view}.txt")
                if view == "events_json":
                    shown, before = without_times(shown), without_times(before)
                if isinstance(shown, str):  # That release named the kind of a composite, not its members.
                    shown = shown.replace("accepted by plan_medium and human_review", "accepted by all_of")
                if view == "show":
                    # That release could not go on with a run that had ended, so it advised other things; and it had no
                    # command that explains an outcome.
                    shown, before = shown.partition("\nNext: ")[0], before.partition("\nNext: ")[0]
                    shown = EXPLAINED.sub("", shown)
                assert shown == before, view


@pytest.mark.parametrize("run", RESUMED)
def test_an_old_run_goes_on_to_what_it_came_to_then(home, run):
    """To the same outcome and the same plan, with as many calls; what was written before stays as it was.

    Where the built-in author wrote on, everything but its texts is the same.
    """
    for name, text in resumed(app, home, run):
        if name in WRITTEN_ANEW:
            now, before = json.loads(text), json.loads(written(f"{name}.resumed.json"))
            assert frame_of(now) == frame_of(before)
            assert now["plan"]["steps"]
            assert now["not_taken_up"] == []
            assert values_of(now, without=WRITTEN_ANEW[name]) == values_of(before, without=WRITTEN_ANEW[name])
        elif name == "waiting04":
            # Nobody answered the author in time: since then it gives up and says so, and does not ask again.
            now, before = json.loads(text), json.loads(written(f"{name}.resumed.json"))
            assert (before["outcome"], now["outcome"]) == ("all_pruned", "not_understood")
            changed = ("outcome", "why", "calls", "findings")
            assert {key: now[key] for key in now if key not in changed} == {
                key: before[key] for key in before if key not in changed
            }
        else:
            assert text == written(f"{name}.resumed.json")
        now = without_times(called(app, home, "show", name, "--events", "--json").stdout)["events"]
        before = without_times(written(f"{name}.events_json.txt"))["events"]
        assert shortened(now[: len(before)]) == before


@pytest.mark.parametrize("command", [("resume", "created01"), ("cancel", "created01"), ("tell", "created01", "x")])
def test_an_old_run_without_a_record_says_that_it_never_began(home, command):
    done = called(app, home, *command)
    assert done.exit_code == 2
    assert "stopped before anything was recorded" in done.output
    assert "start it again with `replan run`" in done.output


def test_an_old_run_of_a_step_goes_on_only_with_the_run_above(home):
    done = called(app, home, "resume", "parent001.367efd6c")
    assert done.exit_code == 2
    assert "replan resume parent001" in done.output


@pytest.mark.parametrize("run", ["waiting01", "crashed01", "parent001"])
def test_an_old_run_can_be_cancelled(home, run):
    assert called(app, home, "cancel", run).exit_code == 0
    assert '"outcome": "cancelled"' in called(app, home, "show", run, "--json").stdout


def test_long_texts_are_compared_by_their_hash():
    short, long = "a" * 200, "a" * 201
    assert shortened({"key": [short, 1, None]}) == {"key": [short, 1, None]}
    assert shortened([long])[0].startswith("201 characters with the SHA-256 ")
    assert pretty({"a": [{"b": 1}], "c": []}) == '{\n"a": [\n {"b": 1}\n],\n"c": []\n}\n'


@pytest.mark.parametrize(
    ("run", "options", "ended"),
    [
        ("failed001", ("-m", "rules"), "failed"),
        ("budget001", ("-m", "rules", "--max-calls", "20"), "budget_exhausted"),
    ],
)
def test_an_old_run_that_ended_by_its_provider_or_its_budget_is_gone_on_with(home, run, options, ended):
    """What was accepted is not asked for again, and what was written stays as it was."""
    before = json.loads(called(app, home, "show", run, "--json").stdout)
    assert before["outcome"] == ended
    done = called(app, home, "resume", run, *options, "--json", "--no-input")
    assert done.exit_code in (0, 6), done.output
    now = json.loads(called(app, home, "show", run, "--json").stdout)
    assert now["status"] in ("finished", "waiting")
    kept_path = [step["node"] for step in now["path"]]
    assert [step["node"] for step in before["path"]] == kept_path[: len(before["path"])]
    written_then = without_times(written(f"{run}.events_json.txt"))["events"]
    assert (
        shortened(without_times(called(app, home, "show", run, "--events", "--json").stdout)["events"])[
            : len(written_then)
        ]
        == written_then
    )


def test_an_old_journal_is_verified_as_it_is(home):
    before = (home / "journal.sqlite3").read_bytes()
    done = called(app, home, "doctor", "--verify")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("ok     38 runs, 633 records, 12 messages: ")
    assert (home / "journal.sqlite3").read_bytes() == before
