"""Small random worlds for the search strategies: workflow, author and guards from one seed, run on the pure machine.

Replies arrive in any order. At random times the driver is killed and another one takes over, a provider fails, or the
reply to a withdrawn request arrives late; all limits are checked after every batch.
"""

import json
import random
from functools import cache

from actors.planning.events import GenerationRequested, JudgementRequested, branch_of
from actors.planning.strategy_view import view_of
from actors.run.calls import Generated
from actors.search.progress import Phase
from runtime.core.ledger import Limits, Usage
from runtime.core.machine import fold
from runtime.core.messages import Mailed, Resumed
from runtime.models.port import Fault, FaultKind, Reply
from tests.support.worlds import World, passed, pinned, rejected, start_anywhere

CODES = ("plan.dead_end", "plan.goal_unreachable") * 3 + ("plan.cycle", "plugin.odd", "requirements.missing")
SHAPES = 40
"""The number of workflows that the worlds of one search share, because reading one takes longer than a run of it."""


@cache
def configuration(search, number):
    """Return a pinned workflow of one to four steps."""
    dice = random.Random(number)
    names = "abcd"[: dice.choice((1, 2, 2, 3, 3, 4))]
    steps = {}
    for index, name in enumerate(names):
        steps[name] = {
            "requires": [upper for upper in names[:index] if dice.random() < 0.6],
            "rmax": dice.choice((1, 2, 2, 3)),
            "backtrack_budget": dice.choice((0, 1, 2)),
            "deterministic": dice.random() < 0.05,
            "role": dice.choice(("analysis", "recon", "strategy", "plan")),
        }
    return pinned(steps, search=search, questions_max=dice.choice((0, 0, 3)), feedback_window=2)


class Play(World):
    """One world and its run; `binary` guards give a rejection the score 0; a `calm` world has no disturbances."""

    def __init__(self, search, seed, *, binary=False, calm=False):
        self.dice, self.calm, self.epoch = random.Random(seed), calm, 1
        self.posted = 0
        dice, self.binary = self.dice, binary
        config = configuration(search, seed % SHAPES)
        limits = Limits(calls=dice.choice((1, 4, 9, 20, 40)), tokens=dice.choice((None, None, None, 30_000)))
        self.passes, self.echo = dice.choice((0.2, 0.5, 0.8)), dice.choice((0.0, 0.5))
        super().__init__(config, judge=self.verdict, author=self.write, limits=limits)

    def verdict(self, request, _):
        if self.dice.random() < self.passes:
            return passed()
        score = 0.0 if self.binary else self.dice.choice((0.0, 0.4, 0.9))
        return rejected(self.dice.choice(CODES), where=self.dice.choice("xy")).model_copy(update={"score": score})

    def write(self, request, _):
        if not self.calm and self.dice.random() < 0.03:
            return Fault(kind=self.dice.choice((FaultKind.CUT, FaultKind.RATE_LIMITED)), message="fault")
        text = request.step if self.dice.random() < self.echo else request.request_id
        return Reply(text=json.dumps({"said": text}), usage=Usage(input_tokens=10, output_tokens=5), model="toy")

    def play(self):
        """Run to the end and return the last state."""
        self.begin()
        while self.state.run.finished is None:
            self.check()
            ids = self.doable()
            if not ids or (self.state.run.open_questions and self.dice.random() < 0.1):
                assert self.state.run.open_questions, "the run neither ends nor has anything to wait for"
                self.say("answer", question=self.dice.choice(list(self.state.run.open_questions)), answer="blue")
            elif not self.calm and self.dice.random() < 0.03:
                self.disturb()
            else:
                self.answer(self.dice.choice(ids))
        self.check()
        assert fold(self.machine, self.events) == self.state, "the journal gives another state"
        if self.dice.random() < 0.02:
            start_anywhere(self.machine, self.events, self.epoch + 1, self.now)
        return self.state

    def say(self, kind, **body):
        self.posted += 1
        events = self.send(Mailed(self.posted, f"{kind}:{self.posted}", json.dumps({"kind": kind, **body}), self.now))
        assert events[0].kind != "mail_refused"

    def disturb(self):
        """Kill the driver, possibly during a write, deliver a late reply, or add a requirement of the user."""
        if self.posted < 5 and self.dice.random() < 0.2:
            self.say("requirement", text="in green")
            return
        late = [name for name in self.state.run.ledger.forfeited if ".t" not in name]
        if late and self.dice.random() < 0.5:
            reply = Reply(text="late", usage=Usage(input_tokens=1, output_tokens=1), model="toy")
            [event] = self.send(Generated(late[0], self.now, 1.0, reply))[:1]
            assert event.kind == "settled"
        else:
            self.epoch += 1
            torn = self.dice.randint(0, min(3, len(self.events) - 1))  # The last batch may be written only in part.
            del self.events[len(self.events) - torn :]
            self.state = fold(self.machine, self.events)
            self.send(Resumed(self.epoch, self.now))

    def check(self):
        """Check the invariants after every batch: limits, visits, and no open requests of pruned branches."""
        state, limits = self.state, self.limits
        assert state.run.ledger.committed.calls <= limits.calls
        assert limits.tokens is None or state.run.ledger.committed.tokens <= limits.tokens
        branches = state.branches
        assert sum(branch.calls for branch in branches) == state.run.ledger.committed.calls
        for branch in branches:
            if self.config.strategy.compares and len(self.events) % 8 == 0:
                assert branch.view == view_of(state, branch), "stored and computed view differ"
            for step, slot in branch.progress.items():
                budget, leaf = self.config.graph.budgets[step], step in self.config.graph.leaves
                assert leaf or budget.deterministic or slot.visits <= 1 + budget.backtrack_budget
                assert slot.attempt <= budget.rmax
        pruned = {number for number, branch in enumerate(branches) if branch.pruned}
        for work in self.machine.outstanding(state).values():
            if isinstance(work.request, GenerationRequested | JudgementRequested):
                assert branch_of(work.request.node) not in pruned

    def check_winner(self):
        """Check that the winning branch has an accepted artifact for each step, made from accepted artifacts."""
        for step, slot in self.state.latest.progress.items():
            assert slot.phase is Phase.ACCEPTED
            node = self.state.nodes[slot.accepted]
            assert node.verdict.passed
            assert node.parents == tuple(
                self.state.latest.progress[up].accepted for up in self.config.graph.requires[step]
            )

    def events_as_data(self):
        """Return the events without the first one, which contains the name of the search."""
        return [event.model_dump() for event in self.events[1:]]


