"""Some mutants of the decisions are named with their exact records; `make whatif-mutants` plants a hundred."""

from collections import Counter

from tests.whatif.mutants import judged


def test_mutants_that_change_a_decision_are_named_with_the_record():
    rows = list(judged(seed=1, count=7))
    counts = Counter(row["result"] for row in rows)
    assert [row for row in rows if row["result"] == "missed"] == []
    assert counts["named"] >= 5, rows
