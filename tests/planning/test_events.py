"""What is stored of an event: nothing that says itself, and defaults that never change."""

from enum import Enum

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from actors.planning.events import (
    EVENTS,
    ArtifactProduced,
    ClassificationRequested,
    Decided,
    GenerationRequested,
    RequestReissued,
    RunStarted,
    classification_id,
    node_id,
    visit_and_attempt,
)
from actors.planning.views import log_fields
from actors.policy.decision import Decision
from actors.policy.table import BacktrackLevel
from actors.prompting.book import schema_bytes
from actors.run.calls import Settled
from actors.run.ids import call_of, expiry_id, node_of, step_of, try_id, visit_of
from actors.run.parking import RunParked
from actors.run.questions import Question
from actors.run.state import NotStarted, RunState
from actors.run.views import budget_line
from actors.run.waits import WaitEnded
from runtime.core.events import Codec
from runtime.core.ledger import ZERO, Amount, Limits, Price, Usage
from runtime.core.messages import Parking, Resumed
from runtime.models.port import Reply
from tests.support.questions import question_asked
from tests.support.worlds import World, passed, pinned, rejected

CODEC = Codec(EVENTS)

FOR_EVER = {
    "ArtifactProduced.calls": 1,
    "ArtifactProduced.finish_reason": "stop",
    "ArtifactProduced.mode": "text",
    "ClarificationRequested.answer_schema": {"type": "string", "minLength": 1},
    "ClarificationRequested.priority": "normal",
    "ClassificationRequested.calls": 1,
    "ClassificationRequested.try_number": 1,
    "ReminderRule.questions": "all",
    "Decided.level": "local_retry",
    "FailureClassified.calls": 1,
    "FailureClassified.finish_reason": "stop",
    "FailureClassified.mode": "text",
    "Finding.severity": "error",
    "GenerationRequested.calls": 1,
    "GenerationRequested.try_number": 1,
    "Inquiry.answer_schema": {"type": "string", "minLength": 1},
    "NeededAnswer.answer_schema": {"type": "string", "minLength": 1},
    "NeededAnswer.priority": "normal",
}
"""The defaults that are not empty. Journals rely on each: add to this list, never change it."""


def test_unknown_keys_are_refused_all_the_way_down():
    body = b'{"kind":"settled","at":1.0,"request_id":"a/v1.a1","used":{"calls":1,"odd":2}}'
    with pytest.raises(ValidationError, match="odd"):
        CODEC.decode(body, {})
    settled = Settled(request_id="a/v1.a1", at=1.0, used=Amount(calls=1))
    stored = CODEC.encode(settled)
    assert orjson.loads(stored.body)["used"] == {"calls": 1}
    assert CODEC.decode(stored.body, {}) == settled


