"""Replays the recorded replies in simulated runs: machine, policies and searches are those of every run.

A request is answered by a recorded reply to the same request: those of one request come in an order that the seed of
the trial decides, without replacement until all have come. What is said before a request is the last wrong answer
alone. After a wrong answer that was not recorded, the replies are those after the most frequent recorded one.
"""

import json
import random
from collections import defaultdict
from dataclasses import dataclass, field

from tasks import read_choice, read_pair, task

from actors.planning.events import GenerationRequested, JudgementRequested, RunStarted
from actors.planning.machine import PlanningMachine
from actors.planning.prompt_context import context_for
from actors.run.calls import Generated, Judged
from actors.run.waits import WaitRequested
from replan_lab.experiments.simulation import START, simulate
from runtime.core.ledger import Usage
from runtime.core.messages import Woken
from runtime.models.port import Reply

MACHINE = PlanningMachine()
CHOICE, PLAN = "g_part_1", "g_plan"
TOKENS = Usage(input_tokens=200, output_tokens=20)


class Recorded:
    """The replies of one task, by call, family and the wrong answer before."""

    def __init__(self, rows):
        self.task = task(rows[0]["task"])
        self.first, self.after = defaultdict(list), defaultdict(lambda: defaultdict(list))
        for row in sorted(rows, key=lambda row: row["sample"]):
            if row["call"] not in ("choice", "pair") or row.get("condition", "own") != "own":
                continue
            value = read_choice(row["text"]) if row["call"] == "choice" else read_pair(row["text"])
            if "after" not in row:
                self.first[row.get("choice")].append(value)
            elif row["call"] == "choice":
                self.after[None][row["after"]].append(value)
            else:
                self.after[row["choice"]][read_pair(row["after"])].append(value)

    def values(self, choice, said):
        """Return the name of a state and its recorded answers; `choice` is None for the first call."""
        if said is None or not self.after[choice]:
            return (choice, None), self.first[choice]
        known = self.after[choice]
        found = said if said in known else next(iter(known))
        return (choice, found), known[found]


def recorded(path, names=None):
    """Return the recorded replies of each task that has been recorded whole."""
    rows = defaultdict(list)
    for line in path.read_text().splitlines():
        row = json.loads(line)
        rows[row["task"]].append(row)
    kept = {name: rows[name] for name in sorted(rows) if any(row["call"] == "pair" for row in rows[name])}
    return {name: Recorded(kept[name]) for name in kept if names is None or name in names}


@dataclass
class Player:
    """Answers the requests of one run."""

    replies: Recorded
    guards: dict
    seed: int
    used: dict = field(default_factory=lambda: defaultdict(int))
    missing: int = 0
    """Requests after a wrong answer that was not recorded."""

    def reply(self, state, work, now):
        """Return the message that answers a piece of work."""
        match work.request:
            case GenerationRequested() as request:
                return Generated(request.request_id, now + 1, 1.0, Reply(self._text(state, request), TOKENS, "study"))
            case JudgementRequested() as request:
                artifact, context = state.nodes[request.node].artifact, MACHINE.brief(state, work).context
                return Judged(request.request_id, now, 0.0, self.guards[request.step](artifact, context))
            case WaitRequested() as request:
                return Woken(request.request_id, request.until)
            case _:
                return None

    def _text(self, state, request):
        branch = state.branch_of(request.node)
        context = context_for(state, branch, request.step)
        earlier = [node for node in state.attempts_at(branch, request.step) if node.artifact is not None]
        told = bool(context.retry or context.escalation)
        if request.step == CHOICE:
            said = choice_in(earlier[-1].artifact) if told and earlier else None
            return choice_artifact(self._next(None, said))
        choice = choice_in(state.nodes[branch.progress[CHOICE].accepted].artifact)
        said = None
        if told and earlier and choice_in(state.nodes[earlier[-1].parents[0]].artifact) == choice:
            said = pair_in(earlier[-1].artifact)
        return json.dumps(self.replies.task.plan(self._next(choice, said)))

    def _next(self, choice, said):
        state, values = self.replies.values(choice, said)
        self.missing += said is not None and state[1] != said
        order = random.Random(f"{self.seed}:{self.replies.task.name}:{state}").sample(range(len(values)), len(values))
        value = values[order[self.used[state] % len(order)]]
        self.used[state] += 1
        return value


def replay(setup, replies, seed):
    """Run an arm on a task; return its state and events, the number of requests, and how many were not recorded."""
    player = Player(replies, setup.guards(seed), seed)
    text = f"Make {replies.task.goal} from {replies.task.start}."
    first = RunStarted(at=START, run="study", specification=text, pinned=setup.pinned_text, limits=setup.limits)
    simulation = simulate(MACHINE, player, first)
    return (simulation.state, simulation.events), sum(player.used.values()), player.missing


def choice_artifact(choice):
    """Return the artifact of the first step: the form of a recon, which says the family."""
    lists = ("mentioned_files", "stack_traces", "apis_involved", "test_references", "reproduction_steps")
    return json.dumps({**{name: [] for name in lists}, "constraints_mentioned": [choice], "requirements": []})


def choice_in(artifact):
    """Return the family that an artifact of the first step says."""
    return json.loads(artifact.content)["constraints_mentioned"][0]


def pair_in(artifact):
    """Return the pair of actions that a plan is."""
    steps = json.loads(artifact.content)["steps"]
    return tuple((step["preconditions"][0], step["effects"][0]) for step in steps)
