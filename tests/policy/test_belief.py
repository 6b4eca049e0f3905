"""The belief of a policy: exact against an enumeration of the world it assumes, and the moves that follow from it."""

import random
from dataclasses import replace
from itertools import product
from math import prod

import pytest

from actors.policy.belief import BeliefModel, Came, CountedRejection, Past
from actors.policy.belief_choice import Bounds, weigh
from actors.policy.decision import decide, remember_failure
from actors.policy.table import BacktrackLevel, Policy
from actors.search.graph import Graph, StepBudget
from actors.search.progress import Phase, Redo, Slot, cleared_steps
from actors.values.answers import TEXT
from actors.values.findings import Finding
from tests.policy.situations import SEEDS, failure, progress, situation
from tests.support.worlds import shipped_policy

SHIPPED = shipped_policy("belief")
TABLE = SHIPPED.belief.model_copy(
    update={"mends": {row: most for row, most in SHIPPED.belief.mends.items() if row != "told"}}
)
"""The shipped table; it weighs also the first rejection of a visit that says what to add or change."""
BELIEF = SHIPPED.model_copy(update={"belief": TABLE})
CHAIN = Graph(
    {"analysis": (), "recon": ("analysis",), "strategy": ("recon",), "plan": ("strategy",)},
    dict.fromkeys(("analysis", "recon", "strategy", "plan"), StepBudget(9, 9)),
)
ASKED = Finding(code="plan.goal_unreachable", message="Which goal?", where="s9", answer_schema=TEXT)
FREE = Bounds(may_escalate=True, only=(), may_ask=False)


def model(graph=SEEDS, table=TABLE):
    """Return the shipped table compiled for a graph whose steps are named after their roles."""
    return BeliefModel(table, graph, {step: step for step in graph.steps})


class Enumeration:
    """All worlds of a chain with their probabilities: cause, difficulty, times told, and which steps are wrong.

    Written from the definitions alone, and slow: what lies below the topmost wrong step is enumerated, too.
    """

    def __init__(self, steps):
        self.steps, self.worlds = steps, {}
        causes = {step: TABLE.causes[step] for step in steps}
        total = sum(causes.values()) + TABLE.causes["unsolvable"]
        self.unsolvable = TABLE.causes["unsolvable"] / total
        for cause, difficulty in product(steps, range(4)):
            for wrong in product((False, True), repeat=len(steps)):
                share = causes[cause] / total / 4
                for step, is_wrong in zip(steps, wrong, strict=True):
                    chance = self.chance(step, cause, difficulty, 0)
                    share *= 1 - chance if is_wrong else chance
                self.worlds[cause, difficulty, 0, wrong] = share

    def chance(self, step, cause, difficulty, told):
        """The chance that an attempt at a step is right."""
        if step != cause:
            return TABLE.easy
        return TABLE.chances.get(step, TABLE.chances["other"])[difficulty][told]

    def rejected(self, row, again):
        """Weigh the worlds by a rejection of the last step."""
        after = {}
        for (cause, difficulty, told, wrong), share in self.worlds.items():
            top = next((step for step, is_wrong in zip(self.steps, wrong, strict=True) if is_wrong), None)
            weight = self.likelihood(top, row, again)
            key = (cause, difficulty, min(told + (top == cause), 2), wrong)
            after[key] = after.get(key, 0) + share * weight
        unsolvable = self.unsolvable * self.likelihood("unsolvable", row, again)
        total = sum(after.values()) + unsolvable
        self.worlds = {key: share / total for key, share in after.items()}
        self.unsolvable = unsolvable / total

    def likelihood(self, top, row, again):
        """The likelihood of a rejection; without a wrong step it is a guard's mistake."""
        place = {self.steps[-1]: "self", None: "other"}.get(top, top)
        codes = TABLE.codes.get(place, TABLE.codes["other"])
        repeats = 0 if again is None else TABLE.repeats.get(place, TABLE.repeats["other"])
        fresh = (1 - repeats) * codes[row] * TABLE.facts.get(place, TABLE.facts["other"])
        return (repeats + 0.05 * fresh if again else fresh) * (0.01 if top is None else 1)

    def moved(self, target):
        """Draw a step and all below it anew."""
        first, after = self.steps.index(target), {}
        for (cause, difficulty, told, wrong), share in self.worlds.items():
            for fresh in product((False, True), repeat=len(self.steps) - first):
                weight = share
                for step, is_wrong in zip(self.steps[first:], fresh, strict=True):
                    chance = self.chance(step, cause, difficulty, told)
                    weight *= 1 - chance if is_wrong else chance
                key = (cause, difficulty, told, (*wrong[:first], *fresh))
                after[key] = after.get(key, 0) + weight
        self.worlds = after

    def places(self):
        """The probability of each topmost wrong step, and that there is no solution."""
        shares = dict.fromkeys((*self.steps, "none"), 0.0)
        for (*_, wrong), share in self.worlds.items():
            top = next((step for step, is_wrong in zip(self.steps, wrong, strict=True) if is_wrong), "none")
            shares[top] += share
        return {**shares, "unsolvable": self.unsolvable}


