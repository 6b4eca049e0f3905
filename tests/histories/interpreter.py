"""Executes the commands of a history on the pure machine, and returns the transcript.

    workflow [key=value ...]        the workflow; an indented line per step: NAME [<- REQUIRED ...] [key=value ...]
    shipped NAME [key=value ...]    a shipped workflow, for a shipped problem
    problem NAME                    another shipped problem
    limits [calls=N tokens=N cost=MICRO_USD active=S deadline=S patience=S stop_below=P]
    given initial=TOKENS [goal=TOKENS achieved=TOKENS failure="text" asks_nobody=true answer="question: answer"]
    begin [warn_at=50,80]           start the run; it warns if much of a limit is used
    reply NODE ["text"] [tokens=N] [took=CALLS] [finish=length]    accept NODE    the guard passes it
    reject NODE [CODE[@WHERE][:KIND] ...] [tag=TAG] [fatal]        fault REQUEST KIND [retry_after=S] [took=CALLS]
    classify REQUEST CODE|"text"    the classifier's reply
    ok NODE                         reply and accept               bad NODE ...   reply and reject
    write REQUEST [PATH=JSON ...]   the offline author's artifact with these changes; the shipped guards judge it
    again REQUEST NODE              the artifact of an earlier node word for word; the shipped guards judge it
    finish [REQUEST]                write for all that is asked for until nothing is, or until the request is
    reach NODE                      ok for all that is asked for until NODE is; its lines are left out
    wake ID · later SECONDS · park · resume [at_once=true] · cancel · answer ID "text" · decline ID · note "text"
    requirement "text" · change [calls=N ... model=NAME timeout_seconds=S] · mail "body"
    clock SECONDS                   somebody sets the wall clock forward, or back with a minus
    down KIND [retry_after=S]       the provider that is waited for was asked at the time, and is down
    below REQUEST KIND until=S      the child run of a request waits for its provider until then
    crash REQUEST [halted=plugin]   the actor of a request has crashed
    fork SEQ                        go on as a fork that shares the first records; `resume` gives it a driver
    show · prompt STEP

Time passes by one second with each message.
"""

import json
import shlex

from actors.run.calls import Faulted, Generated, Judged
from actors.run.fork_event import Forked
from actors.run.ids import node_of
from actors.run.reminder_events import ReminderRule, ReminderStep
from actors.values.answers import NUMBER, YES_NO, choice
from actors.values.findings import Finding, Verdict
from actors.values.given import Given, GivenAnswer
from runtime.core.ledger import Amount, Limits, Price, Usage
from runtime.core.machine import Refused, fold
from runtime.core.messages import Crashed, Mailed, Parking, Resumed, Woken, stamp
from runtime.models.port import Fault, FaultKind, Reply
from tests.histories.shipped_parts import authored, judged, shipped_config, shipped_problem
from tests.histories.transcript import Transcript
from tests.support.planning_start import planning_start
from tests.support.worlds import SEEDS, World, passed, pinned

STEP_KEYS = {"back": "backtrack_budget", "free": "deterministic"}
SCHEMAS = {"yes_no": YES_NO, "number": NUMBER, "choice": choice(["red", "blue"]), "ref": {"$ref": "http://else.where"}}
LIMIT_KEYS = {"cost": "micro_usd", "active": "active_seconds", "patience": "patience_seconds"}


def value(text):
    """Return an option's value: a list if it has commas, else the JSON value if it is valid JSON, else text."""
    if "," in text:
        return [part for part in text.split(",") if part]
    try:
        return json.loads(text)
    except ValueError:
        return text


def split(words):
    """Return the plain words, and the options among them."""
    options = dict(word.split("=", 1) for word in words if "=" in word and not word.startswith("{"))
    return [word for word in words if "=" not in word or word.startswith("{")], {
        key: value(text) for key, text in options.items()
    }


def tokens(given):
    """Return the tokens of an option: one, or a list."""
    return (given,) if isinstance(given, str) else tuple(given)


