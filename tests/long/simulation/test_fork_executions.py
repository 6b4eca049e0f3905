"""Forks of simulated executions, at every record: given the replies of the other run, a fork ends as that run did.

A call that is not repeatable is made again only after a person has said so; `REPLAN_SIM_SEED=N` plays run N alone.
"""

import json
import os
from dataclasses import replace

import pytest

from actors.execution.ids import tool_node
from actors.execution.machine import ExecutionMachine
from actors.run import fork_rules
from actors.run.calls import Generated
from actors.run.fork_event import Forked
from actors.run.fork_rules import calls_before_fork
from actors.run.ids import call_of
from actors.run.questions import NOT_RUN
from actors.run.tools import Begun, Ended
from runtime.core.copies import changed
from runtime.core.ledger import ZERO
from runtime.core.machine import Refused, settle
from runtime.core.messages import Mailed, Resumed, Woken
from tests.execution.random_plans import drawn
from tests.execution.world import World
from tests.long.simulation.replaying import places
from tests.long.simulation.seeds import repeatable, seeds_of

SEEDS = int(os.environ.get("REPLAN_SIM_FORKS", "16"))
BATCHES = 4
PLANTED_SEEDS = 8
"""The seeds in which a planted bug has to be found."""
MACHINE = ExecutionMachine()
DECIDED = ("attempt_decided", "step_settled", "trouble_decided", "plan_revised")


class Told(World):
    """A world without crashes, which keeps the messages that it has sent."""

    def __init__(self, seed, value, **more):
        super().__init__(seed, value, disturbed=False, **more)
        self.told, send = [], self.stage.send

        def kept(message):
            before = len(self.stage.events)
            made = send(message)
            if len(self.stage.events) > before:
                self.told.append((before, message, self.asked(message)))
            return made

        self.stage.send = kept

    def asked(self, message):
        """Return the node of the question that a message answers, or declines."""
        if not isinstance(message, Mailed):
            return ""
        name = json.loads(message.body).get("question", "")
        return self.stage.state.run.questions[name].request.node if name else ""


class Replay:
    """A fork after a record of the other run, which gets the replies that this has had."""

    def __init__(self, world, seq, before):
        events = world.stage.events
        made = calls_before_fork((place > seq, event) for place, event in enumerate(events, 1))
        event = Forked(at=before.run.now, origin="other", seq=seq, hash="00", limits=events[0].limits, made=made)
        self.state, self.events, self.mails = MACHINE.evolve(before, event), [], 1_000
        assert self.state.run.ledger.committed == ZERO, "a fork has a budget of its own"
        self.words, self.begun = (
            set[str](),
            [each.request.node for each in self.state.run.tools.values() if each.started],
        )
        self.give(Resumed(2, self.state.run.now))
        for place, message, asked in world.told:
            if place >= seq:
                self.say_again()
                self.give(self.readdressed(message, asked))
        self.say_again()

    def give(self, message):
        """Give the fork a message; a call that the other run has made is never at work without a person's word."""
        accepted = None if message is None else MACHINE.accept(self.state, message)
        if accepted is not None and not isinstance(accepted, Refused):
            self.state, batch = settle(MACHINE, self.state, accepted)
            self.events += batch
        made = self.state.run.fork.made
        for work in MACHINE.outstanding(self.state).values():
            if work.address.startswith("tool:") and not work.repeatable:
                node = work.request.node
                known = node in self.begun or any(
                    each.tool == work.request.tool and each.step == node.partition("/")[0] for each in made
                )
                assert not known or node in self.words, f"{node} is called again without a word"

    def say_again(self):
        """Say of each call that the other run has made that it is to be made."""
        for name, question in list(self.state.run.questions.items()):
            tool = self.state.run.tools.get(question.request.node)
            if question.open and tool is not None:
                self.mails += 1
                self.words.add(tool.request.node)
                body = json.dumps({"kind": "answer", "question": name, "answer": NOT_RUN})
                self.give(Mailed(self.mails, f"again{self.mails}", body, self.state.run.now))

    def readdressed(self, message, asked):
        """Return a message of the other run as the fork gets it; None where nothing of the fork waits for it."""
        run = self.state.run
        if isinstance(message, Begun | Ended):
            open_tools = [name for name in run.tools if tool_node(name) == tool_node(message.request_id)]
            return replace(message, request_id=open_tools[0]) if open_tools else None
        if isinstance(message, Generated):
            named = [name for name in run.calls.open if call_of(name) == call_of(message.request_id)]
            return replace(message, request_id=named[0]) if named else None
        if isinstance(message, Woken) and message.request_id in run.waits:
            return replace(message, at=max(message.at, run.waits[message.request_id].until))
        if isinstance(message, Mailed) and asked:
            named = [name for name, each in run.questions.items() if each.request.node == asked and each.open]
            body = json.loads(message.body) | {"question": named[0] if named else "gone"}
            return replace(message, body=json.dumps(body))
        return message


def decisions(events):
    plain = [event for event in events if event.kind in DECIDED]
    return [event.model_copy(update={"question_id": None} if hasattr(event, "question_id") else {}) for event in plain]


def check(world):
    """Fork the execution at every record before its end."""
    events, end = world.stage.events, world.stage.state.run.finished
    forks = 0
    for seq, before in places(MACHINE, events):
        if before.run.finished is not None:
            continue
        fork, forks = Replay(world, seq, before), forks + 1
        assert decisions(fork.events) == decisions(events[seq:]), f"at record {seq}"
        assert (fork.state.run.finished and fork.state.run.finished.outcome) == end.outcome, f"at record {seq}"
        assert fork.state.tokens == world.stage.state.tokens, f"at record {seq}"
    return forks


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_fork_of_an_execution_without_a_change_ends_as_the_other_run(batch):
    seeds, forks = seeds_of(batch, SEEDS, BATCHES), 0
    for seed in seeds:
        with repeatable(seed, __file__):
            world = Told(seed, drawn(seed)[0], replans=seed % 3 == 0)
            world.play()
            forks += check(world)
    assert forks > 0 or not seeds


def calls_again_unasked(monkeypatch):
    """Hold no call back that the other run has made."""
    monkeypatch.setattr(fork_rules, "hold_back_call", lambda tools, request, fork: tools)


def forgets_calls_that_were_open(monkeypatch):
    """Take a call that the other run has begun for one that did nothing."""
    monkeypatch.setattr(
        fork_rules, "_reopen_tool", lambda tool, made: replace(tool, epoch=-1, started=None, phase="running")
    )


def spends_of_the_other_s_budget(monkeypatch):
    """Go on with the other run's ledger."""
    forked = fork_rules.start_fork
    monkeypatch.setattr(fork_rules, "start_fork", lambda run, event: changed(forked(run, event), ledger=run.ledger))


@pytest.mark.parametrize(
    "plant",
    [
        calls_again_unasked,
        forgets_calls_that_were_open,
        spends_of_the_other_s_budget,
    ],
    ids=lambda plant: plant.__name__,
)
def test_a_planted_bug_is_found(plant, monkeypatch):
    """So the check above can fail."""
    worlds = [Told(seed, drawn(seed)[0], replans=seed % 3 == 0) for seed in range(PLANTED_SEEDS)]
    for world in worlds:
        world.play()
    plant(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        sum(check(world) for world in worlds)
