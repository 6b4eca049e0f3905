"""What the hands of a run do with guards and generators of others: late answers, verdicts that cannot be written."""

import functools
import json

import pytest
import trio
import trio.lowlevel

from actors.execution.actors import open_actors as of_execution
from actors.guards.port import composite
from actors.handlers.generators import FunctionGenerator, Registry
from actors.handlers.handlers import wait
from actors.planning.children import actors_for
from actors.planning.children import actors_for as of_planning
from actors.planning.kind import CODEC
from actors.planning.machine import PlanningMachine
from actors.policy.table import CLASSIFIER
from actors.run.calls import Faulted
from actors.run.kind import Resources
from actors.run.waits import CLOCK, PROVIDER, WaitRequested
from actors.values.findings import Finding, Verdict
from runtime.core.clock import TrioClock
from runtime.core.ledger import Limits, Usage
from runtime.core.machine import Work
from runtime.core.messages import Woken
from runtime.drive.actor import Envelope
from runtime.drive.options import DriveOptions, Ending, LeaseTerms, Stop
from runtime.drive.supervisor import Supervisor
from runtime.journal.memory import open_memory
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply
from tests.execution.stage import Stage, plan, step
from tests.support.planning_start import planning_start
from tests.support.worlds import SEEDS, passed, pinned, rejected


class Author:
    name = "author"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def complete(self, request: ModelRequest) -> Reply:
        await trio.lowlevel.checkpoint()
        self.asked.append(request.request_id)
        return Reply(text=json.dumps({"by": request.request_id}), usage=Usage(), model="author")

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


async def driven(config, guard, model, generators=(), stop=None):
    """Drive a run, and return its driver, how the drive ended, and the events. They are what the journal says."""
    known, seen = Registry(guards={"toy": lambda _: guard}, generators=dict(generators)), []
    async with open_memory(CODEC, TrioClock()) as journal:
        await journal.create("run", "a run")
        driver = Supervisor(
            "run",
            machine=PlanningMachine(),
            journal=journal,
            actors=actors_for(config, Resources(model, TrioClock(), known, threads=False)),
            lease=LeaseTerms("test"),
            options=DriveOptions(stop, on_record=lambda record, _: seen.append(record.event)),
        )
        ending = await driver.drive(planning_start(1000.0, config, limits=Limits(calls=9)))
        assert [record.event for record in await journal.read("run")] == seen
    return driver, ending, seen


async def finished(guard, *, model=None, generators=(), **step):
    _, _, seen = await driven(pinned({"a": {"rmax": 1, **step}}), guard, model or Author(), generators)
    return seen[-1]


def late(answer):
    async def guard(artifact, context):
        await trio.sleep(0.5)
        return answer

    return guard


def prompt(answer):
    return lambda artifact, context: answer


GOOD, BAD = passed(), rejected("toy.wrong")


@pytest.mark.parametrize("kind", ["all_of", "first_failure", "majority"])
@pytest.mark.parametrize("answers", [(GOOD, GOOD, GOOD), (GOOD, BAD, GOOD), (BAD, GOOD, BAD), (BAD, BAD, BAD)])
@pytest.mark.parametrize("waits", [(0, 1, 0), (1, 0, 0), (0, 0, 1), (1, 1, 1)])
async def test_members_that_answer_later_make_the_same_verdict(autojump_clock, kind, answers, waits):
    at_once = composite(kind, {str(place): prompt(answer) for place, answer in enumerate(answers)})(None, None)
    assert isinstance(at_once, Verdict), "without a member that waits there is nothing to wait for"
    members = [late(answer) if wait else prompt(answer) for answer, wait in zip(answers, waits, strict=True)]
    answer = composite(kind, dict(zip("xyz", members, strict=True)))(None, None)
    assert (answer if isinstance(answer, Verdict) else await answer) == at_once


async def test_after_the_first_failure_no_other_member_is_asked(autojump_clock):
    calls = []

    def counting(name, guard):
        def member(artifact, context):
            calls.append(name)
            return guard(artifact, context)

        return member

    members = {"a": counting("a", late(BAD)), "b": counting("b", late(GOOD))}
    assert not (await composite("first_failure", members)(None, None)).passed
    assert calls == ["a"]


async def test_an_async_guard_works_in_a_composite_of_a_run(autojump_clock):
    end = await finished(composite("all_of", {"a": late(GOOD), "b": prompt(GOOD)}))
    assert end.outcome == "success"


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(guard="toy", passed=True, score=1.0, facts={"x": object()}),
        Verdict(guard="toy", passed=False, score=0.0, findings=(Finding(code="a.b", message="half \ud800"),)),
        Verdict(guard="toy", passed=False, score=0.0, findings=(Finding(code="a.b", message="m", tokens=("\ud800",)),)),
    ],
    ids=["facts", "message", "token"],
)
async def test_a_verdict_that_cannot_be_written_ends_the_run_as_a_bug(autojump_clock, verdict):
    """Found when it is written, it would stop every later driver as well."""
    end = await finished(prompt(verdict))
    assert (end.outcome, end.cause) == ("failed", "bug")
    assert "guard:a" in end.why


