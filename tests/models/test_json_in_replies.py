"""JSON where a server has put it, and JSON that is broken but unambiguous."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.planning.events import ArtifactProduced, VerdictReached
from actors.run.calls import reject_cut_artifact
from actors.values.artifacts import Artifact
from runtime.models.http_model import REPAIR_MAX, THOUGHTS_KEPT, repair
from runtime.models.port import Fault, Reply
from runtime.models.replies import Parsed, ReplyCode, Unreadable, read_reply, repeated_phrase
from tests.contracts.model import TEXT, request
from tests.models.wired import KEY, wired
from tests.support.answers import Answer, chunk
from tests.support.artifacts import GOOD
from tests.wire.test_search import FastBackOffClock, run_against

PLAN = json.dumps(GOOD["g_plan"])


def thinking(text, *, name="reasoning_content", content=None, streamed=False, **more):
    if not streamed:
        return Answer.say(content, **{name: text}, **more)
    return Answer.events([chunk({name: part}) for part in (text[:5], text[5:])] + [chunk({}, "stop"), "[DONE]"])


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("content", [None, "", "\n"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_json_in_a_field_for_reasoning_is_the_reply_where_there_is_no_other(name, content, streamed):
    async with wired(thinking(TEXT, name=name, content=content, streamed=streamed)) as (_, model):
        reply = await model.complete(request())
    assert isinstance(reply, Reply)
    assert reply.text == TEXT
    assert reply.notices[0] == "the server sent the reply in the field for reasoning"


async def test_broken_json_in_a_field_for_reasoning_is_read_too():
    async with wired(thinking("{'a': 1,} // done")) as (_, model):
        reply = await model.complete(request())
    assert (reply.text, reply.original) == ('{"a": 1}', "{'a': 1,} // done")
    assert len(reply.notices) == 2


@pytest.mark.parametrize(
    "thought", ["The bug is in the parser.", 'I could write {"a": 1} or {"a": 2,}', "{a", '{"a": 1} or']
)
async def test_reasoning_in_prose_is_no_reply_and_is_named(thought):
    async with wired(thinking(thought)) as (_, model):
        reply = await model.complete(request())
    found = read_reply(reply.text)
    assert isinstance(found, Unreadable)
    assert found.code is ReplyCode.ONLY_REASONING
    assert thought in reply.text


async def test_what_is_kept_of_reasoning_is_short_and_has_no_key():
    async with wired(thinking("x" * 10_000 + KEY)) as (_, model):
        reply = await model.complete(request())
    assert len(reply.text) < THOUGHTS_KEPT + 20
    assert KEY not in reply.text


async def test_a_text_that_is_not_asked_for_as_json_stays_as_it_is():
    async with wired([thinking("thought"), Answer.say("{'a': 1,}")]) as (_, model):
        assert (await model.complete(request(schema=None))).text == ""
        assert (await model.complete(request(schema=None))).text == "{'a': 1,}"


async def test_a_text_goes_before_reasoning():
    async with wired(thinking('{"thought": 1}', content=TEXT)) as (_, model):
        reply = await model.complete(request())
    assert (reply.text, reply.notices) == (TEXT, ())


async def test_no_text_no_reasoning_and_no_usage_is_still_no_reply():
    async with wired(Answer.say(None, usage={})) as (_, model):
        assert isinstance(await model.complete(request()), Fault)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2,], "b": 3,}', {"a": [1, 2], "b": 3}),
        ('{"a": 1} // done', {"a": 1}),
        ('{"a": 1, // the first\n /* and */ "b": "http://x/#y" # last\n}', {"a": 1, "b": "http://x/#y"}),
        ("{'a': 'it\\'s', 'b': None, 'c': True,}", {"a": "it's", "b": None, "c": True}),
        ('{a: 1, b_2: {c: "d"}}', {"a": 1, "b_2": {"c": "d"}}),
        ('{"a": "one\ntwo",}', {"a": "one\ntwo"}),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}),
        ('Here it is:\n```json\n{"a": 1,}\n```\nDone.', {"a": 1}),
        ('<think>{"x": 1,}</think>{"a": 1,}', {"a": 1}),
        ('{"a": -1.5, "b": [true, false, null],}', {"a": -1.5, "b": [True, False, None]}),
        ('{"a": "naïve 😀",}', {"a": "naïve 😀"}),
    ],
)
def test_what_is_broken_but_unambiguous_is_read(text, value):
    found = repair(text)
    assert found is not None
    assert json.loads(found) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot help with that.",
        '{"a": 1',  # the end is missing
        '{"a": [1, 2,',
        '{"a": "half',
        '{"key": ""value"}',  # which quote is wrong?
        '{"a": maybe}',  # what is meant?
        '{"a": [yes, no]}',
        "{'key1', 'key2'}",  # a set
        '{"a": 1, "a": 2,}',  # which one?
        '{"a": NaN,}',
        '{"a": Infinity,}',
        '{"a": 1,} {"b": 2,}',
        '{"a": 1]',
        '{"a" "b"',
        '{"a": 0x1F,}',
        '{"a": 01,}',
        "[" * 200 + "1," + "]" * 200,
        '{"a": "' + "x" * REPAIR_MAX + '",}',
    ],
)
def test_what_may_mean_several_things_or_nothing_is_not_read(text):
    assert repair(text) is None


ASCII = st.text(st.characters(codec="ascii"), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | ASCII,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ASCII, inner),
)


@given(st.dictionaries(st.sampled_from(["a", "b c", "d"]), VALUES, min_size=1))
def test_commas_too_many_change_nothing_or_are_not_read(value):
    text = json.dumps(value)[:-1] + ",}"
    found = repair(text)
    assert found is None or json.loads(found) == value


@given(st.text(st.sampled_from("{}[]'\"\\,:/*# \n1ae-"), max_size=40))
def test_any_text_gives_json_or_nothing(text):
    found = repair(text)
    assert found is None or isinstance(read_reply(found), Parsed)


@pytest.mark.parametrize(
    "evil", ["[" * 60_000, '{"a":' * 20_000, "{'a':'" + "x" * 100_000, "{" + "/*" * 40_000, '{"a":"b" ' * 8_000]
)
def test_a_hostile_text_takes_no_minutes(evil):
    started = time.monotonic()
    assert repair(evil) is None
    assert time.monotonic() - started < 30


async def test_a_run_takes_broken_json_at_the_first_call_and_records_what_was_written():
    broken = PLAN[:-1] + ",}  // done"
    async with run_against(lambda *_: Answer.say(broken), FastBackOffClock(), workflow="single") as (result, _, events):
        assert (result.outcome, result.calls) == ("success", 1)
        [reply] = [event for event in events if isinstance(event, ArtifactProduced)]
        assert reply.original == broken
        assert json.loads(reply.content) == GOOD["g_plan"]
        assert reply.notices == ("the JSON of the reply was broken, but was repaired",)


# Findings about the whole of a reply


@pytest.mark.parametrize("phrase", ["plan ", "no\n", "I must think about it. ", "ab" * 60 + "c"])
def test_a_reply_that_repeats_one_phrase_says_so(phrase):
    found = read_reply("So: {" + phrase * 300)
    assert isinstance(found, Unreadable)
    assert found.code is ReplyCode.REPEATS
    assert phrase.strip()[:20] in found.message or phrase.strip()[-20:] in found.message


@pytest.mark.parametrize("text", ["plan " * 20, "}" * 60, "a plan and another plan", "", "x" * 399])
def test_a_short_repetition_is_none(text):
    assert repeated_phrase(text) == ""


def test_a_reply_that_was_cut_while_it_repeated_a_phrase_says_both():
    artifact = Artifact("n", "g_plan", "plan " * 4000, finish_reason="length")
    [finding] = reject_cut_artifact(artifact, "plan_medium", 4096).findings
    assert finding.code == "reply.cut"
    assert 'It repeated "plan" up to there.' in finding.message


@pytest.mark.parametrize("text", ["<think>\nIt is a bug", "<think>It is a bug</think>", "<think>{ </think> \n"])
def test_a_reply_that_holds_only_reasoning_says_so(text):
    found = read_reply(text)
    assert isinstance(found, Unreadable)
    assert found.code is ReplyCode.ONLY_REASONING


async def test_a_run_names_reasoning_without_a_reply_in_its_findings():
    answers = [thinking("The plan is to fix it."), Answer.say(PLAN)]
    async with run_against(lambda _b, _h, n: answers[n - 1], FastBackOffClock(), workflow="single") as (
        result,
        _,
        events,
    ):
        assert (result.outcome, result.calls) == ("success", 2)
        [rejected] = [event for event in events if isinstance(event, VerdictReached) and not event.verdict.passed]
        assert [finding.code for finding in rejected.verdict.findings] == ["reply.only_reasoning"]
