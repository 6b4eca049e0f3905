"""Plays the actors of one execution on the pure machine: the test gives the replies."""

import json
from functools import cache
from pathlib import Path

from actors.config.loader import load_policy
from actors.execution.config import ExecutionConfig
from actors.execution.events import ExecutionStarted
from actors.execution.kind import CODEC
from actors.execution.machine import PLANNER, PROVER, ExecutionMachine
from actors.execution.replan_rules import guard_of, prove
from actors.planning.config import RunConfig
from actors.planning.prepare import PlanningInput, prepare_planning
from actors.prompting.book import load_prompts
from actors.run.calls import Generated, Judged
from actors.run.kind import Setup
from actors.run.machine import MODEL
from actors.run.questions import USER
from actors.run.tools import Begun, Ended, ToolOutcome
from actors.run.waits import CLOCK
from actors.tools.uses import AgentTerms, ModelUse, PersonUse, ToolSet, ToolUse
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from runtime.core.ledger import Limits, Price, Usage
from runtime.core.machine import Refused, fold, settle
from runtime.core.messages import Mailed, Parking, Resumed, Woken
from runtime.models.port import Reply

PRICE = Price(input_per_token_usd=1e-6, output_per_token_usd=1e-6)
PROBLEM = "The login fails with a timeout in app/login.py. Fix the bug."


@cache
def planning():
    setup = Setup("template:bug", None, registry(), data_root(), {}, 1_000.0)
    config = prepare_planning(PlanningInput(PROBLEM), setup).pinned
    assert isinstance(config, RunConfig)
    return config


@cache
def prompts():
    root = data_root()
    return load_prompts(root / "prompts/execution.yaml", root / "prompts/planning.yaml")[0]


@cache
def default_policy():
    return load_policy("default", data_root())


def tool(name, *, repeatable=True, risky=False, pre_check=None, seconds=60.0):
    return ToolUse(
        tool=name, arguments="{}", repeatable=repeatable, risky=risky, timeout_seconds=seconds, pre_check=pre_check
    )


BASE, WORK = "b" * 40, "c" * 40
"""The commits that a coding agent begins and ends with."""


def agent(*, micro_usd_max=1_000_000, **fields):
    terms = AgentTerms(instructions="Mend the login.", micro_usd_max=micro_usd_max, files_max=10, diff_bytes_max=1_000)
    return tool("coder", **fields).model_copy(update={"agent": terms})


def writer(file="app/login.py", **fields):
    values = {"context_files": (), "missing": "empty", "file_bytes_max": 1000, "risky": False, **fields}
    return ModelUse(name="writer", file=file, instructions="Mend the login.", **values)


def person(name="somebody"):
    return PersonUse(name=name, instructions="Look after it.")


def toolset(generators, guards=None):
    return ToolSet(source="tools.yaml", sha256="", tools={}, generators=generators, guards=guards or {})


def step(step_id, needs="", effects="", **fields):
    """Return a step as JSON; tokens are separated by spaces."""
    lists = ("dependencies", "delete_effects", "failure_effects", "failure_delete_effects", "satisfies")
    given = {key: value.split() if key in lists and isinstance(value, str) else value for key, value in fields.items()}
    return {
        "step_id": step_id,
        "name": step_id,
        "generator": f"do_{step_id}",
        "guard": "",
        "retry_budget": 1,
        "preconditions": needs.split(),
        "effects": effects.split(),
        **given,
    } | ({} if given.get("guard") else {"guard": "syntax"} if "guard" not in given else {})


def plan(*steps, initial="start", goal="goal", total=20, **fields):
    return {
        "plan_id": "p",
        "goal": "reach the goal",
        "initial_state": initial.split(),
        "goal_state": goal.split(),
        "total_retry_budget": total,
        "steps": list(steps),
        **fields,
    }


def tools_for(value, *, check=None, **uses):
    """Return tools that implement every name of a plan: by a repeatable tool unless `uses` has another."""
    generators = {each["generator"]: uses.get(each["generator"], tool(each["generator"])) for each in value["steps"]}
    guards = {each["guard"]: check or tool(f"check_{each['guard']}") for each in value["steps"] if each.get("guard")}
    return toolset(generators, guards)


