"""The engine over a journal in memory: going on without a plug-in, cancelling, counting, and replaying."""

from contextlib import asynccontextmanager

import pytest
import trio
import trio.lowlevel

from actors.handlers.generators import FunctionGenerator
from actors.handlers.registry import Registry
from actors.planning.kind import CODEC
from actors.planning.prepare import RunRequest
from actors.planning.result_lines import outcome_lines
from replan.runs.engine import Engine
from replan.runs.follow import Follower
from replan.runs.options import DriveOptions
from runtime.core.clock import TrioClock
from runtime.core.cost import Price
from runtime.core.errors import RunExists, UsageProblem
from runtime.core.ledger import Limits
from runtime.drive.options import Stop
from runtime.journal.memory import open_memory
from tests.cli.samples import said, write_script
from tests.support.worlds import passed, pinned, rejected


async def made(context):
    """Make an artifact without a model."""
    await trio.lowlevel.checkpoint()
    return "{}"


def toys(verdict=None, **generators):
    """Return a registry with the guard `toy` and generators of one's own."""
    own = {name: FunctionGenerator(function, name) for name, function in generators.items()}
    return Registry(guards={"toy": lambda _: lambda artifact, context: verdict or passed()}, generators=own)


@asynccontextmanager
async def engine(registry=None):
    """Open an engine; more of them may be made over its journal."""
    async with open_memory(CODEC, TrioClock()) as journal:
        yield over(journal, registry or toys())


def over(journal, registry):
    """Return an engine over a journal."""
    return Engine(journal=journal, registry=registry, clock=TrioClock(), threads=False, environment={})


def job(steps, model="rules", **limits):
    """Return the job of a toy workflow, at a dollar for a million tokens."""
    price = Price(input_per_token_usd=1e-6, output_per_token_usd=1e-6, source="test")
    config = pinned(steps, price=price).model_copy(update={"model": model})
    return RunRequest("the problem", "a run", config, Limits(**{"calls": 9, **limits}))


async def parked(one, work, after=2.0):
    """Begin the run `first`, and park it after some seconds; a reply in flight is waited for in vain."""
    stop = Stop()
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def press():
            await trio.sleep(after)
            stop.requested.set()

        result = await one.begin(work, DriveOptions(stop), run="first")
        nursery.cancel_scope.cancel()
    assert result.status == "parked"
    return result


async def test_a_run_that_has_begun_is_not_begun_again(autojump_clock):
    async with engine(toys(mine=made)) as one:
        work = job({"a": {"generator": "mine"}})
        await one.begin(work, run="first")
        before = await one.journal.read("first")
        with pytest.raises(RunExists):
            await one.begin(work, run="first")
        assert await one.journal.read("first") == before


async def test_a_parked_run_is_no_longer_followed_though_a_message_lies_there(autojump_clock):
    """Its user wants it to rest, so nobody takes the message up."""

    async def slow(context):
        await trio.sleep(100)
        return await made(context)

    async with engine(toys(mine=slow)) as one:
        await parked(one, job({"a": {"generator": "mine"}}))
        await one.tell("first", "it is urgent")
        result = await Follower(one, "first", lambda record, state: None).follow()
    assert result is not None
    assert result.status == "parked"


async def test_a_run_is_not_resumed_without_its_plug_ins(autojump_clock):
    """Neither the model, which is paid for, nor anything else takes their place; with them it goes on."""

    async def slow(context):
        await trio.sleep(100)
        return "{}"

    async with engine(toys(mine=slow)) as one:
        await parked(one, job({"a": {"generator": "mine"}, "b": {"requires": ["a"], "generator": "mine"}}))
        for known, missing in (
            (toys(), "generator 'mine' \\("),
            (Registry(guards={}, generators=toys(mine=made).generators), "guard 'toy' \\("),
            (Registry(guards={}), "generator 'mine' and guard 'toy' \\("),
        ):
            with pytest.raises(UsageProblem, match=f"^first: this run needs the plug-in {missing}install it"):
                await over(one.journal, known).resume("first")
        assert (await one.result("first")).status == "parked"
        assert (await over(one.journal, toys(mine=made)).resume("first")).succeeded


