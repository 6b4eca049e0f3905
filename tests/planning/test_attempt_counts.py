"""What a run's attempts say of its model, and how a new run begins with what earlier runs say."""

import pytest

from actors.planning.attempt_counts import RUNS_MIN
from actors.planning.config import StepModel, read_config
from actors.planning.events import PlanningOutcome, RunFinished
from actors.planning.kind import PLANNING
from actors.policy.author import Author, ModelCounts
from actors.policy.belief import BeliefModel
from replan.runs.engine import NEWEST
from runtime.core.clock import TrioClock
from runtime.core.errors import JournalDamaged
from runtime.core.ledger import Amount, Limits
from runtime.core.machine import Summary
from runtime.journal.memory import open_memory
from runtime.journal.port import Fact
from tests.api.test_engine import CODEC, RunRequest, engine_over, toys
from tests.histories.interpreter import Interpreter
from tests.support.planning_start import planning_start
from tests.support.worlds import SEEDS, pinned, shipped_policy

ABOVE = "ok g_analysis/v1.a1\nok g_recon/v1.a1\nok g_strategy/v1.a1\n"
TABLE = shipped_policy("belief").belief


def told(history, **changes):
    """Return the interpreter of a history under the belief policy."""
    interpreter = Interpreter()
    interpreter.execute("workflow policy=belief", [])
    interpreter.world.config = interpreter.world.config.changed(**changes)
    for line in ("begin", *history.splitlines()):
        interpreter.execute(line, [])
    return interpreter


def counted(history, **changes):
    """Return the counts of a history: runs, accepted first attempts, told retries, those that mended, and repeats."""
    found = told(history, **changes).state.end.counted
    return None if found is None else (found.runs, found.accepted, found.told, found.mended, found.again)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (f"{ABOVE}ok g_plan/v1.a1", (1, 1, 0, 0, 0)),
        (f"{ABOVE}bad g_plan/v1.a1 plan.cycle\nok g_plan/v1.a2", (1, 0, 1, 1, 0)),
        (f"{ABOVE}bad g_plan/v1.a1 plan.cycle\nbad g_plan/v1.a2 plan.cycle\nok g_plan/v1.a3", (1, 0, 1, 0, 0)),
        (f"{ABOVE}bad g_plan/v1.a1 reply.not_json\nok g_plan/v1.a2", (1, 1, 0, 0, 0)),
    ],
    ids=["accepted at once", "mended by the finding", "only the first retry", "a slip of form"],
)
def test_a_run_counts_its_first_attempts_and_first_retries(history, expected):
    assert counted(history) == expected


SAME = (
    'reply g_plan/v1.a1 "{}"\nreject g_plan/v1.a1 plan.cycle\nreply g_plan/v1.a2 "{}"\nreject g_plan/v1.a2 plan.cycle\n'
)


def test_a_retry_with_the_rejected_text_counts_as_a_repeat_and_a_fresh_attempt_as_no_retry():
    assert counted(f"{ABOVE}{SAME}ok g_plan/v1.a3") == (1, 0, 1, 0, 1)


@pytest.mark.parametrize("model", ["template:bug", "scripted:replies.yaml", "recorded:run.jsonl", "replay:x325mm5d"])
def test_a_model_that_writes_no_replies_of_its_own_is_not_counted(model):
    assert counted(f"{ABOVE}ok g_plan/v1.a1", model=model) is None


def test_a_step_with_a_model_of_its_own_says_nothing_of_the_runs_model():
    history = f"{ABOVE}bad g_plan/v1.a1 plan.cycle\nok g_plan/v1.a2"
    assert counted(history, step_models={"g_plan": StepModel(model="other")}) == (1, 1, 0, 0, 0)


def test_a_run_whose_steps_all_have_models_of_their_own_is_not_counted():
    steps = ("g_analysis", "g_recon", "g_strategy", "g_plan")
    assert counted(f"{ABOVE}ok g_plan/v1.a1", step_models=dict.fromkeys(steps, StepModel(model="other"))) is None


@pytest.mark.parametrize("between", ["change model=other", "fork {last}\nresume"], ids=["another model", "a fork"])
def test_a_run_that_changed_its_model_and_a_fork_are_not_counted(between):
    interpreter = told(ABOVE)
    for line in between.format(last=len(interpreter.events)).splitlines():
        interpreter.execute(line, [])
    (request,) = interpreter.state.run.calls.open
    interpreter.execute(f"reply {request}", [])
    interpreter.execute("accept g_plan/v1.a1", [])
    assert interpreter.state.end.outcome == PlanningOutcome.SUCCESS
    assert interpreter.state.end.counted is None


