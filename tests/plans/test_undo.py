"""`on_failure: undo` and the field `undo`: how traces end, and which steps must say how they are undone."""

import random

import pytest

from actors.guards.plan_expansive import undo_coverage
from actors.plans.graph import order_of
from actors.plans.plan import plan_to_json
from actors.plans.plan_flow import plan_mermaid
from actors.plans.plan_text import plan_lines
from actors.plans.reader import read_plan
from actors.plans.semantics import replay
from tests.plans.build import errors, judge, plan, step

BOOKED = plan(
    step("hotel", "start", "hotel", undo="cancel_hotel"),
    step("flight", "hotel", "flight", after="hotel", undo="cancel_flight", on_failure="undo"),
    step("mail", "flight", "goal", after="flight", undo="irreversible", on_failure="undo"),
)
GAP = plan(
    step("hotel", "start", "hotel"),
    step("flight", "hotel", "goal", after="hotel", undo="cancel_flight", on_failure="undo"),
)


def test_a_plan_that_undoes_is_strong_and_lists_where_it_does_and_what_cannot_be_undone():
    """Where a failure undoes everything, the trace has ended well, so the assurance stays `strong`."""
    verdict = judge("expansive", BOOKED)
    assert verdict.passed
    assert verdict.facts["assurance"] == "strong"
    assert verdict.facts["escalations"] == ["hotel"]
    assert verdict.facts["undoes"] == ["flight", "mail"]
    assert verdict.facts["irreversible"] == ["mail"]


def test_an_irreversible_step_after_the_last_undo_is_not_listed():
    value = plan(
        step("pay", "start", "paid", undo="refund", on_failure="undo"),
        step("mail", "paid", "goal", after="pay", undo="irreversible"),
    )
    verdict = judge("expansive", value)
    assert (verdict.passed, verdict.facts["irreversible"]) == (True, [])


def test_a_step_without_an_undo_before_a_failure_that_undoes_is_rejected_with_both_steps_and_a_trace():
    verdict = judge("expansive", GAP)
    assert errors(verdict) == [("plan.no_undo", "hotel")]
    [finding] = verdict.errors
    assert finding.trace == ("hotel:ok", "flight:fail")
    assert "hotel may have run before the failure of flight, whose on_failure is undo" in finding.message
    assert replay(read_plan(GAP)[0], finding.trace).end == "undone"


def test_the_failing_step_itself_needs_an_undo():
    value = plan(step("pay", "start", "goal", on_failure="undo"))
    [finding] = judge("expansive", value).errors
    assert (finding.code, finding.where, finding.trace) == ("plan.no_undo", "pay", ("pay:fail",))
    assert "before its check fails" in finding.message


def test_a_step_beside_the_failing_one_needs_an_undo():
    value = plan(
        step("one", "start", "one", undo="nothing", on_failure="undo"), step("two", "start", "two"), goal="one two"
    )
    assert errors(judge("expansive", value)) == [("plan.no_undo", "two")]


def test_a_failed_step_needs_an_undo_too():
    """A call of it may have succeeded, although its check did not accept the result."""
    value = plan(
        step("try", "start", "tried", on_failure="continue", failure_effects="refused"),
        step("other", "refused", "tried", after="try", undo="nothing", on_failure="undo"),
        goal="tried",
    )
    [finding] = judge("expansive", value).errors
    assert (finding.where, finding.trace) == ("try", ("try:fail", "other:fail"))


def test_a_step_that_runs_only_after_the_last_undo_needs_none():
    first = step("pay", "start", "paid", undo="refund", on_failure="undo")
    assert judge("expansive", plan(first, step("mail", "paid", "goal", after="pay"))).passed
    again = plan(first, step("mail", "paid", "goal", after="pay", on_failure="pay"))
    [finding] = judge("expansive", again).errors
    assert (finding.where, finding.trace) == ("mail", ("pay:ok", "mail:fail", "pay:fail"))


def test_tokens_keep_a_step_from_running_before_as_dependencies_do():
    first = step("pay", "start", "paid", undo="refund", on_failure="undo")
    read = read_plan(plan(first, step("mail", "paid", "goal")))[0]
    coverage = undo_coverage(read, order_of(read), 100)
    assert (coverage.gaps, coverage.complete) == ((), True)


def test_a_policy_may_undo():
    value = plan(
        step("try", "start", "goal", delete_effects="start", repeatable=True, on_failure="undo", undo="take_back"),
    )
    assert judge("expansive", value).passed
    value["steps"][0].pop("undo")
    assert errors(judge("expansive", value)) == [("plan.no_undo", "try")]


