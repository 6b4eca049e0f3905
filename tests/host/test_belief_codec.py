"""A run whose policy has a belief needs codec 2, also where the policy is that of a child run or of replans."""

import pytest

from actors.planning.prepare import RunRequest
from replan.runs.options import DETACHED
from runtime.core.cost import Price
from runtime.core.errors import RunNotFound, UsageProblem
from runtime.core.ledger import Limits
from runtime.journal.versions import FIRST_CODEC
from tests.host.fake_home import FakeHome
from tests.support.worlds import pinned

_PRICE = Price(input_per_token_usd=1e-6, output_per_token_usd=1e-6, source="test")


def request(policy, *, child=None):
    """Return a run whose policy is `policy`; with `child`, that of its child run."""
    config = pinned({"a": {"generator": "made"}}, price=_PRICE, policy=policy).model_copy(update={"model": "rules"})
    if child is not None:
        config = config.model_copy(update={"children": {"below": pinned({"only": {}}, policy=child)}})
    return RunRequest("the problem", "a run", config, Limits(calls=20))


@pytest.mark.parametrize("wanted", [request("belief"), request("default", child="belief")])
@pytest.mark.parametrize("how", ["admit", "begin"])
async def test_below_codec_2_it_is_refused_and_nothing_is_written(autojump_clock, wanted, how):
    """A host or worker of 0.2.0 could claim it, and would report it as damaged."""
    home = FakeHome()
    newest, home.store.floor = home.store.floor, FIRST_CODEC
    async with home.engine() as engine:
        with pytest.raises(UsageProblem, match=r"needs codec 2.*codec 1.*journal upgrade"):
            await (engine.admit(wanted, run="r") if how == "admit" else engine.begin(wanted, DETACHED, run="r"))
        with pytest.raises(RunNotFound):
            await engine.journal.row("r")
        await engine.admit(request("default"), run="plain")
        home.store.floor = newest
        await engine.admit(wanted, run="r")
        assert (await engine.journal.row("r")).codec == 2
        assert (await engine.journal.row("plain")).codec == FIRST_CODEC
