"""`kill -9` at every labelled point of an acquisition run, then `replan resume`: real processes, the model `quoting:`.

The result is the same, no question is asked twice, and no finished call or search is made again.
"""

import json
import os
import subprocess
from collections import Counter

import pytest
import trio

import replan
from actors.run.calls import Replied
from actors.run.ids import call_of
from actors.run.questions import ClarificationRequested
from actors.run.tools import ToolFinished
from packages.acquire.tests.acquisition.stage import profile_file
from packages.acquire.tests.acquisition.states import SMALL
from replan_acquire.acquisition.kind import CODEC
from replan_acquire.acquisition.prepare import AcquisitionInput
from runtime.core.clock import SystemClock
from runtime.core.hooks import LABELS
from runtime.journal.port import RunFilter
from runtime.journal.sqlite.journal import open_sqlite

POINTS = (*(label for label in LABELS if label != "judge.after"), "tool.prepared", "tool.started", "tool.after")
"""The labelled points of an acquisition run: no guard judges in one."""
QUICK = ("append.after", "reply.after", "tool.started")
"""The points of the quick tests. Those of all the others are in `packages/acquire/tests/long/test_kill_points.py`."""
DOCUMENTS = {
    "shops.md": "# Retail\n\nThis is the report of the office for trade. In 2023 there were 1,250 shops in Portugal.\n",
    "people.md": "# Census\n\nThis is the census of the city. It has counted 310,000 people in Portugal in the year.\n",
    "visits.md": "# Habits\n\nThere are 4.5 visits per person, says the survey of the office in Portugal.\n",
}
TTL = 0.06
"""Length of the lease in seconds: short, so that it is renewed during a run."""


class Case:
    """A home with one run that is admitted and not driven yet."""

    def __init__(self, folder, commands):
        self.folder, self.commands = folder, commands
        documents = folder / "documents"
        documents.mkdir()
        for name, text in DOCUMENTS.items():
            (documents / name).write_text(text)
        value = json.loads(json.dumps(SMALL))
        value["fields"]["market.visits"]["unit"] = ""
        value["fields"]["market.visits"]["decomposition"]["fields"]["rate"]["unit"] = ""
        given = {"core.region": "Portugal", "core.currency": "EUR"}
        profile = str(profile_file(folder, json.dumps(value)))
        task = AcquisitionInput(profile, "Shops.", {"folder": str(documents)}, given)
        replan.admit("acquisition", task, model="quoting:", home=folder / "home")

    def replan(self, *argv, **more):
        """Run a command line; return its exit code and its output, decoded from JSON where there is some."""
        done = self.commands.start(
            *argv,
            env={"REPLAN_HOME": str(self.folder / "home"), "PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            stdout=self.folder / "out",
            stderr=self.folder / "err",
            count=str(self.folder / "count"),
            **more,
        )
        code = done.wait()
        text = (self.folder / "out").read_text()
        return code, json.loads(text) if text.startswith("{") and code >= 0 else None

    def drive(self, **more):
        """Drive the run to its end, or until it is killed; the questions are answered. Return the code and result."""
        for _ in range(4):
            code, result = self.replan("resume", "--last", "--no-input", "--json", **more)
            if code != 6:
                return code, result
            code, _ = self.replan("answer", "--last", "250.50 EUR")
            assert code == 0, (self.folder / "err").read_text()
        raise AssertionError("a question was asked again")

    async def read(self):
        async with open_sqlite(
            self.folder / "home" / "journal.sqlite3", {"acquisition": CODEC}, SystemClock()
        ) as journal:
            [row] = await journal.runs(RunFilter())
            return [record.event for record in await journal.read(row.run)]


def shown(result):
    """Return what must be the same after any kill."""
    return {key: result[key] for key in ("outcome", "fields", "calculation", "path")}


@pytest.fixture(scope="module")
def undisturbed(commands, tmp_path_factory):
    """The result of a run that nobody kills, and how often each label was reached while it went on to its end."""
    case = Case(tmp_path_factory.mktemp("undisturbed"), commands)
    counts = Counter()
    code, result = case.replan("resume", "--last", "--no-input", "--json", ttl=TTL)
    counts.update(json.loads((case.folder / "count").read_text()))
    assert code == 6
    assert case.replan("answer", "--last", "250.50 EUR")[0] == 0
    code, result = case.replan("resume", "--last", "--no-input", "--json", ttl=TTL)
    counts.update(json.loads((case.folder / "count").read_text()))
    assert (code, result["outcome"]) == (0, "success"), result
    return shown(result), counts


def test_every_labelled_point_is_reached(undisturbed):
    reached = {*undisturbed[1]}
    assert {*POINTS} - reached <= {"renew.before"}  # A short run may not renew its lease.


@pytest.mark.parametrize("label", QUICK)
def test_a_kill_at_a_labelled_point_changes_nothing(label, commands, undisturbed, tmp_path):
    check_kill(label, Case(tmp_path, commands), undisturbed)


def check_kill(label, case, undisturbed):
    """Kill a run where a label is reached, let it go on, and check that it ends as one that nobody kills."""
    nth = 2 if label in ("reply.after", "tool.after") else 1
    code, _ = case.drive(kill={"label": label, "nth": nth}, ttl=TTL)
    assert code in (-9, 0)
    code, result = case.drive()
    assert code == 0
    assert shown(result) == undisturbed[0]
    events = trio.run(case.read)
    calls = Counter(call_of(event.request_id) for event in events if isinstance(event, Replied))
    searches = Counter(call_of(event.request_id) for event in events if isinstance(event, ToolFinished))
    questions = Counter(event.text for event in events if isinstance(event, ClarificationRequested))
    assert {*calls.values(), *searches.values(), *questions.values()} == {1}
