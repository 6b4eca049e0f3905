"""Composite guards: the score of a rejection, each finding once, and the names of those that judged."""

import pytest

from actors.guards.port import combine_verdicts
from actors.values.findings import Finding, Verdict


@pytest.mark.parametrize(("kind", "score"), [("all_of", 0.2), ("first_failure", 0.2), ("majority", 0.9 * 2 / 3)])
def test_a_composite_has_the_score_of_its_lowest_member(kind, score):
    """A guard that passes does not raise the score of a rejection; of those that vote, the score is the mean."""
    low = Verdict(guard="low", score=0.2)
    high = Verdict(guard="high", passed=True, score=1.0)
    parts = [high, low, Verdict(guard="other", score=0.6)] if kind == "majority" else [high, low]
    assert combine_verdicts(kind, parts, len(parts)).score == pytest.approx(score)


def test_a_composite_lists_what_several_members_say_once():
    said = Finding(code="reply.not_json", message="no JSON")
    parts = [Verdict(guard=name, findings=(said,)) for name in ("one", "two")]
    assert combine_verdicts("all_of", parts, 2).findings == (said,)


def test_a_verdict_names_its_judges():
    parts = [Verdict(guard=name, passed=True, score=1.0) for name in ("one", "two", "three")]
    names = [combine_verdicts("all_of", parts[:count], count).judges for count in (1, 2, 3)]
    assert names == ["one", "one and two", "one and 2 more guards"]
    assert combine_verdicts("all_of", [*parts, Verdict(guard="four")], 4).judges == "four"


@pytest.mark.parametrize(("passing", "members", "passes"), [(1, 3, False), (2, 3, True), (2, 4, False), (3, 4, True)])
def test_a_majority_is_more_than_half_of_the_members(passing, members, passes):
    parts = [Verdict(guard=f"g{number}", passed=number < passing, score=0.5) for number in range(members)]
    assert combine_verdicts("majority", parts, members).passed is passes