class Alternatives(World):
    """A chain of steps in which each step has `many` alternatives for each choice of the steps above, tried in turn.

    A random set of path prefixes passes the guards, so a search that tries every path finds a plan if there is one.
    """

    def __init__(self, search, seed, many=2):
        dice = random.Random(seed)
        self.odds, self.many, self.length = dice.choice((0.3, 0.5, 0.7)), many, 1 + seed % 3
        self.drawn, self.passing, self.key = {}, {}, dice.getrandbits(64)
        super().__init__(chain(search, self.length, many), judge=self.verdict, author=self.write)
        self.limits = Limits(calls=10_000)

    def write(self, request, state):
        node = state.nodes[request.node]
        above = self.path(state, node.parents[0]) if node.parents else ()
        number = self.drawn[above] = self.drawn.get(above, -1) + 1
        return Reply(text=json.dumps([*above, number % self.many]), usage=None, model="toy")

    def path(self, state, node):
        return tuple(json.loads(state.nodes[node].artifact.content))

    def verdict(self, request, state):
        return passed() if self.passes(self.path(state, request.node)) else rejected("plugin.odd")

    def passes(self, path):
        if path not in self.passing:  # Derived from the path, so that the order of attempts does not matter.
            self.passing[path] = random.Random(f"{self.key} {path}").random() < self.odds
        return self.passing[path]

    def solvable(self, path=()):
        """Return whether some path passes, by trying all."""
        if len(path) == self.length:
            return True
        longer = [(*path, number) for number in range(self.many)]
        return any(self.passes(extended) and self.solvable(extended) for extended in longer)


@cache
def chain(search, length, many):
    steps = {f"s{index}": {"rmax": many, "requires": [f"s{index - 1}"] if index else []} for index in range(length)}
    return pinned(steps, search=search, feedback_window=1)


def in_order(world, dice):
    """Run a world with its replies in an order drawn from `dice`."""
    return world.run(dice.choice)
