"""No reply of a model ends a run by a bug: hostile replies in runs, and readers that do raise.

`make soak` gives each kind 100,000 replies (`REPLAN_REPLIES`).
"""

import io
import json
import os
import random
import sys
from collections import Counter

import pytest

from actors.config.step_guards import BUILT_IN, PlugInFailed, make_step_guard
from actors.execution.replan_rules import given_facts
from actors.planning.machine import PlanningMachine
from actors.run.calls import Generated, Judged
from actors.run.state import NotStarted
from actors.values.artifacts import Artifact, Context
from actors.values.findings import limit_verdict
from replan.setup.plugins import registry
from runtime.core import hooks
from runtime.core.ledger import Limits
from runtime.core.machine import Refused, settle
from runtime.core.messages import Mailed, Resumed, Woken
from runtime.logs import log
from runtime.logs.redact import Redactor
from runtime.models.port import Reply
from tests.execution import stage as execution
from tests.execution.stage import plan, step
from tests.replies.hostile_replies import hostile
from tests.support import artifacts
from tests.support.planning_start import planning_start
from tests.support.questions import FORM

ENDINGS = {"planning": 2, "execution": 2}
REPLIES = int(os.environ.get("REPLAN_REPLIES", "250"))


@pytest.fixture(name="unread")
def unread_texts():
    """The exceptions that readers have raised; the boundary has turned each into a rejection."""
    heard = []
    before = hooks._listener
    hooks.listen_to_readers(lambda what: heard.append((what, repr(sys.exc_info()[1]))))
    yield heard
    hooks.listen_to_readers(before)


CRITIQUE = {
    "overall_assessment": "needs_revision",
    "problem_type_match": "yes",
    "missing_steps": ["a test"],
    "unnecessary_steps": ["reproduce"],
    "ordering_issues": ["fix before verify"],
    "guard_appropriateness": [],
    "specific_suggestions": ["write a test"],
}
QUOTE = "Responses must stay under 200 ms."
REQUIREMENT = {"id": "R1", "kind": "goal", "quote": QUOTE, "statement": "fast", "tokens": ["verified"]}


def good_artifact(dice, role):
    if role == "plan":
        value = artifacts.plan(needs_missing_token=dice.choice(("", "", "x")))
        value["steps"][1] |= {"on_failure": "reproduce", "failure_effects": ["broken"], "satisfies": ["R1"]}
        value |= {
            "requirements": [REQUIREMENT],
            "invariants": [{"when": ["fixed"], "must": ["reproduced"], "must_not": []}],
        }
        return value
    good = {
        "analysis": artifacts.ANALYSIS,
        "recon": {**artifacts.RECON, "requirements": [REQUIREMENT]},
        "strategy": artifacts.STRATEGY,
        "critique": CRITIQUE,
    }
    questions = {
        "open_questions": [{"question": "Which one?", "options": ["a", "b"], "where": "x"}],
        "not_understood": "",
    }
    return {**good.get(role, {"cause": "unclear"}), **(questions if dice.random() < 0.2 else {})}


def search(dice, sent, config):
    """Play one planning run with hostile artifacts and the real guards."""
    machine, state, now, mailed, posted = PlanningMachine(), NotStarted(), 1_000.0, 0, 0

    def send(message):
        nonlocal state
        event = machine.accept(state, message)
        assert event is not None
        assert not isinstance(event, Refused), event
        state, _ = settle(machine, state, event)

    guards = {name: make_step_guard(config.workflow, name, registry().guards) for name in config.workflow.action_pairs}
    send(planning_start(now, config, problem=artifacts.PROBLEM, limits=Limits(calls=30)))
    while state.run.finished is None:
        work = machine.outstanding(state)
        if not work:
            assert state.run.parked, "nothing is open"
            posted += 1
            if posted > 5:
                return "parked"
            send(Resumed(state.run.epoch + 1, now, at_once=True))
            continue
        each = dice.choice([*work.values()])
        now += 1.0
        if each.address == "user":
            mailed += 1
            body = {"kind": "decline", "question": each.request_id}
            send(Mailed(mailed, f"test{mailed}", json.dumps(body), now))
        elif each.address.startswith("guard:"):
            brief = machine.brief(state, each)
            verdict = guards[brief.artifact.step](brief.artifact, brief.context)
            send(Judged(each.request_id, now, 0.1, limit_verdict(verdict)))
        elif each.address == "clock":
            now = max(now, each.request.until)
            send(Woken(each.request_id, now))
        else:
            role = config.roles.get(each.request.step, "")
            machine.brief(state, each)
            sent[role or "cause"] += 1
            reply = Reply(
                hostile(dice, good_artifact(dice, role)),
                None,
                "toy",
                finish_reason=dice.choice(("stop",) * 9 + ("length",)),
            )
            send(Generated(each.request_id, now, 1.0, reply))
    return str(state.run.finished.outcome)