@pytest.mark.parametrize("seed", range(12))
def test_a_belief_is_the_exact_posterior_of_its_world_on_a_chain(seed):
    """After any rejections and moves, places and chances of success equal an enumeration of all worlds."""
    chance, steps = random.Random(seed), CHAIN.steps
    exact, made = Enumeration(steps), model(CHAIN)
    belief = made.after(())
    for number in range(5):
        row = chance.choice(["structure", "wrong_strategy", "wrong_facts", "otherwise"])
        again = chance.random() < 0.4 if number else None
        exact.rejected(row, again)
        belief = made.add_rejection(belief, CountedRejection("plan", row, again))
        assert made.places(belief) == pytest.approx({k: v for k, v in exact.places().items() if k != "none"})
        target = chance.choice(steps)
        expected = made.chance(made.odds(belief), cleared_steps(CHAIN, (target,)), "plan")
        exact.moved(target)
        assert expected == pytest.approx(exact.places()["none"])
        belief = made.add_move(belief, cleared_steps(CHAIN, (target,)))
        assert made.places(belief) == pytest.approx({k: v for k, v in exact.places().items() if k != "none"})


def test_a_belief_is_the_same_whether_it_is_folded_or_kept():
    """A model that has seen nothing computes the same floats from a whole history as one that was asked each time."""
    history, kept = (), model()
    for number in range(8):
        row = ("structure", "wrong_strategy")[number % 2]
        history = (
            *history,
            Past("plan", frozenset({("code", row)}), row=row, redone=cleared_steps(SEEDS, ("strategy",))),
        )
        assert kept.after(history) == model().after(history)


def test_a_belief_policy_has_few_numbers():
    """At most 300 numbers for four steps, and 1,200 for eight (the issue's bound)."""
    for count, most in ((4, 300), (8, 1_200)):
        names = [f"s{number}" for number in range(count)]
        graph = Graph(
            {name: tuple(names[:place][-1:]) for place, name in enumerate(names)}, dict.fromkeys(names, StepBudget())
        )
        belief = BeliefModel(TABLE, graph, dict.fromkeys(names, "")).after(())
        assert 1 + sum(len(block) for blocks in belief.masses for block in blocks) <= most


def decided(failed, *, history=(), **changes):
    given = {"policy": BELIEF, "belief": model(), "history": history, **changes}
    return decide(failed, situation(**given))


def after(*codes):
    """Return the history of rejected plans with these codes, each followed by a retry."""
    pasts = []
    for place, code in enumerate(codes):
        failed = failure(code, where=f"s{place}")
        decision = decided(failed, history=tuple(pasts), questions_left=0, attempt=1)
        retry = decision.model_copy(update={"level": BacktrackLevel.LOCAL_RETRY, "targets": ("plan",)})
        pasts.append(remember_failure(failed.verdict, retry, SEEDS, BELIEF))
    return tuple(pasts)