def test_a_search_that_reaches_its_limit_verifies_nothing():
    last = step("last", "start", "goal", undo="nothing", on_failure="undo", after="s0")
    steps = [step(f"s{number}", "start", f"t{number}", undo="nothing") for number in range(12)]
    value = plan(*steps, last, step("mail", "goal", "sent", after="s1"), goal="goal sent")
    read = read_plan(value)[0]
    assert undo_coverage(read, order_of(read), 100_000).complete
    cut = undo_coverage(read, order_of(read), 40)
    assert (cut.complete, cut.explored) == (False, 40)
    first = step("pay", "start", "goal", undo="refund", on_failure="undo", repeatable=True, delete_effects="start")
    moves = [step(f"m{n}", "start", f"t{n}", repeatable=True, on_failure="never", undo="nothing") for n in range(10)]
    far = step("far", " ".join(f"t{n}" for n in range(10)), "end", repeatable=True, on_failure="never")
    verdict = judge("expansive", plan(first, *moves, far), max_explorations=40, assurance="none")
    assert ("plan.too_complex", "") in errors(verdict)


@pytest.mark.parametrize("word", ["undo"])
def test_a_word_of_on_failure_is_no_step_id(word):
    assert ("plan.reserved_id", word) in errors(judge("minimal", plan(step(word, "start", "goal"))))


def test_an_undo_is_a_text():
    assert errors(judge("minimal", plan(step("a", "start", "goal", undo=["x"])))) == [("field.type", "steps[0].undo")]


def test_a_trace_ends_with_the_failure_that_undoes():
    read = read_plan(BOOKED)[0]
    end = replay(read, ["hotel:ok", "flight:fail"])
    assert (end.end, end.tokens, end.ready) == ("undone", {"start", "hotel"}, ())
    with pytest.raises(ValueError, match="everything was undone"):
        replay(read, ["hotel:ok", "flight:fail", "mail:ok"])


def test_the_json_form_keeps_the_field():
    read = read_plan(BOOKED)[0]
    assert read_plan(plan_to_json(read))[0] == read
    assert "undo" not in plan_to_json(read_plan(plan(step("a", "start", "goal")))[0])["steps"][0]


def test_the_texts_for_people_say_what_is_undone_and_what_is_not():
    text = "\n".join(each.plain for each in plan_lines(BOOKED))
    assert "undo everything and end" in text
    assert "cancel_flight" in text
    assert "it cannot be undone" in text
    assert "fails .-> undo" in plan_mermaid(BOOKED)


def brute_force(read):
    """Return the steps without an undo that some interleaving calls before a failure that undoes, with plain sets."""
    steps = {each.step_id: each for each in read.steps}

    def below(step_id):
        found = {step_id}
        while more := {each for each, one in steps.items() if one.dependencies & found} - found:
            found |= more
        return found

    first = (frozenset(steps), frozenset(read.initial_state), frozenset())
    seen, todo, gaps = {first}, [first], set()
    while todo:
        pending, tokens, called = todo.pop()
        for step_id in pending:
            each = steps[step_id]
            if each.dependencies & pending or not each.preconditions <= tokens:
                continue
            now = called | {step_id}
            after = [(pending - {step_id}, tokens - each.delete_effects | each.effects, now)]
            failed = tokens - each.failure_delete_effects | each.failure_effects
            if each.on_failure == "undo":
                gaps |= {name for name in now if not steps[name].undo}
            elif each.on_failure == "continue":
                after.append((pending - {step_id}, failed, now))
            elif each.on_failure in steps:
                after.append((pending - {step_id} | below(each.on_failure), failed, now))
            for following in after:
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
    return gaps


def random_plan(chance):
    """Return a plan of up to five steps over four tokens, in which some failures undo."""
    tokens, steps = ("a", "b", "c", "d"), []
    for number in range(chance.randint(1, 5)):
        before = [each["step_id"] for each in steps]
        words = ["escalate", "continue", "never", "undo", "undo", f"s{number}"]
        after = [each for each in before if chance.random() < 0.3]
        steps.append(
            step(
                f"s{number}",
                [each for each in tokens if chance.random() < 0.2],
                [each for each in tokens if chance.random() < 0.4],
                after,
                delete_effects=[each for each in tokens if chance.random() < 0.15],
                failure_effects=[each for each in tokens if chance.random() < 0.2],
                on_failure=chance.choice([*words, *after]),
                undo=chance.choice(["", "", "tool", "nothing", "irreversible"]),
            )
        )
    return plan(*steps, start="a", goal="d")


def test_the_search_finds_what_plain_sets_find():
    """The same steps in 1,500 random plans, each with a trace that replays to the end in which everything is undone."""
    found = 0
    for seed in range(1_500):
        read = read_plan(random_plan(random.Random(seed)))[0]
        coverage = undo_coverage(read, order_of(read), 100_000)
        assert coverage.complete, seed
        assert {gap.step for gap in coverage.gaps} == brute_force(read), seed
        for gap in coverage.gaps:
            found += 1
            assert replay(read, gap.trace).end == "undone", seed
            assert any(item.startswith(f"{gap.step}:") for item in gap.trace), seed
    assert found > 500
