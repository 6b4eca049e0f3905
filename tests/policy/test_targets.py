"""Where the rows of a policy send a failure, and which names of a policy nothing built in has."""

import pytest

from actors.policy.decision import resolve_target, root_above, wanted_targets
from actors.policy.table import Policy, Row, unknown_names
from actors.search.graph import Graph
from tests.support.worlds import default_policy, shipped_policy

REQUIRES = {"analysis": (), "recon": (), "strategy": ("analysis", "recon"), "plan": ("strategy",)}
GRAPH = Graph(REQUIRES, {})
ROLES = {step: step for step in REQUIRES}


def row(target="up 1", name="row", **fields):
    level = "local_retry" if target == "self" else "partial_replan"
    conditions = {} if target == "self" else {"codes": ("plan.cycle",)}
    return Row(id=name, why="why", level=level, target=target, **(conditions | fields))


def policy(*rows):
    return Policy(name="mine", rows=(*rows, row("self", "last")))


@pytest.mark.parametrize(
    ("target", "step", "expected"),
    [
        ("self", "plan", ("plan",)),
        ("root", "plan", ("analysis",)),
        ("root", "analysis", ()),
        ("up 1", "plan", ("strategy",)),
        ("up 2", "plan", ("recon",)),
        ("up 9", "plan", ("analysis",)),
        ("up 1", "analysis", ()),
        ("role plan", "plan", ("plan",)),
        ("role recon", "plan", ("recon",)),
        ("role critique", "plan", ()),
        ("role critique or up 1", "plan", ("strategy",)),
        ("role critique or up 1", "recon", ()),
        ("role recon or up 1", "plan", ("recon",)),
    ],
)
def test_a_target_names_one_step_of_the_graph_or_none(target, step, expected):
    assert resolve_target(row(target) if target != "self" else row("self"), step, GRAPH, ROLES) == expected


def test_the_root_of_a_step_is_the_first_that_it_requires():
    assert [root_above(GRAPH, step) for step in REQUIRES] == [(), (), ("analysis",), ("analysis",)]


def test_each_step_that_a_row_goes_back_to_is_listed_with_the_rows():
    rows = policy(row("up 1", "one"), row("root", "two"), row("role strategy", "three"))
    assert wanted_targets("plan", GRAPH, ROLES, rows) == {
        "strategy": ("one", "three"),
        "analysis": ("two",),
        "plan": ("last",),
    }
    further = wanted_targets("plan", GRAPH, ROLES, policy(row("further", "far")))
    assert further == {"strategy": ("far",), "analysis": ("far",), "recon": ("far",), "plan": ("last",)}


def test_a_belief_may_go_back_to_every_step_above_and_only_its_own_rows_count():
    found = wanted_targets("plan", GRAPH, ROLES, shipped_policy("belief"))
    assert {step for step, rules in found.items() if "belief" in rules} == {"analysis", "recon", "strategy"}
    named = {rule for rules in found.values() for rule in rules} - {"belief"}
    assert named <= set(shipped_policy("belief").belief.rules)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"codes": ("plan.cicle",)}, [(("rows", 0, "codes", 0), "code 'plan.cicle'", "plan.cycle")]),
        ({"codes": ("plan.cycle", "plann.*")}, [(("rows", 0, "codes", 1), "code 'plann.*'", "plan.*")]),
        ({"codes": ("xyz.*",)}, [(("rows", 0, "codes", 0), "code 'xyz.*'", "")]),
        ({"codes": ("plan.cycle", "plan.*")}, []),
        ({"target": "role anlysis"}, [(("rows", 0, "target"), "role 'anlysis'", "analysis")]),
        ({"target": "role recon or up 1"}, []),
        ({"target": "role mine or up 1"}, [(("rows", 0, "target"), "role 'mine'", "")]),
        ({"target": "up 1"}, []),
    ],
)
def test_a_name_that_nothing_built_in_has_is_reported_with_the_nearest_one(fields, found):
    rows = policy(row(**{"target": "up 1", "name": "mine", **fields}))
    unknown = list(unknown_names(rows))
    assert [(each.path, each.what, each.near) for each in unknown] == found
    assert all(each.row == "mine" for each in unknown)
    assert list(unknown_names(rows, ("mine", "anlysis", "recon"))) == [
        each for each in unknown if "role" not in each.what
    ]


def test_the_shipped_policies_have_no_unknown_names():
    assert [list(unknown_names(each)) for each in (default_policy(), shipped_policy("belief"))] == [[], []]