class Interpreter:
    """One run; `execute` takes a command with its indented lines and returns the resulting lines."""

    def __init__(self):
        self.world = World(pinned(SEEDS), judge=lambda *_: passed(), limits=Limits())
        self.transcript = Transcript(self.world.now)
        self.epoch, self.shift, self.claimed, self.specification = 1, 0.0, self.world.now, "the problem"
        self.facts, self.reminding = None, ()

    @property
    def state(self):
        return self.world.state

    @property
    def events(self):
        return self.world.events

    def execute(self, command, indented):
        name, *words = shlex.split(command)
        if name == "workflow":
            return self.workflow(words, indented)
        if name == "write":
            return self.write(*words)
        plain, options = split(words)
        return list(getattr(self, name)(*plain, **options))

    def workflow(self, words, indented):
        steps = {}
        for text in indented:
            step, *rest = text.split()
            dependencies, options = split(rest)
            steps[step] = {
                "role": step,
                "requires": dependencies[1:],
                **{STEP_KEYS.get(k, k): v for k, v in options.items()},
            }
            if isinstance(steps[step].get("all_of"), list):
                steps[step]["guard"] = {"all_of": steps[step].pop("all_of")}
            for key in ("escalate_to",):
                if isinstance(steps[step].get(key), str):
                    steps[step][key] = [steps[step][key]]
        price, options = Price(input_per_token_usd=1e-6, output_per_token_usd=2e-6), split(words)[1]
        self.world.config = pinned(steps or SEEDS, price=price, **options)
        if options.get("policy") == "belief":
            self.world.limits = Limits(stop_below=0.0)
        return []

    def problem(self, name):
        self.specification = shipped_problem(name)
        return []

    def shipped(self, name, **keys):
        self.problem("login_timeout")
        self.world.config = shipped_config(name, **keys)
        return []

    def write(self, request, *changes):
        return [*self.reply(request, authored(self.state, node_of(request), changes)), *self.judge(node_of(request))]

    def again(self, request, node):
        return [*self.reply(request, self.state.nodes[node].artifact.content), *self.judge(node_of(request))]

    def judge(self, node):
        return self.send(Judged(f"judge:{node}", self.tick(), 0.0, judged(self.state, node)))

    def finish(self, until=None):
        lines = []
        while self.state.run.calls.open and until not in self.state.run.calls.open:
            lines += self.write(next(iter(self.state.run.calls.open)))
        return lines

    def limits(self, **options):
        if "deadline" in options:
            options["deadline"] += self.world.now
        self.world.limits = Limits(**{LIMIT_KEYS.get(key, key): number for key, number in options.items()})
        return []

    def reminders(self, questions="all", ask=(), **steps):
        steps = [
            ReminderStep(after_seconds=float(seconds), ask=() if names == "remind" else tokens(names))
            for seconds, names in steps.items()
        ]
        self.reminding += (ReminderRule(questions=questions, ask=tokens(ask), steps=tuple(steps)),)
        return []

    def begin(self, *, warn_at=()):
        world, levels = self.world, tuple(int(level) for level in warn_at)
        more = {
            "problem": self.specification,
            "given_facts": self.facts,
            "reminders": self.reminding,
            "warn_at": levels,
        }
        return self.send(planning_start(world.now, world.config, world.limits, **more))

    def given(self, *, initial, goal=None, achieved=(), failure="", asks_nobody=False, answer=""):
        question, _, said = answer.partition(": ")
        self.facts = Given(
            initial_state=tokens(initial),
            goal_state=None if goal is None else tokens(goal),
            achieved=tokens(achieved),
            failure_summary=failure,
            asks_nobody=asks_nobody,
            answers=(GivenAnswer(question=question, answer=said),) if answer else (),
        )
        return []

    def send(self, message):
        """Give the machine a message at the driver's second; check that the fold of all events gives the same state."""
        events = self.world.send(stamp(message, self.world.now - self.shift - self.claimed))
        assert fold(self.world.machine, self.world.events) == self.state
        if events is None:
            return ["nothing new"]
        if isinstance(events, Refused):
            return [f"refused: {events.reason}"]
        return [self.transcript.line(event, self.state) for event in events]

    def tick(self, seconds=1.0):
        self.world.now += seconds
        return self.world.now

    def reply(self, request, text="", tokens=15, took=None, finish="stop"):
        usage = Usage(input_tokens=tokens - 5, output_tokens=5)
        content = text or json.dumps({"by": request})[: None if finish == "stop" else -1]
        cost = None if took is None else Amount(took, tokens)
        artifact = Reply(text=content, usage=usage, model="toy", finish_reason=finish)
        return self.send(Generated(request, self.tick(), 1.0, artifact, cost))

    def classify(self, request, text):
        return self.reply(request, text if " " in text else json.dumps({"cause": text}))

    def accept(self, node):
        return self.send(Judged(f"judge:{node}", self.tick(), 0.0, passed()))

    def reject(self, node, *codes, tag=None, guard="toy"):
        findings = tuple(
            Finding(
                code=code.partition(":")[0].partition("@")[0],
                message=f"{node} has {code.partition(':')[0].partition('@')[0]}",
                where=code.partition("@")[2].partition(":")[0],
                answer_schema=SCHEMAS.get(code.partition(":")[2]),
                tags=(tag,) if tag else (),
            )
            for code in codes
            if code != "fatal"
        )
        verdict = Verdict(guard=guard, passed=False, score=0.5, findings=findings, fatal="fatal" in codes)
        return self.send(Judged(f"judge:{node}", self.tick(), 0.0, verdict))

    def ok(self, node):
        return [*self.reply(node), *self.accept(node_of(node))]

    def bad(self, request, *codes, **options):
        return [*self.reply(request), *self.reject(node_of(request), *codes, **options)]

    def reach(self, node):
        while node not in self.state.run.calls.open:
            request, opened = next(iter(self.state.run.calls.open.items()))
            self.reply(request)
            self.accept(opened.request.node)
        return []

    def fault(self, request, kind, retry_after=None, took=None):
        fault = Fault(kind=FaultKind(kind), message=f"{kind} happened", retry_after=retry_after)
        cost = None if took is None else Amount(calls=took)
        return self.send(Faulted(request, self.tick(), 1.0, fault, cost))

    def wake(self, request):
        wait = self.state.run.waits.get(request)
        self.world.now = max(self.world.now, wait.until if wait else 0.0)
        return self.send(Woken(request, self.world.now))

    def later(self, seconds):
        self.tick(float(seconds))
        return []

    def clock(self, seconds):
        self.world.now += float(seconds)
        self.shift += float(seconds)
        return []

    def park(self):
        return self.send(Parking(self.tick()))

    def resume(self, at_once=False):
        self.epoch, now = self.epoch + 1, self.tick()
        self.claimed = now - self.shift
        return self.send(Resumed(self.epoch, now, at_once))

    def down(self, kind, retry_after=None):
        self.world.now = max(self.world.now, self.state.run.waits["provider"].until)
        fault = Fault(kind=FaultKind(kind), message=f"{kind} happened", retry_after=retry_after)
        return self.send(Faulted("provider", self.world.now, 0.0, fault))

    def below(self, request, kind, until):
        fault = Fault(kind=FaultKind(kind), message=f"{kind} happened below")
        return self.send(Faulted(request, self.tick(), 1.0, fault, until=self.transcript.start + until))

    def change(self, **options):
        if "deadline" in options:
            options["deadline"] += self.world.now
        return self.mail(json.dumps({"kind": "change"} | {LIMIT_KEYS.get(key, key): to for key, to in options.items()}))

    def crash(self, request, halted=""):
        return self.send(Crashed(request, self.tick(), f"{request} crashed", halted))

    def fork(self, seq):
        """Go on as a fork of the run that has been written so far."""
        first, *rest = self.world.events[: int(seq)]
        shared = [first.model_copy(update={"shared": int(seq)}), *rest]
        forked = Forked(at=self.tick(), origin="other", seq=int(seq), hash="00" * 32, limits=self.world.limits)
        self.world.events[:] = [*shared, forked]
        self.world.state = fold(self.world.machine, self.world.events)
        return [self.transcript.line(forked, self.state)]

    def cancel(self):
        return self.mail('{"kind": "cancel"}')

    def answer(self, question, text, person=""):
        by = {"via": "link", "person": person} if person else {}
        return self.mail(json.dumps({"kind": "answer", "question": question, "answer": text, **by}))

    def decline(self, question):
        return self.mail(json.dumps({"kind": "decline", "question": question}))

    def note(self, text):
        return self.mail(json.dumps({"kind": "note", "text": text}))

    def requirement(self, text):
        return self.mail(json.dumps({"kind": "requirement", "text": text}))

    def mail(self, body):
        return self.send(Mailed(1, "key", body, self.tick()))

    def show(self):
        return self.transcript.show(self.state)

    def prompt(self, step):
        return self.transcript.prompt(self.state, step)