class Stage:
    """One execution. Methods that answer pick the request by its node or the only one of its sort."""

    def __init__(self, value, tools=None, *, limits=None, level="plan_expansive", replans=True, stored=True, **fields):
        self.stored = stored
        self.machine, self.events, self.now, self.inbox, self.epoch = ExecutionMachine(), [], 1_000.0, 0, 1
        self.state = self.machine.initial()
        tools = tools or tools_for(value)
        settings = {
            "plan": json.dumps(value),
            "level": level,
            "assurance": None,
            "required_assurance": "strong_cyclic",
            "r_max": 100,
            "tools": tools,
            "approval": "none",
            "policy": default_policy(),
            "prompts": prompts(),
            "workspace": str(Path("workspace")),
            "snapshots": False,
            "problem": PROBLEM,
            "planning": planning() if replans else None,
            "replans_max": 2,
            "questions_max": 5,
            "r_patience": 2,
            "question_expires_seconds": None,
            "model": "toy",
            "price": PRICE,
            "timeout_seconds": 60.0,
            "output_tokens_max": 1_000,
            **fields,
        }
        self.config = ExecutionConfig(**settings)
        self.send(
            ExecutionStarted(
                at=self.now, run="run", pinned=self.config.model_dump_json(), limits=limits or Limits(calls=90)
            )
        )

    def send(self, message):
        """Give the machine a message; return the kinds of the events that follow."""
        accepted = self.machine.accept(self.state, message)
        if accepted is None or isinstance(accepted, Refused):
            return accepted
        after, batch = settle(self.machine, self.state, accepted)
        if not self.stored:
            self.state = after
            self.events += batch
            return [event.kind for event in batch]
        for event in batch:
            stored = CODEC.encode(event)
            again = CODEC.decode(stored.body, stored.texts)
            assert again == event, "an event does not survive storage"
            self.state = self.machine.evolve(self.state, again)
            self.events.append(again)
        assert self.machine.advance(self.state) is None
        return [event.kind for event in batch]

    @property
    def work(self):
        return self.machine.outstanding(self.state)

    def requests(self, address=""):
        """Return the ids of the open requests, of one address or of all."""
        return [work.request_id for work in self.work.values() if work.address.startswith(address)]

    def only(self, address):
        [name] = self.requests(address)
        return name

    def tool(self, name, outcome=ToolOutcome.SUCCEEDED, output="", reason="", *, cost=None):
        """Start and end a call of a tool, by the tool's name or the request's id."""
        [request] = [
            each.request_id
            for each in self.work.values()
            if each.address.startswith("tool:") and name in (each.address.removeprefix("tool:"), each.request_id)
        ]
        self.now += 1.0
        self.send(Begun(request, self.now))
        self.now += 1.0
        return self.send(Ended(request, self.now, 1.0, ToolOutcome(outcome), output, reason, cost))

    def run_step(self, step_id, outcome=ToolOutcome.SUCCEEDED, check=ToolOutcome.SUCCEEDED):
        kinds = self.tool(f"do_{step_id}", outcome)
        if outcome == ToolOutcome.SUCCEEDED:
            [request] = [name for name in self.requests("tool:check_") if name.startswith(f"tool:{step_id}/")]
            kinds = self.tool(request, check)
        return kinds

    def reply(self, text):
        self.now += 1.0
        usage = Usage(input_tokens=10, output_tokens=2)
        return self.send(Generated(self.only(MODEL), self.now, 1.0, Reply(text, usage, "toy")))

    def planned(self, value, calls=3):
        """Reply to the request for a new plan with a JSON value."""
        from runtime.core.ledger import Amount

        self.now += 1.0
        reply = Reply(json.dumps(value), None, "template:bug")
        return self.send(Generated(self.only(PLANNER), self.now, 1.0, reply, Amount(calls, 100, 0)))

    def proved(self):
        [work] = [work for work in self.work.values() if work.address == PROVER]
        brief = self.machine.brief(self.state, work)
        guard = guard_of(self.config.level, self.config.tools, "strong_cyclic", 100)
        self.now += 1.0
        return self.send(Judged(work.request_id, self.now, 0.1, prove(guard, brief.artifact.content)))

    def post(self, **body):
        self.inbox += 1
        self.now += 1.0
        return self.send(Mailed(self.inbox, f"key{self.inbox}", json.dumps(body), self.now))

    def answer(self, text, question=None):
        return self.post(kind="answer", question=question or self.only(USER), answer=text)

    def decline(self, question=None):
        return self.post(kind="decline", question=question or self.only(USER))

    def woken(self):
        name = self.only(CLOCK)
        self.now = self.work[name].until
        return self.send(Woken(name, self.now))

    def park(self):
        return self.send(Parking(self.now))

    def resume(self, *, at_once=True):
        """Have a new driver take the run over, from what is stored."""
        self.epoch += 1
        self.state = fold(self.machine, self.events)
        self.now += 1.0
        return self.send(Resumed(self.epoch, self.now, at_once=at_once))

    @property
    def end(self):
        """How the run ended; None while it goes on."""
        finished = self.state.run.finished
        return None if finished is None else finished.outcome

    def question(self):
        """The open question with what is shown below it, and the options of its answer."""
        request = self.work[self.only(USER)].request
        return request.whole, request.answer_schema.get("enum")
