"""The study with a real model: its replies are to the requests that its code makes, and its table is theirs."""

import json
import sys
from importlib import import_module

import pytest

from tests.tidy.source import ROOT

STUDY = ROOT / "benchmarks" / "study"
SCRIPTS = ("analysis", "replay", "tasks", "record", "common")


@pytest.fixture
def study(monkeypatch):
    """The scripts beside the data, which no package has: imported by name, and forgotten afterwards."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.syspath_prepend(str(STUDY))
    yield import_module("analysis")
    for name in SCRIPTS:
        sys.modules.pop(name, None)


@pytest.fixture
def rows():
    return [json.loads(line) for line in (STUDY / "replies.jsonl").read_text().splitlines()]


def test_every_recorded_first_reply_has_the_key_of_its_request(study, rows):
    record, tasks = import_module("record"), import_module("tasks")
    checked = 0
    for row in rows:
        if row["call"] == "choice" and "after" not in row:
            request = [*tasks.choice_request(tasks.task(row["task"])), record.MODEL, record.TEMPERATURE, row["sample"]]
            assert row["key"] == record.text_hash(json.dumps(request))[:32]
            checked += 1
    assert checked == 60 * record.FIRST


def test_the_published_facts_are_those_of_the_replies(study, rows):
    table, _ = study.facts(study.recorded(study.REPLIES), rows)
    published = json.loads((ROOT / "benchmarks" / "results" / "study.json").read_text())["facts"]
    assert study.rounded(table) == published


def test_an_arm_plays_a_task_from_the_replies_and_the_same_again(study):
    name = next(iter(study.recorded(study.REPLIES)))
    trials, asked, missing = study.replay_task(name, 2)
    assert study.replay_task(name, 2) == (trials, asked, missing)
    assert len(trials) == 2 * len(study.prepared().arms)
    assert asked == sum(trial.calls for trial in trials)
    assert missing < asked / 2
    assert {trial.outcome for trial in trials} <= {"success", "budget_exhausted", "escalated"}
