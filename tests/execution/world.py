"""A simulated world for an execution: tools of all sorts, a person, crashes and parkings, all from one seed."""

import json
import random

from actors.execution.events import PlanRevised, StepSettled, TroubleDecided
from actors.execution.replan_rules import guard_of, prove
from actors.plans.semantics import ready_steps
from actors.run.calls import Judged
from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from actors.run.tools import Begun, Checked, Ended, ToolOutcome
from actors.tools.output_parsing import ValueSource
from runtime.core.machine import fold
from runtime.core.messages import Parking, Resumed, Woken
from tests.execution.oracle import Oracle
from tests.execution.stage import Stage, plan, step, tool, toolset
from tests.support.questions import FORM

MESSAGES_MAX = 2_000
"""Messages after which a run that has not ended is said to run for ever."""


class World:
    """One execution in its world. `play` runs it to its end and checks every record."""

    def __init__(self, seed, value, *, failures=True, disturbed=True, replans=False, level="plan_minimal"):
        self.chance = random.Random(seed)
        self.failures, self.disturbed = failures, disturbed
        tools, stored = self._tools(value), seed % 20 == 0
        self.stage = Stage(value, tools, level=level, replans=replans, required_assurance="none", stored=stored)
        self.oracle, self.checked = Oracle(value), 0
        self.started, self.done = {}, {}
        self.calls, self.words, self.texts = {}, {}, {}
        self.revision, self.told = 1, False
        self.check()

    def _tools(self, value):
        generators = {each["generator"]: self._generator(each) for each in value["steps"]}
        new = {f"new_{number}": tool(f"new_{number}", repeatable=number % 2 == 0) for number in range(4)}
        return toolset(generators | new, {"syntax": tool("check")})

    def _generator(self, each):
        """Return the tool of a step: it tells the outcomes and the values that the plan has, and uses values."""
        use = tool(each["generator"], repeatable=self.chance.random() < 0.6)
        tells = {outcome["name"]: f"^{outcome['name']}$" for outcome in each.get("outcomes", ())}
        values = {
            token: ValueSource(after=f"{token}=", pattern="[0-9]+") for token in each["effects"] if token[0] == "v"
        }
        takes = {token: token for token in each["preconditions"] if token[0] == "v"}
        return use.model_copy(update={"outcomes": tells, "values": values, "takes": takes})

    def _output(self, name):
        """Return what a call says: one of the outcomes, and a number of its own for each value; at times neither."""
        node = name.removeprefix("tool:").partition("/")[0]
        step = next((each for each in self.oracle.value["steps"] if each["step_id"] == node), None)
        if step is None or self.chance.random() < 0.1:
            return "output"
        names = [outcome["name"] for outcome in step.get("outcomes", ())]
        lines = [self.chance.choice(names)] if names else []
        for token in step["effects"]:
            if token[0] == "v":
                self.texts.setdefault(token, []).append(str(len(self.done)))
                lines.append(f"{token}={self.texts[token][-1]}")
        return "\n".join(lines)

    def play(self):
        """Run to the end; return the outcome, or why the run rests for ever."""
        for _ in range(MESSAGES_MAX):
            if self.stage.state.run.over:
                return self.stage.end
            assert self.stage.work, "the run has stopped without an end, and nothing is open"
            self._disturb() if self.disturbed and self.chance.random() < 0.06 else self._one()
            self.check()
        raise AssertionError("the run goes on for ever")

    def check(self):
        stage = self.stage
        for event in stage.events[self.checked :]:
            match event:
                case StepSettled():
                    self.oracle.settled(event)
                case TroubleDecided(level="local_retry", asks=False):
                    self.oracle.visited_again(event.step)
                case TroubleDecided():
                    self.oracle.handed_over = True
                case PlanRevised():
                    assert event.revision == self.revision + 1
                    assert not stage.state.run.tools or stage.state.active, "a tool of the old plan is at work"
                    self.revision = event.revision
                    self.oracle.begin(json.loads(event.plan))
                case _:
                    pass
        self.checked = len(stage.events)
        for token, text in stage.state.values.items():
            assert token in stage.state.tokens, "a value without its token"
            assert text in self.texts[token], "a value that no call has told"
        assert stage.state.tokens == self.oracle.tokens
        assert stage.state.used <= self.oracle.value["total_retry_budget"], "more attempts than the plan allows"
        if self.chance.random() < 0.05:
            program = stage.state.plan.program
            assert stage.state.ready == tuple(ready_steps(program, stage.state.now))
            assert fold(stage.machine, stage.events) == stage.state, "the records do not give the state again"

    def _one(self):
        work = self.chance.choice(list(self.stage.work.values()))
        self.stage.now += self.chance.random()
        match work.address:
            case "user":
                self._person(work)
            case "clock":
                self.stage.now = max(self.stage.now, work.until)
                self.stage.send(Woken(work.request_id, self.stage.now))
            case "planner":
                self._plan()
            case "prover":
                stage = self.stage
                guard = guard_of(stage.config.level, stage.config.tools, "none", 100)
                plan_text = stage.machine.brief(stage.state, work).artifact.content
                stage.send(Judged(work.request_id, stage.now, 0.1, prove(guard, plan_text)))
            case _:
                self._tool(work)

    def _plan(self):
        """Bring a new plan from the tokens that hold now, a question, or nothing."""
        stage, kind = self.stage, self.chance.random()
        if kind < 0.15:
            stage.planned({"unsuccessful_run": {"outcome": "all_pruned", "why": "no way"}})
        elif kind < 0.3:
            question = {**FORM.form, "answer_schema": {"type": "string"}, "node": "g/v1.a1", "why": "g"}
            stage.planned({"unsuccessful_run": {"outcome": "needs_answer", "why": "?", "question": question}})
        else:
            tokens, wanted = sorted(stage.state.tokens), sorted(self.oracle.value["goal_state"])
            steps = [
                step(f"n{number}", self.chance.choice(tokens), token, generator=f"new_{number % 4}")
                for number, token in enumerate(wanted)
            ]
            stage.planned(plan(*steps, initial=" ".join(tokens), goal=" ".join(wanted), total=len(steps) + 1))

    def _tool(self, work):
        stage, name = self.stage, work.request_id
        if name.startswith("check:"):
            self.started.pop(name.removeprefix("check:"), None)
            stage.send(Checked(name, stage.now, certain=True))
        elif name not in self.started:
            self._begin(work)
        else:
            outcome = self.started.pop(name)
            stage.send(Ended(name, stage.now, 0.5, outcome, self._output(name)))

    def _begin(self, work):
        """Start a call: what it does is done now, and it is never done twice without a person's word."""
        stage, request = self.stage, work.request
        process = f"host/1/{len(self.calls) + 7}/boot.5" if self.chance.random() < 0.7 else ""
        recorded = bool(process) or not request.repeatable  # Where neither holds, nothing needs to know that it began.
        if recorded and not stage.send(Begun(work.request_id, stage.now, process)):
            return
        outcome = self._outcome()
        if not request.repeatable:
            before, words = self.calls.get(request.node, 0), self.words.get(request.node, 0)
            assert before <= words, f"{request.node} is called again without a person's word"
            self.calls[request.node] = before + 1
        self.started[work.request_id] = outcome
        self.done[work.request_id] = outcome

    def _outcome(self):
        if not self.failures:
            return ToolOutcome.SUCCEEDED
        kinds = [outcome for outcome in ToolOutcome if outcome is not ToolOutcome.UNKNOWN]
        return self.chance.choices(kinds, (8, 3, 1, 0.5, 0.5))[0]

    def _person(self, work):
        """Answer truthfully what became of a call, and anything to other questions; sometimes not at all."""
        request, stage = work.request, self.stage
        options = request.answer_schema.get("enum") or ["yes"]
        if SUCCEEDED in options:
            node = request.node.removeprefix("tool:").removesuffix(".outcome")
            answer = self._truth(request.node)
            if answer == NOT_RUN:
                for key in (node, f"{node}.act"):
                    self.words[key] = self.words.get(key, 0) + 1
        else:
            answer = self.chance.choice(options)
        if self.disturbed and self.chance.random() < 0.15:
            stage.post(kind="decline", question=work.request_id)
            return
        stage.answer(answer, work.request_id)

    def _truth(self, node):
        done = next((outcome for name, outcome in reversed(self.done.items()) if name == node), None)
        if done is None:
            key = node.removesuffix(".outcome")
            done = next(
                (outcome for name, outcome in reversed(self.done.items()) if name.startswith(f"tool:{key}")), None
            )
        return SUCCEEDED if done == ToolOutcome.SUCCEEDED else FAILED if done is not None else NOT_RUN

    def _disturb(self):
        """Say something, or kill the driver, or park the run; another driver then takes it over from its records."""
        stage, kind = self.stage, self.chance.random()
        if kind < 0.1:
            self.told = True
            stage.post(kind="requirement", text=f"Also this, {len(stage.events)}.")
            return
        if kind < 0.13:
            stage.post(kind="cancel")
            return
        if self.chance.random() < 0.3:
            stage.send(Parking(stage.now))
        stage.state = fold(stage.machine, stage.events)
        self.started.clear()
        stage.epoch += 1
        stage.now += 1.0
        stage.send(Resumed(stage.epoch, stage.now, at_once=self.chance.random() < 0.5))
