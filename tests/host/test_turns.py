"""A host with `--fair`: runs that share a budget take turns with their calls, the one with the fewest calls first."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
import trio

from replan.runs.hosting import let_take_turns
from replan.setup.settings import HomeBudgetEntry, UserConfig
from runtime.core.clock import TrioClock
from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import UsageProblem
from runtime.drive.options import Turns
from tests.host.fake_home import START, FakeHome, run_request
from tests.support.worlds import passed, rejected

MORNING = START - 80_000


class Queue(FakeHome):
    """A home whose calls take times, and whose guards give verdicts, that depend on a seed. `order` has the callers."""

    def __init__(self, seed):
        super().__init__()
        self.clock, self.random, self.order = TrioClock(MORNING), Random(seed), []

    async def make(self, context):
        self.order.append(context.specification)
        self.seconds = self.random.choice([0.0, 0.1, 1.0, 20.0])
        return await super().make(context)

    def judge(self, artifact, context):
        """Reject every other artifact."""
        return rejected("plan.cycle") if self.random.random() < 0.5 else passed()

    async def admit(self, engine, run, **limits):
        steps = "abcd"[: self.random.randint(1, 4)]
        await engine.admit(replace(run_request(*steps, **limits), problem=run), run=run)


def calls_before_the_first(order, run):
    """Return the largest number of calls of any run before the first call of a run."""
    return max(Counter(order[: order.index(run)]).values(), default=0)


@pytest.mark.parametrize("seed", range(8))
async def test_each_run_has_its_first_call_before_any_has_its_third_also_if_hosts_are_killed(autojump_clock, seed):
    home = Queue(seed)
    runs = [f"r{number}" for number in range(home.random.randint(2, 9))]
    most = home.random.randint(len(runs), 3 * len(runs))
    async with home.engine(budget=HomeBudget(calls=most)) as engine:
        for run in runs:
            await home.admit(engine, run, calls=30)
        for seconds in [*(home.random.uniform(0.0, 30.0) for _ in range(home.random.randint(0, 3))), 300.0]:
            async with home.engine(budget=HomeBudget(calls=most), turns=Turns()) as killed:
                with trio.move_on_after(seconds):
                    async with home.hosting(killed, runs_max=len(runs)):
                        await trio.sleep_forever()
    assert max(calls_before_the_first(home.order, run) for run in runs) < 3
    states = {run: home.store.runs[run].head for run in runs}
    left = [head.account.total.calls for head in states.values() if head.summary.status != "finished"]
    assert max(left, default=0) - min(left, default=0) <= 1
    assert not left or sum(head.account.total.calls for head in states.values()) == most


async def test_without_turns_a_quick_run_spends_what_a_slow_one_needs(autojump_clock):
    home = FakeHome(seconds=0.0)
    async with home.engine(budget=HomeBudget(calls=4)) as engine:
        for run in ("first", "second"):
            await engine.admit(run_request(*"abcd"), run=run)
        async with home.hosting(engine, runs_max=1):
            await trio.sleep(1)
    assert [home.store.runs[run].head.account.total.calls for run in ("first", "second")] == [4, 0]


async def test_a_run_that_waits_for_a_person_holds_nobody_up(autojump_clock):
    home = FakeHome(reject=["requirements.missing"])
    async with home.engine(turns=Turns()) as engine:
        await engine.admit(run_request("a"), run="asks")
        async with home.hosting(engine):
            await trio.sleep(5)
            await engine.admit(run_request(*"abcd"), run="other")
            await trio.sleep(20)
    assert (home.row("asks")[0], home.row("other")[0]) == ("waiting", "finished")


async def test_a_run_is_cancelled_while_it_waits_for_its_turn(autojump_clock):
    home = Queue(1)
    home.random.choice = lambda seconds: 20.0 if home.order[-1] == "slow" else 0.1
    async with home.engine(turns=Turns()) as engine:
        for run in ("slow", "quick"):
            await engine.admit(replace(run_request("a", "b"), problem=run), run=run)
        async with home.hosting(engine):
            await trio.sleep(5)
            assert sorted(home.order) == ["quick", "quick", "slow"]
            await engine.cancel("quick")
            await trio.sleep(1)
            assert home.row("quick") == ("finished", "cancelled")


async def test_a_host_takes_up_a_run_that_was_killed_while_it_waited_for_its_turn(autojump_clock):
    home = Queue(0)
    home.judge = lambda artifact, context: passed()
    home.random.choice = lambda seconds: 50.0 if home.order[-1] == "slow" else 0.1
    async with home.engine(turns=Turns()) as engine:
        for run in ("slow", "quick"):
            await engine.admit(replace(run_request(*"abcd", deadline=MORNING + 5_000), problem=run), run=run)
        with trio.move_on_after(10):
            async with home.hosting(engine):
                await trio.sleep_forever()
    assert sorted(home.order) == ["quick", "quick", "slow"]
    async with home.engine() as engine, home.hosting(engine):
        await trio.sleep(100)
    assert home.row("quick") == ("finished", "success")


async def test_a_home_without_a_common_budget_has_nothing_to_share():
    async with FakeHome().engine() as engine:
        with pytest.raises(UsageProblem, match="share no budget") as caught:
            let_take_turns(engine)
        assert "home_budget" in caught.value.hint
    config = UserConfig(tenants={"a": HomeBudgetEntry(usd=1.0)})
    async with FakeHome().engine(config=config) as engine:
        assert let_take_turns(engine).turns is not None
