"""The graph of `requires` edges, compared with slow and simple definitions."""

from hypothesis import given
from hypothesis import strategies as st

from actors.search.graph import Dag

DIAMOND = Dag({"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c", "a")})


@st.composite
def graphs(draw):
    """Acyclic graphs whose file order need not be topological."""
    names = draw(st.permutations("abcdefg"))[: draw(st.integers(1, 7))]
    ranks = {name: index for index, name in enumerate(names)}
    edges = {name: [other for other in names if ranks[other] < ranks[name] and draw(st.booleans())] for name in names}
    return {name: tuple(edges[name]) for name in draw(st.permutations(names))}


def paths(requires, upper, lower):
    if upper == lower:
        yield 0
    for parent in requires[lower]:
        yield from (1 + length for length in paths(requires, upper, parent))


@given(graphs())
def test_answers_agree_with_their_definitions(requires):
    dag = Dag(requires)
    for step in requires:
        assert dag.ancestors[step] == {up for up in requires if up != step and list(paths(requires, up, step))}
        assert dag.dependents[step] == {low for low in requires if low != step and list(paths(requires, step, low))}
        for upper in requires:
            assert dag.distance(upper, step) == max(paths(requires, upper, step), default=None)
    assert dag.leaves == tuple(step for step in requires if not any(step in above for above in requires.values()))
    assert dag.cycle() == ()


@given(graphs())
def test_the_order_is_topological_with_ties_in_file_order(requires):
    order = list(Dag(requires).order)
    expected = []
    while len(expected) < len(requires):
        ready = (step for step in requires if step not in expected and set(requires[step]) <= set(expected))
        expected.append(next(ready))
    assert order == expected


def test_the_distance_is_the_longest_path():
    """`d` requires `a` directly, but a new artifact of `a` makes those of `b` and `c` stale too."""
    assert DIAMOND.distance("a", "d") == 2
    assert DIAMOND.distance("d", "a") is None
    assert DIAMOND.distance("d", "d") == 0


def test_a_cycle_is_named_from_step_to_required_step():
    assert Dag({"x": (), "a": ("b",), "b": ("c",), "c": ("a",)}).cycle() in (
        ("a", "b", "c", "a"),
        ("b", "c", "a", "b"),
        ("c", "a", "b", "c"),
    )
    assert Dag({"a": ("a",)}).cycle() == ("a", "a")


def test_a_requirement_named_twice_counts_once():
    dag = Dag({"a": (), "b": ("a", "a")})
    assert dag.order == ("a", "b")
    assert dag.distance("a", "b") == 1