def test_repeated_failures_move_the_belief_up():
    """After failed retries the mistake lies above, and all roots are redone when none stands out."""
    decision = decided(
        failure("plan.goal_unreachable", where="s9"),
        history=after(*["plan.goal_unreachable"] * 2),
        visits={"strategy": 1},
    )
    assert decision.level == "full_replan"
    assert decision.targets == ("analysis", "recon")
    assert [option.move for option in decision.weighing.options] == ["redo", "redo"]


def test_the_budgets_bound_the_moves():
    """A step without a visit left is no target; `escalate_to` names the targets while they have visits."""
    used = {"analysis": 2, "recon": 3}
    history = after(*["plan.goal_unreachable"] * 2)
    decision = decided(failure("plan.goal_unreachable", where="s9"), history=history, visits=used)
    assert decision.targets == ("strategy",)
    named = replace(situation().escalation, escalate_to=("recon",))
    decision = decided(failure("plan.goal_unreachable", where="s9"), history=history, escalation=named)
    assert decision.targets in (("recon",), ("plan",))
    assert all(option.targets in ((), ("recon",)) for option in decision.weighing.options)


def test_nothing_left_is_given_up():
    """Without attempts, visits and questions the step is stuck, and the record says that no move was left."""
    used = {"analysis": 2, "recon": 3, "strategy": 4}
    decision = decided(failure("plan.goal_unreachable"), attempt=3, visits=used, questions_left=0)
    assert decision.level == "give_up"
    assert decision.weighing.options == ()


def test_a_question_is_asked_when_it_is_worth_more_than_every_other_move_and_a_person_can_answer_it():
    """With every step above used up and many retries failed, at the price of five calls; never about a model's form."""
    used = {"analysis": 2, "recon": 3, "strategy": 4}
    history = after(*["plan.goal_unreachable"] * 6)
    failed = failure("plan.goal_unreachable", where="s9")
    assert decided(failed, history=history, attempt=2, visits=used).level == "local_retry"
    answered = replace(
        failed, verdict=failed.verdict.model_copy(update={"findings": (ASKED, *failed.verdict.findings)})
    )
    decision = decided(answered, history=history, attempt=2, visits=used)
    assert (decision.level, decision.rule) == ("clarify", "belief")
    assert decision.weighing.options[0].move == "ask"
    assert decision.weighing.options[0].calls >= 5
    silent = decided(answered, history=history, attempt=2, visits=used, questions_left=0)
    assert silent.level == "local_retry"


def test_a_classifier_changes_the_belief():
    failed = failure("plan.goal_unreachable")
    given = situation(policy=BELIEF, belief=model())
    plain, told = decide(failed, given), decide(failed, given, "missing_evidence")
    shares = [{place.step: place.after for place in each.weighing.places} for each in (plain, told)]
    assert shares[1]["recon"] > shares[0]["recon"] + 0.2
    assert told.classified == "missing_evidence"


@pytest.mark.parametrize(
    ("codes", "rule", "level"),
    [
        (("requirements.missing",), "ask_the_user", "clarify"),
        (("reply.not_json",), "malformed", "local_retry"),
        (("tool.permanent",), "tool_permanent", "partial_replan"),
        (("review.unanswered",), "unreviewed", "give_up"),
    ],
)
def test_rows_in_which_chance_has_no_part_decide_themselves(codes, rule, level):
    """A rule of the table decides as in the default policy, and records no weighing."""
    decision = decided(failure(*codes))
    assert (decision.rule, decision.level, decision.weighing) == (rule, level, None)