def models(kind):
    """Yield the models that a value of this type may hold."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in getattr(kind, "__args__", ()):
        yield from models(part)


def stored_models():
    """Return every model that events are written with; limits are written in full."""
    found, todo = set(), [*EVENTS]
    while todo:
        model = todo.pop()
        if model not in found and model is not Limits:
            found.add(model)
            todo += [inner for field in model.model_fields.values() for inner in models(field.annotation)]
    return found


def test_defaults_of_stored_values_are_empty_or_known_for_ever():
    """What equals its default is not written, so a changed default would rewrite every journal."""
    found = {}
    for model in stored_models():
        for name, field in model.model_fields.items():
            default = field.get_default(call_default_factory=True) if not field.is_required() else None
            if default and name != "kind":
                found[f"{model.__name__}.{name}"] = default.value if isinstance(default, Enum) else default
    assert found == FOR_EVER


def test_limits_are_written_in_full():
    """A run keeps the limits that it was started with, whatever a later release defaults to."""
    started = RunStarted(at=1.0, run="r", specification="s", pinned="p", limits=Limits())
    assert orjson.loads(CODEC.encode(started).body)["limits"] == Limits().model_dump()


def test_an_accepted_step_is_stored_without_what_follows_from_the_rest():
    """No empty fields, no ids that other ids hold, hashes of 256 bits for texts and of 128 for the prompt."""
    world = World(pinned({"a": {}}), judge=lambda *_: passed())
    world.author = lambda *_: Reply("{}", Usage(input_tokens=10, output_tokens=5), "toy")
    world.run()
    _, asked, made, judging, verdict, _ = (orjson.loads(CODEC.encode(event).body) for event in world.events)
    assert asked.keys() == {"kind", "node", "prompt_hash", "tokens_max"}
    assert made.keys() == {"kind", "at", "request_id", "elapsed", "content", "usage", "model"}
    assert judging.keys() == {"kind", "node", "guard"}
    assert verdict.keys() == {"kind", "at", "node", "elapsed", "verdict"}
    assert (len(asked["prompt_hash"]), len(made["content"])) == (32, 43)


def test_a_rejected_step_is_stored_without_what_follows_from_the_rest():
    """What a guard found is stored with its verdict, once; a retry is of the step itself, and needs not say so."""
    left = [rejected("field.missing", where="part1")]
    world = World(pinned({"a": {}}), judge=lambda *_: left.pop() if left else passed())
    world.run()
    verdict, decision = (orjson.loads(CODEC.encode(event).body) for event in world.events[4:6])
    assert verdict["verdict"].keys() == {"guard", "findings"}
    assert decision == {"kind": "decided", "node": "a/v1.a1", "rule": "malformed", "code": "field.missing"}


@pytest.mark.parametrize("level", BacktrackLevel)
def test_a_decision_is_read_back_whole(level):
    targets = {"give_up": (), "partial_replan": ("b",), "full_replan": ("c", "b")}.get(level.value, ("a",))
    made = Decision(
        step="a", node="a/v2.a1", level=level, targets=targets, rule="r", code="x.y", wanted=("d",), delay_seconds=2.5
    )
    stored = CODEC.encode(Decided.of(made))
    assert CODEC.decode(stored.body, stored.texts).decision == made


def test_times_are_kept_to_the_microsecond():
    made = ArtifactProduced(request_id="a/v1.a1", at=1.123456789, elapsed=5.2e-7, content="")
    assert (made.at, made.elapsed) == (1.123457, 0.000001)


@given(st.from_regex(r"\A[a-z][a-z0-9_]{0,63}\Z"), *[st.integers(1, 10**6)] * 3)
def test_names_can_be_read_back(step, visit, attempt, number):
    """A step's id has no slash and no dot in it, so everything that a name was made of is in it."""
    node = node_id(step, visit, attempt)
    assert (step_of(node), visit_and_attempt(node), node_of(try_id(node, number))) == (step, (visit, attempt), node)
    request = GenerationRequested(node=node, try_number=number, prompt_hash="")
    assert (request.step, request.visit, request.attempt) == (step, visit, attempt)
    asked = ClassificationRequested(node=node, try_number=number, prompt_hash="", rule="")
    call = classification_id(node)
    assert (asked.call, call_of(asked.request_id), node_of(asked.request_id)) == (call, call, node)
    assert asked.step == step
    assert asked.request_id != request.request_id


def test_the_attempts_of_a_visit_have_one_name_which_no_other_call_has():
    """Other visits, branches and classifications have other names; a further try of a call has its name."""
    nodes = [node_id("a", visit, attempt, branch) for visit in (1, 2) for branch in (0, 1) for attempt in (1, 2, 10)]
    names = [visit_of(try_id(node, number)) for node in nodes for number in (1, 2)]
    assert names == [name for name in ("a/v1", "a/v1.b1", "a/v2", "a/v2.b1") for _ in range(6)]
    assert visit_of(classification_id("a/v1.a2")) == visit_of(classification_id("a/v1.a1")) != "a/v1"
    assert visit_of("fix/r1.v2.a3.apply") == "fix/r1.v2.apply"


@pytest.mark.parametrize("kind", [GenerationRequested, ClassificationRequested])
def test_a_reissued_request_is_read_back_as_what_it_was(kind):
    """The kind of the inner request is not stored; its fields tell."""
    rule = {"rule": "wrong_facts"} if kind is ClassificationRequested else {}
    event = RequestReissued(replaces="a/v1.a1", again=kind(node="a/v1.a1", try_number=2, prompt_hash="0", **rule))
    stored = CODEC.encode(event)
    assert CODEC.decode(stored.body, {}) == event
    assert type(CODEC.decode(stored.body, {}).again) is kind


@pytest.mark.parametrize("usage", [None, Usage(input_tokens=-9, output_tokens=1), Usage(input_tokens=7)])
def test_what_was_charged_survives_storage(usage):
    """Where no usage that makes sense came, the reserved tokens are charged, and written."""
    world = World(pinned({"a": {}}), judge=lambda *_: passed())
    world.author = lambda *_: Reply("{}", usage, "toy")
    world.run()
    (asked,) = (event for event in world.events if isinstance(event, GenerationRequested))
    (made,) = (event for event in world.events if isinstance(event, ArtifactProduced))
    stored = CODEC.encode(made)
    assert CODEC.decode(stored.body, stored.texts).used == made.used
    assert made.used.tokens == (7 if usage and usage.input_tokens == 7 else asked.reserve.tokens)


