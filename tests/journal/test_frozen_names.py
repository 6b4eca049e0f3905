"""The names that journals hold: what was ever written is read for ever, under the same names.

`frozen_names.json` is what 1.0.0 writes. Until that is released, write it anew with `python -m
tests.journal.list_stored_names`. From then on add to it, and never change it: a name that is to be called differently
is read under both and stays in the list, and a new one raises the version of journals (`runtime.journal.port`).
"""

import json
import tempfile
from contextlib import closing
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path

import apsw
import trio

from actors.config.action_pair import ActionPair
from actors.config.step_guards import BUILT_IN
from actors.config.workflow import _ROLES, FREE_GENERATORS, MODEL_GENERATORS, Workflow
from actors.guards.port import Composite
from actors.planning.config import RunConfig, StepModel
from actors.planning.events import EVENTS, NeededAnswer, PlanningOutcome, classification_id, judgement_id, node_id
from actors.planning.kind import CODEC
from actors.planning.prepare import PlanningInput, RunOptions
from actors.planning.replanning import UNSUCCESSFUL
from actors.policy.author import ModelCounts
from actors.policy.belief_choice import MistakePlace, Option, Weighing
from actors.policy.table import (
    CLASSIFIER,
    Agreement,
    Author,
    AuthorKind,
    BacktrackLevel,
    BeliefTable,
    Cause,
    Person,
    Policy,
    Row,
)
from actors.prompting.book import PromptBook, PromptEntry, Sections, ShorterTexts
from actors.run.fork_event import MadeCall
from actors.run.ids import child_run, expiry_id, reminder_id, try_id
from actors.run.questions import LimitReached
from actors.run.reminder_events import ReminderRule, Reminders, ReminderStep
from actors.run.tools import ToolCost
from actors.run.waits import DEADLINE, HOME_BUDGET, PROVIDER
from actors.search.notation import NUMBERS
from actors.search.progress import PruneCause
from actors.values.findings import Code, Finding, ReasonTag, Verdict
from actors.values.given import Given, GivenAnswer, ReadableResult
from actors.values.model_settings import ModelSettings
from actors.values.plugin_marks import PlugInFile
from actors.values.question_form import Choice, Inquiry
from actors.values.requirements import RequirementKind
from replan.runs.engine import Engine
from replan.runs.prepare import RunOrder, prepare
from replan.runs.reader import STATUSES
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig, choose_model
from runtime.core.clock import SystemClock
from runtime.core.ledger import Amount, Limit, Limits, Price, PriceTier, Usage
from runtime.journal.memory import open_memory
from runtime.journal.sqlite.journal import open_sqlite
from runtime.models.port import Fault, FaultKind
from runtime.models.replies import ReplyCode
from tests.journal.execution_names import execution_names
from tests.journal.list_stored_names import Names, lost, names_of_events, names_of_tables, names_of_values, words_of

FROZEN = Path(__file__).parent / "frozen_names.json"

VALUES = {
    ActionPair: "action pair",
    Amount: "amount",
    Composite: "composite guard",
    Fault: "fault",
    Choice: "choice of a question",
    Finding: "finding",
    Given: "given facts",
    GivenAnswer: "given answer",
    ReadableResult: "readable result",
    Inquiry: "inquiry",
    ReminderRule: "reminder rule",
    Reminders: "reminders",
    ReminderStep: "reminder step",
    LimitReached: "limit reached",
    Limits: "limits",
    MadeCall: "made call",
    ModelSettings: "model settings",
    StepModel: "step model",
    NeededAnswer: "needed answer",
    PlugInFile: "plug-in file",
    RunConfig: "pinned",
    Policy: "policy",
    Price: "price",
    PriceTier: "price tier",
    PromptBook: "prompts",
    PromptEntry: "prompt entry",
    Row: "policy row",
    BeliefTable: "belief",
    Person: "belief person",
    Agreement: "belief agreement",
    AuthorKind: "belief author",
    Author: "known author",
    Weighing: "weighing",
    ModelCounts: "counts of a model",
    MistakePlace: "weighed place",
    Option: "weighed move",
    Sections: "prompt sections",
    ShorterTexts: "shorter prompt texts",
    ToolCost: "tool cost",
    Usage: "usage",
    Verdict: "verdict",
    Workflow: "workflow",
}
"""The values in events, and what they are called in the list; one that is stored no more is read still, and stays."""
WORDS: dict[type[Enum], str] = {
    BacktrackLevel: "backtrack level",
    Cause: "cause",
    Code: "finding code",
    FaultKind: "fault kind",
    Limit: "limit",
    PlanningOutcome: "outcome",
    PruneCause: "prune cause",
    ReasonTag: "reason tag",
    RequirementKind: "requirement kind",
    ReplyCode: "reply code",
}
"""The closed sets whose words are stored."""