def test_a_run_under_a_rule_table_is_not_counted():
    assert counted(f"{ABOVE}ok g_plan/v1.a1", policy=shipped_policy("default")) is None


def start(**changes):
    return planning_start(1.0, pinned(SEEDS, policy="belief").changed(**changes), Limits())


def end(model="toy", accepted=1, mended=1):
    counts = ModelCounts(model=model, runs=1, accepted=accepted, told=1, mended=mended, again=0)
    return RunFinished(outcome=PlanningOutcome.SUCCESS, why="every guard passed", counted=counts)


def learnt(first, ends):
    return read_config(PLANNING.learner(first)(ends).pinned).author


def test_enough_runs_of_the_model_say_how_it_begins():
    """Each share is moved towards that of the middle, as if that were ten attempts."""
    author = learnt(start(), [end()] * 30 + [end("other", 0, 0)] * 5)
    assert (author.source, author.in_runs) == ("home (30 runs)", True)
    assert author.first_accepted == pytest.approx((30 + 10 * TABLE.author_in_runs.first_accepted) / 40, abs=1e-4)
    assert author.told_retry_mends == pytest.approx((30 + 10 * TABLE.author_in_runs.told_retry_mends) / 40, abs=1e-4)


def test_few_runs_and_runs_of_other_models_change_nothing():
    first = start()
    plain = RunFinished(outcome=PlanningOutcome.SUCCESS, why="every guard passed")
    ends = [end()] * (RUNS_MIN - 1) + [end("other")] * RUNS_MIN + [plain] * RUNS_MIN
    assert PLANNING.learner(first)(ends) is first


def test_the_family_of_a_model_is_what_its_runs_are_added_to():
    strong = Author(first_accepted=0.45, told_retry_mends=0.29, repeats=0.16, source="family *toy*")
    before = learnt(start(), [end(accepted=0, mended=0)] * RUNS_MIN)
    after = learnt(start(author=strong), [end(accepted=0, mended=0)] * RUNS_MIN)
    assert after.first_accepted > before.first_accepted
    assert after.repeats < before.repeats


@pytest.mark.parametrize(
    "changes",
    [
        {"author": Author(first_accepted=0.5, told_retry_mends=0.5, repeats=0.1, in_runs=True, source="profile")},
        {"model": "template:bug"},
        {"policy": shipped_policy("default")},
    ],
    ids=["a profile", "a template", "a rule table"],
)
def test_a_run_with_a_profile_or_without_a_belief_reads_no_earlier_runs(changes):
    assert PLANNING.learner(start(**changes)) is None


def test_runs_like_those_of_the_simulated_author_leave_the_chances_as_they_are():
    """The chances hold for that author, so its own counts must not change them."""
    graph = pinned(SEEDS, policy="belief")
    same = TABLE.author_in_runs.model_copy(update={"in_runs": True, "repeats": 0.3})
    models = [BeliefModel(TABLE, graph.graph, graph.roles, author) for author in (None, same)]
    assert len({model.chance(model.odds(model.after(())), ("g_plan",), "g_plan") for model in models}) == 1
    assert models[1].author.repeats == 0.3


async def begun_after(journal, runs, monkeypatch=None):
    """Return what a new run knows of its model after these finished runs."""
    for number, finished in enumerate(runs):
        summary = Summary("finished", "success", committed=Amount(3, 100, 0))
        name = f"r{number}"
        await journal.create(
            name, "t", facts=[Fact(start().model_copy(update={"run": name})), Fact(finished)], summary=summary
        )
    request = RunRequest("the problem", "a run", pinned(SEEDS, policy="belief"), Limits())
    engine = engine_over(journal, toys())
    run = await engine.admit(request)
    return read_config((await journal.read(run))[0].event.pinned).author


async def test_a_new_run_pins_what_the_homes_runs_say(autojump_clock):
    async with open_memory(CODEC, TrioClock()) as journal:
        assert await begun_after(journal, [end()] * (RUNS_MIN - 1)) is None
    async with open_memory(CODEC, TrioClock()) as journal:
        author = await begun_after(journal, [end(accepted=0)] * 20 + [end()] * NEWEST)
    assert author.source == f"home ({NEWEST} runs)"


async def test_a_damaged_run_does_not_harm_the_start(autojump_clock, monkeypatch):
    async with open_memory(CODEC, TrioClock()) as journal:
        read = journal.read

        async def damaged(run, after=0):
            if run == "r3":
                raise JournalDamaged(run, "a record does not verify")
            return await read(run, after)

        monkeypatch.setattr(journal, "read", damaged)
        assert (await begun_after(journal, [end()] * (RUNS_MIN + 1))).source == f"home ({RUNS_MIN} runs)"
