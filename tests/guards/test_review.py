"""A person's review: who must be asked, and what their answer makes of the other guards' verdict."""

import pytest

from actors.config.action_pair import Composite
from actors.guards import review
from actors.guards.port import combine_verdicts
from actors.guards.review import NAME, combine_with_review, includes_review, is_needed, is_open, verdict_of
from actors.values.findings import Verdict
from runtime.core.errors import UsageProblem

ALL = Composite(all_of=("a", "b", NAME))
FIRST = Composite(first_failure=("a", NAME))
MOST = Composite(majority=("a", "b", NAME))
OTHERS = Composite(all_of=("a", "b"))


def part(name="a", *, passed=True, fatal=False):
    return Verdict(guard=name, passed=passed, score=float(passed), fatal=fatal)


def judged(guard, *passes, fatal=False):
    """Return the verdict of the members that are no person."""
    parts = [part(name, passed=passed, fatal=fatal) for name, passed in zip("abcd", passes, strict=False)]
    return combine_verdicts(guard.kind, parts, len(guard.members))


@pytest.mark.parametrize(
    ("guard", "verdict", "needed"),
    [
        (NAME, None, True),
        (NAME, part(), True),
        ("a", None, False),
        ("a", part(), False),
        (ALL, None, True),
        (OTHERS, None, False),
        (ALL, judged(ALL, True, True), True),
        (ALL, judged(ALL, True, False), False),
        (FIRST, judged(FIRST, True), True),
        (FIRST, judged(FIRST, False), False),
        (MOST, judged(MOST, True, True), False),
        (MOST, judged(MOST, True, False), True),
        (MOST, judged(MOST, False, False), False),
        (MOST, judged(MOST, True, False, fatal=True), False),
    ],
)
def test_a_person_is_asked_where_their_verdict_can_change_the_result(guard, verdict, needed):
    assert is_needed(guard, verdict) is needed


def test_a_review_is_open_until_the_verdict_has_the_persons_part():
    passed = judged(ALL, True, True)
    assert is_open(ALL, passed) is True
    assert is_open(ALL, combine_with_review(ALL, passed, verdict_of("approve"))) is False
    assert is_open(NAME, verdict_of("approve")) is False
    assert is_open(OTHERS, judged(OTHERS, True, True)) is False
    assert is_open(ALL, judged(ALL, True, False)) is False
    assert [includes_review(guard) for guard in (NAME, ALL, OTHERS, "a")] == [True, True, False, False]


def test_an_answer_approves_or_is_the_reason_of_a_rejection():
    assert (verdict_of("approve").passed, verdict_of("approve").score) == (True, 1.0)
    for answer, reason in (("reject: too long", "too long"), ("no", "no"), ("approved", "approved")):
        verdict = verdict_of(answer)
        assert (verdict.passed, verdict.score, verdict.guard) == (False, 0.0, NAME)
        assert [(finding.code, finding.message) for finding in verdict.findings] == [("review.rejected", reason)]
    [finding] = review.verdict_without_answer("nobody came").findings
    assert (finding.code, finding.message) == ("review.unanswered", "nobody came")


def test_the_persons_verdict_is_combined_with_those_of_the_others():
    person = verdict_of("no")
    assert combine_with_review(NAME, part(), person) == person
    assert combine_with_review(ALL, None, person) == person
    whole = combine_with_review(ALL, judged(ALL, True, True), person)
    assert (whole.passed, whole.guard, len(whole.parts)) == (False, NAME, 3)
    assert combine_with_review(MOST, judged(MOST, True, False), verdict_of("approve")).passed
    assert not combine_with_review(MOST, judged(MOST, True, False), person).passed


def test_the_guard_rejects_without_a_person_and_has_no_settings():
    assert not review.make({})(None, None).passed
    with pytest.raises(UsageProblem):
        review.make({"x": 1})
