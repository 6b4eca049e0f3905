"""The engine over a journal in memory: missing plug-ins, cancels, usage, limits and replays."""

from contextlib import asynccontextmanager

import pytest
import trio
import trio.lowlevel

from actors.handlers.generators import FunctionGenerator, Registry
from actors.planning.kind import CODEC
from actors.planning.prepare import RunRequest
from replan.runs.engine import Engine
from replan.runs.session import Follower
from runtime.core.clock import TrioClock
from runtime.core.errors import RunExists, UsageProblem
from runtime.core.ledger import Limits, Price
from runtime.drive.options import DriveOptions, Stop
from runtime.journal.memory import open_memory
from tests.cli.samples import delayed_reply, write_script
from tests.support.worlds import passed, pinned, rejected


async def make(context):
    """Make an artifact without a model."""
    await trio.lowlevel.checkpoint()
    return "{}"


def toys(verdict=None, **generators):
    own = {name: FunctionGenerator(function, name) for name, function in generators.items()}
    return Registry(guards={"toy": lambda _: lambda artifact, context: verdict or passed()}, generators=own)


@asynccontextmanager
async def engine(registry=None):
    async with open_memory(CODEC, TrioClock()) as journal:
        yield engine_over(journal, registry or toys())


def engine_over(journal, registry):
    return Engine(journal=journal, registry=registry, clock=TrioClock(), threads=False, environment={})


def run_request(steps, model="template:bug", **limits):
    """Return a request for a toy workflow, at one dollar per million tokens."""
    price = Price(input_per_token_usd=1e-6, output_per_token_usd=1e-6, source="test")
    config = pinned(steps, price=price).model_copy(update={"model": model})
    return RunRequest("the problem", "a run", config, Limits(**{"calls": 9, **limits}))


async def parked(planner, work, after=2.0):
    """Begin the run `first`, and park it after some seconds; a reply in flight does not arrive in time."""
    stop = Stop(grace=10.0)
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def request_stop():
            await trio.sleep(after)
            stop.requested.set()

        result = await planner.begin(work, DriveOptions(stop), run="first")
        nursery.cancel_scope.cancel()
    assert result.status == "parked"
    return result


async def test_a_run_cannot_begin_twice(autojump_clock):
    async with engine(toys(mine=make)) as planner:
        work = run_request({"a": {"generator": "mine"}})
        await planner.begin(work, run="first")
        before = await planner.journal.read("first")
        with pytest.raises(RunExists):
            await planner.begin(work, run="first")
        assert await planner.journal.read("first") == before


async def test_a_follower_leaves_a_parked_run_with_an_unread_message(autojump_clock):

    async def slow(context):
        await trio.sleep(100)
        return await make(context)

    async with engine(toys(mine=slow)) as planner:
        await parked(planner, run_request({"a": {"generator": "mine"}}))
        await planner.tell("first", "it is urgent")
        result = await Follower(planner, "first", lambda record, state: None).follow()
    assert result is not None
    assert result.status == "parked"


async def test_a_resume_needs_the_plug_ins_of_the_run(autojump_clock):

    async def slow(context):
        await trio.sleep(100)
        return "{}"

    async with engine(toys(mine=slow)) as planner:
        await parked(planner, run_request({"a": {"generator": "mine"}, "b": {"requires": ["a"], "generator": "mine"}}))
        for known, missing in (
            (toys(), "generator 'mine' \\("),
            (Registry(guards={}, generators=toys(mine=make).generators), "guard 'toy' \\("),
            (Registry(guards={}), "generator 'mine' and guard 'toy' \\("),
        ):
            with pytest.raises(UsageProblem, match=f"^first: this run needs the plug-in {missing}install it"):
                await engine_over(planner.journal, known).resume("first")
        assert (await planner.result("first")).status == "parked"
        assert (await engine_over(planner.journal, toys(mine=make)).resume("first")).succeeded


async def test_a_finished_run_is_shown_without_its_plug_ins(autojump_clock):
    async with engine(toys(mine=make)) as planner:
        await planner.begin(run_request({"a": {"generator": "mine", "deterministic": True}}), run="first")
        assert (await engine_over(planner.journal, toys()).resume("first")).succeeded


@pytest.mark.parametrize("posted", [0, 1, 2])
async def test_a_run_without_a_driver_is_cancelled_whatever_the_number_of_cancels(autojump_clock, tmp_path, posted):
    async with engine() as planner:
        await parked(planner, run_request({"a": {}}, write_script(tmp_path, {"a": [delayed_reply("{}", seconds=100)]})))
        for _ in range(posted):
            await planner.cancel("first")
        assert [(await planner.finish_cancelled("first")).outcome for _ in range(2)] == ["cancelled", "cancelled"]
        assert (await planner.journal.row("first")).summary.status == "finished"


async def test_a_result_counts_calls_that_may_have_been_charged(autojump_clock, tmp_path):
    async with engine() as planner:
        result = await parked(
            planner, run_request({"a": {}}, write_script(tmp_path, {"a": [delayed_reply("{}", seconds=100)]}))
        )
        assert result.calls == (await planner.result("first")).calls == 1
        assert result.tokens > 0


async def test_a_result_with_a_question_has_the_usage(autojump_clock, tmp_path):
    async with engine(toys(rejected("requirements.ambiguous"))) as planner:
        result = await planner.begin(
            run_request({"a": {}}, write_script(tmp_path, {"a": [delayed_reply("{}", tokens=5)]})), run="first"
        )
        assert (result.status, result.calls, result.tokens) == ("waiting", 1, 5)


@pytest.mark.parametrize("faults", [0, 1, 2])
async def test_a_replay_of_an_interrupted_run_has_the_same_path(autojump_clock, tmp_path, faults):
    """The original reply belongs to a later try than the replay's; faults are replayed at their tries."""
    down = {"fault": "rate_limited", "retry_after": 1}
    tries = [*[down] * faults, delayed_reply("{}", seconds=100), '{"answer": 2}']
    script = {f"a/v1.a1{f'.t{number}' if number > 1 else ''}": reply for number, reply in enumerate(tries, 1)}
    work = run_request({"a": {}}, write_script(tmp_path, script))
    async with engine() as planner:
        await parked(planner, work, after=20.0)
        original = await planner.resume("first")
        replayed = await planner.begin(run_request({"a": {}}, "replay:first"), run="second")
        assert original.succeeded
        assert replayed.path == original.path


async def test_the_result_of_a_run_that_ends_while_it_is_read_is_whole():
    """The records are read before the row; a driver that ends the run in between must not be seen by half."""
    async with engine(toys(author=make)) as planner:
        job = run_request({"only": {"generator": "author", "guard": "toy"}})
        read = planner.journal.read
        run = await planner.admit(job)

        async def read_then_finish(name, after=0):
            records = await read(name, after)
            planner.journal.read = read
            await planner.resume(name)
            return records

        planner.journal.read = read_then_finish
        result = await planner.result(run)
        assert (result.status, result.outcome) == ("finished", "success")