async def test_facts_are_used_in_the_form_in_which_the_journal_stores_them(autojump_clock):
    """A tuple becomes a list at once, and not only for a driver that resumes the run."""
    verdict = Verdict(guard="toy", passed=True, score=1.0, facts={"pair": (1, 2)})
    assert (await finished(prompt(verdict))).outcome == "success"


@pytest.mark.parametrize(
    ("name", "asks", "kind"), [(PROVIDER, True, Faulted), (PROVIDER, False, Woken), ("backoff:a/v1.a1", True, Woken)]
)
async def test_after_a_wait_the_provider_is_asked_only_where_it_is_waited_for(autojump_clock, name, asks, kind):
    fault, asked = Fault(kind=FaultKind.SERVER_ERROR, message="down"), []

    async def probe(request):
        await trio.lowlevel.checkpoint()
        asked.append(request.request_id)
        return fault

    brief = WaitRequested(request_id=name, until=0.0, why="back-off")
    message = await wait(TrioClock(), probe if asks else None, Envelope(Work(name, CLOCK, brief), brief))
    assert (type(message), message.request_id) == (kind, name)
    assert asked == [name] * (kind is Faulted)


@pytest.mark.parametrize("text", [None, {"a": 1}, b"{}"])
async def test_a_generator_that_returns_no_text_parks_the_run(autojump_clock, text):
    async def mine(context):
        await trio.lowlevel.checkpoint()
        return text

    end = await finished(prompt(GOOD), generators={"mine": FunctionGenerator(mine, "mine")}, generator="mine")
    assert (end.kind, end.cause) == ("run_parked", "plugin")
    assert "generator 'mine' returned" in end.why


async def test_nothing_takes_the_place_of_a_plug_in(autojump_clock):
    """In particular not the model, whose calls cost money."""

    async def mine(context):
        await trio.lowlevel.checkpoint()
        return "{}"

    model = Author()
    maker = FunctionGenerator(mine, "mine")
    drive = functools.partial(finished, prompt(GOOD), model=model, generator="mine")
    assert (await drive(generators={"mine": maker})).outcome == "success"
    with pytest.raises(KeyError, match="mine"):
        await drive()
    assert model.asked == []


async def test_calls_that_wait_in_a_mailbox_when_the_run_is_parked_are_not_sent_and_cost_nothing(autojump_clock):
    """Three branches want a call and the step makes one at a time: the two that have not begun never begin."""
    config, stop = pinned({"a": {"concurrency": 1}}, search="beam:3"), Stop()

    class Slow(Author):
        async def complete(self, request: ModelRequest) -> Reply:
            stop.requested.set()
            await trio.sleep(1.0)
            return await super().complete(request)

    author = Slow()
    driver, ending, _ = await driven(config, prompt(GOOD), author, stop=stop)
    assert ending is Ending.PARKED
    assert len(author.asked) == 1
    assert driver.state.run.ledger.committed.calls == 1


def resources(**fields):
    registry = Registry(guards={"toy": lambda _: lambda *_: passed()}, generators={})
    return Resources(None, TrioClock(), registry, threads=False, **fields)


def addresses(actors):
    return sorted(actor.address for actor in actors)


def test_each_step_and_each_guarded_step_of_a_workflow_has_an_actor():
    each = [f"{part}:{name}" for part in ("step", "guard") for name in SEEDS]
    assert addresses(of_planning(pinned(SEEDS), resources())) == sorted([*each, "clock"])
    classified = of_planning(pinned(SEEDS, classifications_max=2), resources())
    assert addresses(classified) == sorted([*each, "clock", CLASSIFIER])


async def test_each_tool_of_an_execution_has_an_actor_and_so_have_its_proof_its_planner_and_its_model(tmp_path):
    config = Stage(plan(step("one"), step("two"))).config
    (work := tmp_path / "work").mkdir()
    config = config.model_copy(update={"workspace": str(work)})
    async with of_execution("run", config, resources(home=tmp_path / "home")) as actors:
        found = addresses(actors)
    tools = [f"tool:{name}" for name in config.tools.tools]
    assert set(found) - {each for each in found if each.startswith("tool:")} == {"clock", "model", "planner", "prover"}
    assert set(tools) <= set(found)
    assert not [each for each in found if each.startswith("step:")]