def test_equal_values_are_decided_by_the_order_of_the_candidates():
    """Of two roots that are alike in every number, the nearer in the order of `Graph.upward` is taken, always."""
    alike = TABLE.model_copy(update={"codes": {"other": TABLE.codes["other"], "unsolvable": TABLE.codes["unsolvable"]}})
    graph = Graph({"a": (), "b": (), "c": ("a", "b")}, dict.fromkeys("abc", StepBudget(1, 5)))
    made = BeliefModel(alike, graph, dict.fromkeys("abc", ""))
    belief = made.add_rejection(made.after(()), CountedRejection("c", "wrong_strategy", None))
    moves = [each.move for each in weigh(made, belief, progress_of(graph), "c", FREE)]
    single = [move.targets for move in moves if isinstance(move, Redo) and len(move.targets) == 1]
    assert single == [("b",), ("a",)]


def progress_of(graph):
    """Return the progress when the last step was rejected on its only attempt."""
    return progress(graph, graph.steps[-1])


def test_the_leaf_that_was_accepted_clears_what_it_builds_on():
    """In a fork, what another leaf was accepted on is known to be right."""
    graph = Graph(
        {"top": (), "left": ("top",), "right": ("top",)}, dict.fromkeys(("top", "left", "right"), StepBudget(9, 9))
    )
    made = BeliefModel(TABLE, graph, dict.fromkeys(graph.steps, ""))
    slots = progress(graph, "right")
    slots["left"] = replace(slots["top"], phase=Phase.ACCEPTED)
    given = situation("right", graph=graph, policy=BELIEF, belief=made, progress=slots)
    decision = decide(failure("plan.goal_unreachable", step="right"), given)
    assert {place.step: place.after for place in decision.weighing.places}.get("top", 0.0) == 0.0
    assert decision.level == "local_retry"


def test_a_policy_without_a_belief_is_pinned_as_before():
    """The default policy has no key `belief`, so that an earlier release can read the run."""
    assert "belief" not in shipped_policy("default").model_dump(mode="json")
    assert Policy.model_validate(BELIEF.model_dump(mode="json")) == BELIEF


def test_a_decision_records_at_most_twelve_numbers_of_three_decimals():
    """Three places with two numbers each, two moves with two."""
    weighing = decided(failure("plan.goal_unreachable")).weighing
    numbers = [number for place in weighing.places for number in (place.before, place.after)]
    numbers += [number for option in weighing.options for number in (option.chance, option.calls)]
    assert len(numbers) <= 12
    assert all(round(number, 3) == number for number in numbers)


def compared(steps, moves, *, seen):
    """Return the places of a chain's mistakes, after a rejection and a move whose artifacts are compared.

    All old and new artifacts of all steps are enumerated; the last step is never compared.
    """
    exact = Enumeration(steps)
    exact.rejected("wrong_strategy", again=None)
    shares, (first, told_max) = dict.fromkeys((*steps, "none"), 0.0), (steps.index(moves), 2)
    fresh_artifacts = list(product((False, True), repeat=len(steps) - first))
    kinds = TABLE.agreement.kinds
    for ((cause, difficulty, told, wrong), share), author in product(exact.worlds.items(), kinds):
        for fresh in fresh_artifacts:
            weight = share * author.share
            for step, was_wrong, is_wrong in zip(steps[first:], wrong[first:], fresh, strict=True):
                chance = exact.chance(step, cause, difficulty, min(told, told_max))
                weight *= 1 - chance if is_wrong else chance
                if step in seen:
                    both = was_wrong == is_wrong
                    same = both * (author.wrong if is_wrong else author.right)
                    weight *= same if seen[step] else 1 - same
            now = (*wrong[:first], *fresh)
            top = next((step for step, is_wrong in zip(steps, now, strict=True) if is_wrong), "none")
            shares[top] += weight
    unsolvable = 0.0
    for author in kinds:
        again = TABLE.easy**2 * author.right + (1 - TABLE.easy) ** 2 * author.wrong
        unsolvable += exact.unsolvable * author.share * prod(again if same else 1 - again for same in seen.values())
    total = sum(shares.values()) + unsolvable
    return {**{step: share / total for step, share in shares.items()}, "unsolvable": unsolvable / total}