def execute(dice, sent):
    """Play one execution: a model writes files, and plans of replans are hostile."""
    first = plan(step("a", "start", "x", retry_budget=2), step("b", "x", "goal"))
    writer = execution.writer()
    tools = execution.toolset(
        {"do_a": writer, "do_b": execution.tool("do_b"), "do_c": execution.tool("do_c")},
        {"syntax": execution.tool("check")},
    )
    stage = execution.Stage(first, tools, stored=False, replans_max=4)
    for _ in range(300):
        if stage.state.run.over or stage.end is not None:
            return str(stage.end)
        if not stage.work:
            return "rests"
        work = dice.choice([*stage.work.values()])
        stage.machine.brief(stage.state, work)
        if work.address == "user":
            request = work.request
            options = request.answer_schema.get("enum")
            stage.answer(dice.choice(options), work.request_id) if options and dice.random() < 0.7 else stage.decline(
                work.request_id
            )
        elif work.address.startswith("tool:"):
            output = json.dumps({"files": {"app/login.py": "x"}}) if "workspace" in work.address else "output"
            stage.tool(work.request_id, dice.choice(("succeeded", "succeeded", "failed", "permanent")), output)
        elif work.address == "planner":
            sent["plan"] += 1
            new = plan(step("c", "start", "goal", generator="do_c"), initial=" ".join(sorted(stage.state.tokens)))
            question = {**FORM.form, "answer_schema": {"type": "string"}, "node": "g/v1.a1", "why": "g"}
            unsuccessful = {"outcome": "needs_answer", "why": "?", "question": question}
            value = new if dice.random() < 0.8 else {"unsuccessful_run": unsuccessful}
            stage.now += 1.0
            stage.send(Generated(work.request_id, stage.now, 1.0, Reply(hostile(dice, value), None, "template:bug")))
        elif work.address == "prover":
            stage.proved()
        elif work.address == "clock":
            stage.woken()
        else:
            sent["file"] += 1
            stage.reply(
                dice.choice(("print(1)", "", "```\nx\n```", "```py\n```", "~~~\n\x00\ud800\n~~~", hostile(dice, first)))
            )
    raise AssertionError("the run does not end")


def kinds():
    config = execution.planning()
    return {
        "planning": lambda dice, sent: search(dice, sent, config),
        "execution": execute,
    }


@pytest.mark.parametrize("kind", ["planning", "execution"])
def test_no_reply_of_a_model_ends_a_run_by_a_bug_and_no_reader_raises(kind, unread):
    """Every run ends or rests as its rules say, however its replies are damaged."""
    check_endings(kind, kinds()[kind], ENDINGS[kind], unread)


def check_endings(kind, play, least, unread):
    """Play runs of a kind with hostile replies, and check that they end as its rules say, in enough ways."""
    dice, sent, ends = random.Random(f"{kind} {REPLIES}"), Counter(), Counter()
    while sent.total() < REPLIES:
        ends[play(dice, sent)] += 1
    assert unread == []
    assert "failed" not in ends
    assert len(ends) >= least, f"too few endings to mean much: {ends}"


def broken(*_, **__):
    raise OverflowError("secret text of a reply")


def test_a_guard_of_ours_that_raises_rejects_and_a_plugin_that_raises_is_named(monkeypatch, unread):
    config = execution.planning()
    known = dict(registry().guards)
    step_name = next(name for name, role in config.roles.items() if role == "analysis")
    monkeypatch.setitem(BUILT_IN, "analysis_valid", lambda _: broken)
    ours = make_step_guard(config.workflow, step_name, {**known, "analysis_valid": BUILT_IN["analysis_valid"]})
    verdict = ours(Artifact("a", step_name, "{}"), Context(""))
    assert (verdict.passed, verdict.guard, [each.code for each in verdict.findings]) == (
        False,
        "analysis_valid",
        ["reply.unread"],
    )
    assert "secret" not in verdict.findings[0].message
    assert unread == [("the artifact", "OverflowError('secret text of a reply')")]
    plugin = make_step_guard(config.workflow, step_name, {**known, "analysis_valid": lambda _: broken})
    with pytest.raises(PlugInFailed, match="guard analysis_valid: OverflowError"):
        plugin(Artifact("a", step_name, "{}"), Context(""))


def test_a_new_plan_that_cannot_be_read_is_rejected_and_the_execution_goes_on(monkeypatch, unread):
    stage = execution.Stage(plan(step("a", "start", "goal")), execution.tools_for(plan(step("a"), step("c"))))
    stage.tool("do_a", "permanent", reason="no such program")
    monkeypatch.setattr("actors.plans.reader._Reader.plan", broken)
    stage.planned(plan(step("c", "start", "goal")))
    assert stage.end is None
    assert stage.work
    assert unread[0][0] == "the plan"
    assert (
        "Replan could not read the plan (OverflowError)" in given_facts(stage.state, stage.state.replan).failure_summary
    )


def test_the_log_has_the_traceback_of_a_reader_that_raised():
    stream = io.StringIO()
    log.configure(stream=stream, json=True, level="INFO", redactor=Redactor(()))
    try:
        assert hooks.make_total("the test", len)(broken)() == len(hooks.describe_unread("the test", OverflowError()))
    finally:
        log.reset()
    line = json.loads(stream.getvalue())
    assert (line["event"], line["what"]) == ("reply.unread", "the test")
    assert "broken" in [frame["name"] for frame in line["exception"][0]["frames"]]