CHANGE = {
    "at_limit": "ask",
    "calls": 99,
    "tokens": 10**9,
    "micro_usd": 10**9,
    "active_seconds": 9_999.0,
    "deadline": 4_000_000_000.0,
    "patience_seconds": 60.0,
    "stop_below": 0.5,
    "model": "template:bug",
    "call_seconds": 600.0,
    "timeout_seconds": 60.0,
    "output_tokens_max": 5_000,
    "model_settings": {"temperature": 0.5, "seed": None},
}
"""Everything that a person can change of a run."""


def ids():
    """Return an id of each form."""
    node = node_id("g_plan", 2, 3)
    return {
        "node": node,
        "node in a branch": node_id("g_plan", 2, 3, 4),
        "generation": try_id(node, 1),
        "second try": try_id(node, 2),
        "classification": classification_id(node),
        "second try of a classification": try_id(classification_id(node), 2),
        "judgement": judgement_id(node),
        "expiry of a question": expiry_id("q1"),
        "reminder of a question": reminder_id("q1"),
        "deadline": DEADLINE,
        "home's next day": HOME_BUDGET,
        "provider": PROVIDER,
        "provider of a run of a step": f"{PROVIDER}:{node}",
        "run of a step": child_run("k7m2x9qa", node),
        "classifier": CLASSIFIER,
        "key of what an unsuccessful run of a step brings": UNSUCCESSFUL,
    }


async def messages():
    """Return the key and the keys of the body of each message that people post, by its kind."""
    clock, known = SystemClock(), registry()
    async with open_memory(CODEC, clock) as journal:
        engine = Engine(journal, registry=known, clock=clock, environment={}, threads=False)
        options, choice = RunOptions(workflow="search"), choose_model("template:bug", {}, UserConfig())
        job = prepare(
            RunOrder(PlanningInput("Make it better, please.", options), choice.text),
            config=UserConfig(),
            registry=known,
            environment={},
            now=clock.now(),
        ).request
        job = replace(job, limits=job.limits.model_copy(update={"stop_below": 0.0}))  # As with a belief policy.
        for run in ("answered", "declined"):
            assert (await engine.begin(job, run=run)).status == "waiting"
        await engine.answer("answered/q1", "It is the export that is slow.", via="cli")
        await engine.decline("declined/q1", via="cli")
        await engine.tell("answered", "It is slow.", "note")
        await engine.tell("answered", "It must be fast.", "requirement")
        await engine.change("answered", {"price": None, **CHANGE})
        await engine.cancel("answered")
        posted = [item for run in ("answered", "declined") for item in await journal.inbox(run)]
    bodies = [(item.key.partition(":"), json.loads(item.body)) for item in posted]
    return {
        body["kind"]: {"key": f"{key[0]}:…" if key[0] in ("tell", "change") else "".join(key), "body": sorted(body)}
        for key, body in bodies
    }


async def tables():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.sqlite3"
        async with open_sqlite(path, CODEC, SystemClock()):
            pass
        with closing(apsw.Connection(str(path))) as connection:
            return names_of_tables(connection)


@cache
def stored_names():
    named = {**VALUES, **WORDS}
    names = Names(named, EVENTS)
    events = names_of_events(EVENTS, names)
    return {
        "events": events,
        "values": names_of_values(list(VALUES), names),
        "words": words_of(WORDS) | {"status": list(STATUSES)},
        "used by workflows": {
            "generators": sorted(MODEL_GENERATORS | FREE_GENERATORS),
            "guards": sorted(BUILT_IN),
            "roles": dict(_ROLES),
            "searches": {name: list(numbers) for name, numbers in NUMBERS.items()},
        },
        "ids": ids(),
        "messages": trio.run(messages),
        "file": trio.run(tables),
        "executions": execution_names(named),
    }


def frozen():
    return json.loads(FROZEN.read_text(encoding="utf-8"))


def without_version(names):
    """Return the names without the version of the file's tables, which grows with them."""
    return {**names, "file": {key: value for key, value in names["file"].items() if key != "user_version"}}


def test_no_stored_name_is_lost_or_means_something_else():
    assert list(lost(without_version(frozen()), stored_names())) == []
    assert frozen()["file"]["user_version"] <= stored_names()["file"]["user_version"]


def test_every_new_stored_name_is_added_to_the_list():
    assert list(lost(without_version(stored_names()), frozen())) == []


def test_a_lost_name_and_a_changed_default_are_told():
    was = {"at": {"type": "number"}, "words": ["a", "b"], "mode": {"default": ["x", "y"]}}
    now = {"words": ["b", "c"], "mode": {"default": ["y", "x"]}, "new": {}}
    differences = ["at is gone", "words has no 'a'", "mode.default was ['x', 'y'] and is ['y', 'x']"]
    assert list(lost(was, now)) == differences