@pytest.mark.parametrize("target", ["analysis", "recon", "strategy"])
@pytest.mark.parametrize("same", [True, False])
def test_what_came_again_changes_the_belief_as_an_enumeration_says(target, same):
    """The topmost redone step was the same as before, or not: exact where nothing above a mistake was told before."""
    made, steps = model(CHAIN), CHAIN.steps
    belief = made.add_rejection(made.after(()), CountedRejection("plan", "wrong_strategy", None))
    came = Came(same=(target,)) if same else Came(other=(target,))
    belief = made.add_move(belief, cleared_steps(CHAIN, (target,)), came)
    expected = compared(steps, target, seen={target: same})
    found = made.places(belief)
    assert found == pytest.approx({step: share for step, share in expected.items() if step != "none"}, abs=0.02)
    assert sum(sum(block) for blocks in belief.masses for block in blocks) + belief.unsolvable == pytest.approx(1)


def test_a_step_that_came_again_is_less_likely_to_hold_the_mistake():
    """And one that brought something else is likelier to; without `agreement` neither says anything."""
    made = model()
    belief = made.add_rejection(made.after(()), CountedRejection("plan", "wrong_strategy", None))
    redone = cleared_steps(SEEDS, ("strategy",))
    silent, same, other = (
        made.add_move(belief, redone, came) for came in (Came(), Came(same=("strategy",)), Came(other=("strategy",)))
    )

    def hard_at_strategy(belief):
        return sum(sum(row) for row in belief.shares[made.steps.index("strategy") :: len(made.steps)])

    assert hard_at_strategy(same) < hard_at_strategy(silent) < hard_at_strategy(other)
    without = model(table=TABLE.model_copy(update={"agreement": None}))
    assert without.add_move(belief, redone, Came(other=("strategy",))) == silent


def test_an_author_who_never_writes_the_same_again_is_recognised_and_one_who_does():
    """The comparisons of a run change the shares of the kinds of author; before the first one no kind is told apart."""
    made, redone = model(), cleared_steps(SEEDS, ("recon",))
    belief = made.after(())
    assert len(belief.unsolvables) == 1
    for came, grows in (Came(same=("recon",)), 0), (Came(other=("recon",)), 1):
        known = belief
        for _ in range(4):
            known = made.add_move(known, redone, came)
        count = len(made.steps)
        kinds = [
            sum(map(sum, known.shares[kind * count : (kind + 1) * count])) + known.unsolvables[kind] for kind in (0, 1)
        ]
        assert kinds[grows] > 0.8
        assert sum(kinds) == pytest.approx(1)


def test_a_move_that_is_compared_is_the_same_whether_it_is_folded_or_kept():
    """What a move brought is part of the next failure, so the history alone gives the same floats."""
    came, redone = Came(same=("recon",), other=("strategy",)), cleared_steps(SEEDS, ("recon",))
    history, kept = (), model()
    for number in range(6):
        row = ("structure", "wrong_strategy")[number % 2]
        past = Past("plan", frozenset({("code", row)}), row=row, redone=redone, came=came if number else Came())
        history = (*history, past)
        assert kept.after(history, came) == model().after(history, came)


def test_what_a_belief_holds_for_impossible_ends_no_run():
    """No step has model calls, so nothing can be wrong but the problem; yet one leaf was accepted, and another not."""
    graph = Graph({"left": (), "right": ()}, dict.fromkeys(("left", "right"), StepBudget(2, 1, deterministic=True)))
    made = BeliefModel(TABLE, graph, dict.fromkeys(graph.steps, "plan"))
    before = made.after(())
    assert (before.masses, before.unsolvables) == ((), (1.0,))
    assert made.mark_right(before, {"left"}) == before
    found = situation("right", graph=graph, policy=BELIEF, belief=made)
    accepted = Slot(phase=Phase.ACCEPTED, visits=1, attempt=1, accepted="x")
    decided = decide(
        failure("plan.goal_unreachable", step="right"), replace(found, progress={**found.progress, "left": accepted})
    )
    assert decided.level is BacktrackLevel.GIVE_UP
