"""An answer counts once, whichever ways it comes on."""

import trio

from tests.host.fake_home import FakeHome, run_request


async def asking(engine):
    await engine.admit(run_request("a"), run="first")
    await engine.resume("first")


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
