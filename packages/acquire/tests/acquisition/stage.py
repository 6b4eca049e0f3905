"""An acquisition run without actors: tests give the replies, the passages and the answers."""

import json
from pathlib import Path

from actors.run.calls import Faulted, Generated
from actors.run.kind import Setup
from actors.run.machine import MODEL
from actors.run.questions import USER
from actors.run.tools import Begun, Checked, Ended, ToolOutcome
from replan.setup.installation import data_root
from replan_acquire.acquisition.machine import AcquisitionMachine
from replan_acquire.acquisition.prepare import AcquisitionInput, prepare_acquisition
from runtime.core.ledger import Usage
from runtime.core.machine import Refused, settle
from runtime.core.messages import Mailed, Parking, Resumed, Woken
from runtime.models.port import Fault, FaultKind, Reply

START = 1_000_000_000.0
GOAL = "EV charging stations for apartment buildings in Portugal"


def setup(**fields):
    """Return what a run is prepared with."""
    values = {
        "model": "quoting:",
        "price": None,
        "registry": None,
        "root": data_root(),
        "environment": {},
        "now": START,
    }
    return Setup(**(values | fields))


def prepared(profile="market_size", goal=GOAL, **options):
    """Return a run that may begin, with a shipped profile, the path of one, or the text of one."""
    return prepare_acquisition(AcquisitionInput(str(profile), goal, **options), setup())


def profile_file(folder, text, name="profile.yaml"):
    path = Path(folder) / name
    path.write_text(text, encoding="utf-8")
    return path


GIVEN = {
    "core.region": "Portugal",
    "core.currency": "EUR",
    "market.customers": "1000",
    "market.annual_spend": "20",
    "segment.share": "50 %",
    "segment.win_rate": "10 %",
}
"""The values with which the shipped profile `market_size` needs no document."""


class Stage:
    """One run; after each message the machine has decided all that follows, and a refold gives the same state."""

    def __init__(self, job=None, machine=None):
        self.machine = machine or AcquisitionMachine()
        self.state, self.events, self.now, self.mailed = self.machine.initial(), [], START, 0
        first = self.machine.accept(self.state, (job or prepared()).first("run", START))
        self.state, self.events = self.machine.evolve(self.state, first), [first]  # As where a run is admitted.
        self.send(Resumed(1, self.tick()))

    def tick(self):
        self.now += 1.0
        return self.now

    def send(self, message):
        """Give the machine a message; return what it made of it, None for a duplicate."""
        event = self.machine.accept(self.state, message)
        if event is None or isinstance(event, Refused):
            return event
        self.state, events = settle(self.machine, self.state, event)
        self.events += events
        return event

    @property
    def work(self):
        return self.machine.outstanding(self.state)

    @property
    def planner(self):
        return self.state.planner

    @property
    def finished(self):
        return self.state.run.finished

    @property
    def hops(self):
        """The hops so far, as `node:outcome`."""
        return [f"{each.node}:{each.outcome}" for each in self.state.path]

    def only(self, address):
        fitting = [each for each in self.work.values() if each.address.startswith(address)]
        assert len(fitting) == 1, f"the run waits for {[*self.work]} at {self.state.node}"
        return fitting[0]

    @property
    def request(self):
        return self.machine.brief(self.state, self.only(MODEL))

    @property
    def question(self):
        return self.only(USER).request

    def reply(self, value, **fields):
        """Answer the open call of the model."""
        text = value if isinstance(value, str) else json.dumps(value)
        request = self.only(MODEL).request_id
        return self.send(Generated(request, self.tick(), 1.0, Reply(text, Usage(), "test", **fields)))

    def fault(self, kind=FaultKind.TIMEOUT):
        request = self.only(MODEL).request_id
        return self.send(Faulted(request, self.tick(), 1.0, Fault(kind=kind, message="down")))

    def plan(self, action, target="", **fields):
        """Answer a call for a decision."""
        assert self.request.purpose == "plan"
        return self.reply({"action": action, "target_field": target, **fields})

    def found(self, *passages):
        """End the open search: each passage is a text, or a pair of a source and a text."""
        pairs = [each if isinstance(each, tuple) else (f"doc{n}.md", each) for n, each in enumerate(passages, 1)]
        output = {
            "passages": [
                {"source": source, "title": "", "text": text, "decimal_mark": "point", "language": "en"}
                for source, text in pairs
            ]
        }
        self.search_ends(json.dumps(output))

    def search_ends(self, output="", outcome=ToolOutcome.SUCCEEDED, reason=""):
        request = self.only("tool:").request_id
        self.send(Begun(request, self.tick()))
        self.send(Ended(request, self.tick(), 1.0, outcome, output, reason))

    def observed(self, *values):
        """Answer a call for an observation: each value is (field, value, unit, quote, source)."""
        assert self.request.purpose == "observe"
        keys = ("field", "value", "unit", "quote", "source")
        listed = [{**dict(zip(keys, each, strict=False)), "confidence": 0.9} for each in values]
        return self.reply({"values": listed})

    def answer(self, text):
        return self.post(kind="answer", question=self.question.question_id, answer=text)

    def decline(self):
        return self.post(kind="decline", question=self.question.question_id)

    def post(self, **body):
        self.mailed += 1
        return self.send(Mailed(self.mailed, f"test{self.mailed}", json.dumps(body), self.tick()))

    def resume(self, *, at_once=False):
        return self.send(Resumed(self.state.run.epoch + 1, self.tick(), at_once))

    def park(self):
        return self.send(Parking(self.tick()))

    def wake(self, name):
        self.now = max(self.now, self.work[name].until)
        return self.send(Woken(name, self.now))

    def checked(self):
        [name] = self.state.run.tools
        return self.send(Checked(f"check:{name}", self.tick(), certain=True))