@pytest.mark.parametrize(("role", "more"), [("plan", schema_bytes("plan")), ("odd", 0)])
def test_the_schema_and_the_framing_are_reserved(role, more):
    """All that is sent is paid for: a byte-level tokenizer may make a token of every byte."""
    price = Price(input_per_token_usd=1e-6, output_per_token_usd=0)
    config = pinned({"a": {"role": role}}, output_tokens_max=100, price=price)
    world = World(config, judge=lambda *_: passed())
    world.begin()
    (work,) = world.machine.outstanding(world.state).values()
    prompt = world.machine.brief(world.state, work).prompt
    sent = prompt.byte_count + more + 64
    assert (work.request.reserve.tokens, work.request.reserve.micro_usd) == (sent + 100, sent)


def test_a_reply_that_reports_more_than_was_reserved_is_booked_and_the_run_stops():
    """The books tell the truth; what passes the limit is the last thing that was paid for."""
    world = World(pinned({"a": {}, "b": {"requires": ["a"]}}), judge=lambda *_: passed(), limits=Limits(tokens=9_000))
    world.author = lambda *_: Reply("{}", Usage(input_tokens=50_000, output_tokens=5), "toy")
    state = world.run()
    assert (state.run.ledger.spent.tokens, state.run.finished.why) == (50_005, "no tokens left")
    assert world.calls.total() == 1


def test_what_came_from_the_prompt_cache_is_counted_and_shown():
    """Issue 30: a read costs its own rate, and people see what it saved."""
    price = Price(input_per_token_usd=1e-4, output_per_token_usd=0, cache_read_per_token_usd=1e-5)
    world = World(pinned({"a": {}}, price=price), judge=lambda *_: passed())
    world.author = lambda *_: Reply("{}", Usage(input_tokens=900, cache_read_tokens=600), "toy")
    state = world.run()
    assert state.run.ledger.spent.micro_usd == 300 * 100 + 600 * 10
    assert "900 tokens, 600 of them from the prompt cache (saved $0.0540) · $0.0360" in budget_line(state, 0.0).plain


def test_the_time_of_a_run_never_goes_back():
    """A clock that is set back by an hour neither undoes the deadline nor counts as work."""
    world = World(pinned({"a": {}}), judge=lambda *_: passed(), limits=Limits(deadline=2_000.0))
    world.begin()
    world.send(Parking(1_500.0))
    world.send(Resumed(2, 400.0))
    assert world.state.run.now == 1_500.0
    assert world.state.run.ledger.active == 500.0


def test_active_time_counts_once_for_all_that_is_open_and_not_while_nobody_drives_the_run():
    world = World(pinned({"a": {}, "b": {}}), judge=lambda *_: passed())
    world.begin()
    assert len(world.doable()) == 2
    world.send(Parking(1_005.0))
    world.send(Resumed(2, 2_000.0))
    world.send(Parking(2_003.0))
    assert world.state.run.ledger.active == 8.0


NODE = "g_plan/v2.a1.b3"
PLACE = {"step": "g_plan", "node": NODE, "branch": 3}
FIELDS = frozenset({"node", "request_id", "again", "question_id"})
NOTHING = NotStarted()
ASKED = NotStarted(RunState(questions={"q1": Question(question_asked(node=NODE), 1.0)}))


@pytest.mark.parametrize("kind", [one for one in EVENTS if FIELDS & one.model_fields.keys()])
def test_an_event_that_names_a_node_or_a_question_says_where_it_is(kind):
    again = GenerationRequested(node=NODE, prompt_hash="")
    event = kind.model_construct(node=NODE, request_id=f"{NODE}.t2", again=again, question_id="q1")
    assert log_fields(event, ASKED) == PLACE


@pytest.mark.parametrize("name", [NODE, f"{NODE}.t2", f"{NODE}/c", f"{NODE}/c.t2", f"judge:{NODE}"])
def test_so_does_one_that_names_any_request_for_it(name):
    assert log_fields(Settled(request_id=name, at=1.0, used=ZERO), NOTHING) == PLACE


@pytest.mark.parametrize("name", [f"wait:{NODE}.t2", f"rest:{NODE}", expiry_id("q1")])
def test_so_does_a_wait_for_a_node_or_for_a_question_s_end(name):
    assert log_fields(WaitEnded(request_id=name, at=1.0), ASKED) == PLACE


def test_an_event_about_the_run_names_no_step():
    assert log_fields(WaitEnded(request_id="deadline", at=1.0), ASKED) == {}
    assert log_fields(WaitEnded(request_id=expiry_id("q2"), at=1.0), ASKED) == {}
    assert log_fields(RunParked(at=1.0), ASKED) == {}


def test_a_request_that_is_asked_again_is_about_the_same_node():
    again = GenerationRequested(node=NODE, prompt_hash="", try_number=2)
    assert log_fields(RequestReissued(replaces=NODE, again=again), NOTHING) == PLACE
