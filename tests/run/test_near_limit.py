"""A run warns at 50 and 80 % of a limit, once for each limit and level, and never misses what it counts."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as some

from actors.run.agent import AgentSettings, AgentStarted
from actors.run.agent_machine import AgentMachine
from actors.run.calls import Generated
from actors.run.evolve import evolve_run
from actors.run.fork_event import Forked
from actors.run.near_limit import WARN_AT, LimitNear, nearest_limit, record_warning, warn_near_limit, warn_of_other
from actors.run.parking import RunParked
from actors.run.settings import SettingsChanged
from actors.run.state import RunState
from runtime.core.copies import changed
from runtime.core.ledger import ZERO, Amount, Limit, Limits, Usage
from runtime.core.machine import settle
from runtime.core.messages import LimitUsed
from runtime.models.port import Reply
from tests.run.haggler import Haggler

LIMITS = Limits(calls=10, tokens=1_000, micro_usd=5_000, active_seconds=60.0, deadline=1_100.0)


def begun(limits=LIMITS, warn_at=WARN_AT):
    settings = AgentSettings()
    return RunState.begin(
        AgentStarted(at=1_000.0, run="r", task="t", limits=limits, settings=settings, warn_at=warn_at)
    )


def use(run, used=ZERO, *, seconds=0.0):
    ledger = run.ledger.settle("call", used).add_work(seconds)
    return changed(run, ledger=ledger, now=run.now + seconds)


def warnings(run):
    """Return the state after all warnings that are due, and the warnings."""
    made = []
    while (warning := warn_near_limit(run)) is not None:
        made.append(warning)
        run = evolve_run(run, warning)
    return run, made


def limits_from(draw):
    """Return random limits; each but that of calls may be missing."""
    some_number = some.none() | some.integers(1, 40)
    numbers = {name: draw(some_number) for name in ("tokens", "micro_usd", "active_seconds")}
    return Limits(calls=draw(some.integers(1, 40)), deadline=draw(some.none() | some.integers(1_001, 1_060)), **numbers)


@given(some.data())
def test_each_level_of_a_limit_is_warned_about_at_most_once_and_a_count_is_never_missed(data):
    run = begun(limits_from(data.draw))
    told = Counter()
    for _ in range(data.draw(some.integers(1, 15))):
        before = run.ledger.limits
        match data.draw(some.sampled_from(["use", "use", "use", "forfeit", "limits"])):
            case "use":
                used = Amount(*[data.draw(some.integers(0, 15)) for _ in range(3)])
                run = use(run, used, seconds=data.draw(some.integers(0, 20)))
            case "forfeit":  # What a late reply returns may bring a count below its level again.
                ledger = run.ledger.reserve("late", Amount(1, 9, 9)).forfeit("late")
                run, made = warnings(changed(run, ledger=ledger))
                told.update((warning.limit, warning.percent) for warning in made)
                run = changed(run, ledger=run.ledger.settle("late", Amount(0, 1, 1)))
            case "limits":
                run = evolve_run(run, SettingsChanged(at=run.now, limits=limits_from(data.draw)))
                for limit in Limit:
                    if limit.of(before) != limit.of(run.ledger.limits):
                        told -= Counter({(limit, level): 1 for level in WARN_AT})
        run, made = warnings(run)
        assert len({warning.limit for warning in made}) == len(made), "one jump makes one warning about a limit"
        told.update((warning.limit, warning.percent) for warning in made)
        assert all(count <= 1 for count in told.values())
        total = run.ledger.used
        used = {Limit.CALLS: total.calls, Limit.TOKENS: total.tokens, Limit.COST: total.micro_usd}
        for limit in used:
            most = limit.of(run.ledger.limits)
            reached = 0 if most is None else max([n for n in WARN_AT if 100 * used[limit] >= n * most], default=0)
            assert run.warned.get(limit, 0) >= reached


def test_a_jump_over_both_levels_makes_one_warning_about_the_higher():
    _, made = warnings(use(begun(), Amount(9, 0, 0)))
    assert made == [LimitNear(limit=Limit.CALLS, percent=80, used=9, most=10)]


def test_what_is_only_reserved_is_not_used():
    run = begun()
    assert warn_near_limit(changed(run, ledger=run.ledger.reserve("call", Amount(8, 900, 4_900)))) is None


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (use(begun(), Amount(8, 0, 0)), "80 % of 10 calls are used"),
        (use(begun(Limits(calls=1)), Amount(1, 0, 0)), "100 % of 1 call is used"),
        (use(begun(), Amount(0, 555, 0)), "55 % of 1,000 tokens are used"),
        (use(begun(), Amount(0, 0, 4_100)), "82 % of $0.0050 is used"),
        (use(begun(), seconds=30.0), "50 % of 1m of active time are used"),
        (changed(begun(), now=1_085.0), "85 % of the 100s until the deadline have passed"),
    ],
)
def test_a_warning_says_in_plain_words_how_much_is_used(run, text):
    assert warn_near_limit(run).text == text


def test_a_changed_limit_is_warned_about_anew_and_the_others_are_not():
    run, _ = warnings(use(begun(), Amount(8, 800, 0)))
    run = evolve_run(run, SettingsChanged(at=1_000.0, limits=LIMITS.model_copy(update={"calls": 16})))
    assert warnings(run)[1] == [LimitNear(limit=Limit.CALLS, percent=50, used=8, most=16)]


def test_a_new_deadline_is_counted_from_the_change():
    run = changed(begun(), now=1_090.0)
    run = evolve_run(run, SettingsChanged(at=1_090.0, limits=LIMITS.model_copy(update={"deadline": 1_190.0})))
    assert warn_near_limit(run) is None
    assert warn_near_limit(changed(run, now=1_140.0)).used == 50.0


def test_a_fork_begins_without_warnings():
    run, _ = warnings(use(begun(), Amount(8, 0, 0)))
    run = evolve_run(run, Forked(at=1_050.0, origin="r", seq=1, hash="", limits=LIMITS))
    assert (run.warned, nearest_limit(run), warn_near_limit(run)) == ({}, "", None)


def test_a_parked_run_and_a_run_of_earlier_records_do_not_warn():
    run = use(begun(), Amount(8, 0, 0))
    assert warn_near_limit(evolve_run(run, RunParked(at=1_000.0))) is None
    assert warn_near_limit(use(begun(warn_at=()), Amount(8, 0, 0))) is None


def test_the_list_of_runs_names_the_limit_of_which_most_is_used():
    run, _ = warnings(use(begun(), Amount(5, 900, 0)))
    assert nearest_limit(run) == "tokens 80"


def test_a_machine_warns_before_its_next_decision_and_its_status_row_says_so():
    machine = AgentMachine(Haggler())
    first = AgentStarted(
        at=0.0, run="r", task="a lamp", limits=Limits(calls=2), settings=AgentSettings(), warn_at=WARN_AT
    )
    state, _ = settle(machine, machine.initial(), first)
    (request,) = state.run.calls.open
    reply = Generated(request, 1.0, 1.0, Reply("12", Usage(input_tokens=1, output_tokens=1), "m"))
    state, events = settle(machine, state, machine.accept(state, reply))
    assert [event.kind for event in events[:2]] == ["call_answered", "limit_near"]
    assert machine.summary(state).near == "calls 50"


def test_a_warning_names_at_least_its_level_whatever_a_division_rounds_to():
    warning = LimitNear(limit=Limit.ACTIVE_TIME, percent=50, used=86.507836, most=173.015672)
    assert int(100 * warning.used / warning.most) == 49
    assert warning.text.startswith("50 % of ")


def day_used(used, *, day=1, limit=Limit.CALLS, most=10, whose="the home's budget for today"):
    return LimitUsed(day * 86_400.0, whose, limit, used, most)


def test_a_run_warns_once_for_each_level_and_day_of_a_daily_budget():
    run, made = begun(), []
    for message in (
        *(day_used(used) for used in (1, 4, 5, 6, 8, 8, 4, 10)),
        day_used(7_000_000, limit=Limit.COST, most=10_000_000, whose="the budget of tenant red for today"),
        *(day_used(used, day=2) for used in (1, 6)),
    ):
        warning = warn_of_other(run, message)
        if warning is not None:
            assert warn_of_other(changed(run, parked=True), message) is None
            run = record_warning(run, warning)
            made.append((warning.day, warning.percent, warning.text))
    assert made == [
        (1, 50, "50 % of the home's budget for today (10 calls) is used"),
        (1, 80, "80 % of the home's budget for today (10 calls) is used"),
        (1, 50, "70 % of the budget of tenant red for today ($10.00) is used"),
        (2, 50, "60 % of the home's budget for today (10 calls) is used"),
    ]
    assert nearest_limit(changed(run, now=2 * 86_400.0 + 1)) == "daily_budget 50"
    assert nearest_limit(changed(run, now=3 * 86_400.0)) == "", "the warnings of yesterday say nothing of today"
    assert warn_of_other(begun(warn_at=()), day_used(9)) is None
