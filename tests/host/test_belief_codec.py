"""A run whose policy has a belief needs codec 2, also where the policy is that of a child run or of replans.

In codec 1 the rows of the policy decide alone. A run that is to stop below a value is refused there.
"""

from dataclasses import replace

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


def request(policy, *, child=None, stop_below=None):
    """Return a run whose policy is `policy`; with `child`, that of its child run."""
    config = pinned({"a": {"generator": "made"}}, price=_PRICE, policy=policy).model_copy(update={"model": "rules"})
    if child is not None:
        config = config.model_copy(update={"children": {"below": pinned({"only": {}}, policy=child)}})
    return RunRequest("the problem", "a run", config, Limits(calls=20, stop_below=stop_below))


@pytest.mark.parametrize("how", ["admit", "begin"])
async def test_below_codec_2_a_limit_of_a_belief_is_refused_and_nothing_is_written(autojump_clock, how):
    """A host or worker of 0.2.0 could claim it, and would report it as damaged."""
    home, wanted = FakeHome(), request("belief", stop_below=0.1)
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


@pytest.mark.parametrize(
    "wanted", [request("belief"), request("belief", stop_below=0.0), request("default", child="belief")]
)
async def test_below_codec_2_the_rows_of_a_policy_decide_alone(autojump_clock, wanted):
    """A host or worker of 0.2.0 can drive such a run: its configuration has nothing that 0.2.0 does not know."""
    home = FakeHome()
    newest, home.store.floor = home.store.floor, FIRST_CODEC
    async with home.engine() as engine:
        await engine.admit(wanted, run="rows")
        home.store.floor = newest
        await engine.admit(wanted, run="belief")
        codecs = [(await engine.journal.row(run)).codec for run in ("rows", "belief")]
        rows, belief = [(await engine.read(run)).state for run in ("rows", "belief")]
    assert codecs == [FIRST_CODEC, 2]
    assert [config.policy.belief for config in rows.config.all] == [None] * len([*rows.config.all])
    assert any(config.policy.belief for config in belief.config.all)
    assert rows.run.ledger.limits.stop_below is None
    assert [config.policy.rows for config in rows.config.all] == [config.policy.rows for config in belief.config.all]


def test_what_a_run_pins_in_codec_1_has_nothing_that_codec_2_adds():
    """A `stop_below` of 0 is left out, too: it has no effect, but 0.2.0 could not read the key."""
    wanted = request("belief", stop_below=0.0)
    zero = wanted.pinned.workflow.changed(stop_below=0.0)
    wanted = replace(wanted, pinned=wanted.pinned.model_copy(update={"workflow": zero}))
    text = wanted.in_codec(FIRST_CODEC).pinned.model_dump_json()
    assert "stop_below" in wanted.pinned.model_dump_json()
    assert [name for name in ("stop_below", '"causes"', "no_input") if name in text] == []


def test_a_codec_that_holds_a_belief_changes_nothing():
    wanted = request("belief")
    assert wanted.in_codec(2) is wanted
    assert request("default").in_codec(FIRST_CODEC).pinned.policy.name == "default"
