"""A host and a run whose replies are cut: it is left to a person, and goes on once that person has resumed it."""

from dataclasses import replace

import trio

from actors.handlers.registry import Registry
from runtime.models.port import Reply
from tests.host.fake_home import FakeHome, run_request


class Cutting:
    """A generator whose first replies are cut."""

    def __init__(self, cuts):
        self.cuts, self.calls = cuts, 0

    async def generate(self, brief):
        """Return half a reply, or a whole one."""
        self.calls += 1
        reason = "length" if self.calls <= self.cuts else "stop"
        return Reply(text='{"a": 1' + "}" * (reason == "stop"), usage=None, model="toy", finish_reason=reason)


async def test_a_host_leaves_a_run_alone_that_was_parked_for_its_replies(autojump_clock):
    """No call is made for two hours; the reason is shown, and a person's resume goes on with it."""
    home, author = FakeHome(), Cutting(cuts=2)
    async with home.engine() as plain:
        engine = replace(plain, registry=Registry(guards={"toy": lambda _: home.judge}, generators={"made": author}))
        await engine.admit(run_request("one", "two"), run="a")
        async with home.hosting(engine):
            await trio.sleep(7_200)
        assert author.calls == 2
        status, why = home.row("a")
        assert status == "parked"
        assert why.startswith("one: reply.cut again: ")
        result = await engine.result("a")
        assert (result.status, result.cause, result.why) == ("parked", "reply", why)
        assert (await engine.resume("a")).outcome == "success"
    assert author.calls == 4