async def test_a_finished_run_is_shown_without_its_plug_ins(autojump_clock):
    async with engine(toys(mine=made)) as one:
        await one.begin(job({"a": {"generator": "mine", "deterministic": True}}), run="first")
        assert (await over(one.journal, toys()).resume("first")).succeeded


@pytest.mark.parametrize("posted", [0, 1, 2])
async def test_a_run_that_nobody_drives_is_cancelled_however_often_that_was_said(autojump_clock, tmp_path, posted):
    async with engine() as one:
        await parked(one, job({"a": {}}, write_script(tmp_path, {"a": [said("{}", seconds=100)]})))
        for _ in range(posted):
            await one.cancel("first")
        assert [(await one.finish_cancelled("first")).outcome for _ in range(2)] == ["cancelled", "cancelled"]
        assert (await one.journal.row("first")).summary.status == "finished"


async def test_a_result_counts_what_may_have_been_charged(autojump_clock, tmp_path):
    """A call that was cut off by a stop counts in the result of that stop, and not only after the next resume."""
    async with engine() as one:
        result = await parked(one, job({"a": {}}, write_script(tmp_path, {"a": [said("{}", seconds=100)]})))
        assert result.calls == (await one.result("first")).calls == 1
        assert result.tokens > 0


async def test_a_question_in_a_result_comes_with_all_that_was_used(autojump_clock, tmp_path):
    async with engine(toys(rejected("requirements.ambiguous"))) as one:
        result = await one.begin(job({"a": {}}, write_script(tmp_path, {"a": [said("{}", tokens=5)]})), run="first")
        assert (result.status, result.calls, result.tokens) == ("waiting", 1, 5)


async def test_active_time_runs_out_and_waiting_for_people_does_not_count(autojump_clock, tmp_path):
    """The guard asks first; the answer takes a day, and the work that is left to do takes too long."""
    script = {"a": [said({"n": number}, seconds=3) for number in range(9)]}

    def asks_once(artifact, context):
        return rejected("toy.wrong") if context.clarifications else rejected("requirements.ambiguous")

    async with engine(Registry(guards={"toy": lambda _: asks_once})) as one:
        work = job({"a": {"rmax": 9, "r_patience": 9}}, write_script(tmp_path, script), active_seconds=8.0)
        waiting = await one.begin(work, run="first")
        await trio.sleep(86_400)
        await one.answer(waiting.question["id"], "the first")
        result = await one.resume("first")
        assert (result.outcome, result.why) == ("budget_exhausted", "no active time left")
        assert 2 <= result.calls <= 4, "calls of three seconds, in eight"
        assert "--active-time" in "".join(row.plain for row in outcome_lines(result))


@pytest.mark.parametrize(
    ("limit", "flag"),
    [
        ({"calls": 1}, "--max-calls"),
        ({"tokens": 5000}, "--max-tokens"),
        ({"micro_usd": 5000}, "--max-cost"),
        ({"active_seconds": 3.0}, "--active-time"),
        ({"deadline": 1_700_000_003.0}, "--deadline"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
async def test_a_run_that_ran_out_names_the_flag_for_more(autojump_clock, tmp_path, limit, flag):
    script = {"a": [said({"n": number}, seconds=2, tokens=4000) for number in range(9)]}
    work = job({"a": {"rmax": 9, "r_patience": 9}}, write_script(tmp_path, script), **limit)
    async with engine(toys(rejected("toy.wrong"))) as one:
        result = await one.begin(work, run="first")
    assert result.outcome == "budget_exhausted"
    assert f"with more {flag};" in outcome_lines(result)[-1].plain


@pytest.mark.parametrize("faults", [0, 1, 2])
async def test_a_replay_goes_the_same_way_as_a_run_that_was_interrupted(autojump_clock, tmp_path, faults):
    """The answer came to a later try than the one that the replay makes; faults come where they came."""
    down = {"fault": "rate_limited", "retry_after": 1}
    tries = [*[down] * faults, said("{}", seconds=100), '{"answer": 2}']
    script = {f"a/v1.a1{f'.t{number}' if number > 1 else ''}": one for number, one in enumerate(tries, 1)}
    work = job({"a": {}}, write_script(tmp_path, script))
    async with engine() as one:
        await parked(one, work, after=20.0)
        original = await one.resume("first")
        again = await one.begin(job({"a": {}}, "replay:first"), run="second")
        assert original.succeeded
        assert again.path == original.path
