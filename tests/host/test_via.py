"""Answers say on which way they came; programs do not answer what only people may."""

import json
from dataclasses import replace

import pytest
import trio

from actors.guards import review
from actors.planning.prepare import RunRequest
from actors.run.inbox import ForPeopleOnly
from actors.run.questions import PEOPLE, VIAS
from runtime.core.ledger import Limits, Price
from tests.host.fake_home import FakeHome, run_request
from tests.support.worlds import pinned

_PAIR = {"generator": "made", "guard": "human_review", "rmax": 4}
_PRICE = Price(input_per_token_usd=1e-6, output_per_token_usd=1e-6, source="test")
_CONFIG = pinned({"a": _PAIR}, price=_PRICE, questions_max=5).model_copy(update={"model": "template:bug"})
REVIEWED = RunRequest("the problem", "a run", _CONFIG, Limits(calls=20))


async def asking(engine):
    await engine.admit(run_request("a"), run="first")
    await engine.resume("first")


async def said(engine):
    """Return what the messages and the records of the run say about the ways of answers."""
    bodies = [json.loads(item.body) for item in await engine.journal.inbox("first")]
    events = [record.event for record in await engine.journal.read("first")]
    return [body.get("via") for body in bodies], [event.via for event in events if hasattr(event, "via")]


@pytest.mark.parametrize("via", VIAS[1:])
async def test_an_answer_says_on_which_way_it_came(autojump_clock, via):
    home = FakeHome(reject=["requirements.missing"])
    async with home.engine() as engine:
        await asking(engine)
        assert (await engine.answer("first/q1", "it is this", via=via)).result == "accepted"
        assert (await engine.resume("first")).outcome == "success"
        assert await said(engine) == ([via], [via])
        kinds = [record.event.kind for record in await engine.journal.read("first")]
    assert kinds.count("clarification_answered") == 1


async def test_a_decline_says_on_which_way_it_came(autojump_clock):
    home = FakeHome(reject=["requirements.missing"])
    async with home.engine() as engine:
        await asking(engine)
        await engine.decline("first/q1", via="web")
        await engine.resume("first")
        assert await said(engine) == (["web"], ["web"])


async def test_the_same_answer_on_two_ways_is_one_answer(autojump_clock):
    home = FakeHome(reject=["requirements.missing"])
    async with home.engine() as engine:
        await asking(engine)
        results = []
        async with trio.open_nursery() as nursery:

            async def answer(text, via):
                results.append((await engine.answer("first/q1", text, via=via)).result)

            nursery.start_soon(answer, "it is this", "cli")
            nursery.start_soon(answer, "it is this", "web")
        assert sorted(results) == ["accepted", "duplicate"]
        receipt = await engine.answer("first/q1", "it is that", via="api")
        assert (receipt.result, receipt.stands) == ("conflict", "it is this")
        assert (await engine.decline("first/q1", via="web")).result == "conflict"


@pytest.mark.parametrize("via", VIAS[1:])
async def test_only_people_answer_a_review(autojump_clock, via):
    home = FakeHome()
    async with home.engine() as opened:
        registry = replace(opened.registry, guards={review.NAME: review.make})
        engine = replace(opened, registry=registry)
        await engine.admit(REVIEWED, run="first")
        assert (await engine.resume("first")).status == "waiting"
        if via in PEOPLE:
            await engine.answer("first/q1", "approve", via=via)
            assert (await engine.resume("first")).outcome == "success"
            return
        for attempt in (engine.answer("first/q1", "approve", via=via), engine.decline("first/q1", via=via)):
            with pytest.raises(ForPeopleOnly, match=r"only a person may answer this \(on the web page, or with"):
                await attempt
        assert await engine.journal.inbox("first") == []
        forged = json.dumps({"kind": "answer", "question": "q1", "answer": "approve", "via": via})
        await engine.journal.post("first", "answer:q1", forged)
        await engine.resume("first")
        assert [record.event.kind for record in await engine.journal.read("first")].count("mail_refused") == 1
        assert home.row("first") == ("waiting", "q1")
