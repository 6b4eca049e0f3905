"""Shape: sizes, docstrings, exports, and what every test must be."""

import ast

from tests.tidy.source import SOURCES, TESTS, report

MAY_BE_MISSING = (
    "REPLAN_CONFORMANCE",
    *(f"REPLAN_REQUIRE_{thing}" for thing in ("POSTGRES", "BROWSER", "LINTERS", "SITE", "EDITOR", "MODEL")),
    "REPLAN_REQUIRE_PROTOCOLS",
    "REPLAN_REQUIRE_VIEWERS",
)
"""The variables that make a failure of what a missing thing would skip."""
MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70


ONE_CONCEPT = frozenset({"State", "RunConfig", "RunFinished", "RequestReissued"})
"""Classes that each kind of agent has of its own, under one name."""


def test_modules_are_small():
    report(
        f"{module.name}: {len(module.source.splitlines())} lines"
        for module in [*SOURCES, *TESTS]
        if len(module.source.splitlines()) > MODULE_LINES_MAX
    )


def test_functions_are_small():
    report(
        f"{module.name}:{node.lineno}: {node.name} has {(node.end_lineno or 0) - node.lineno + 1} lines"
        for module in [*SOURCES, *TESTS]
        for node in module.functions()
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX
    )


def test_every_module_says_what_it_owns():
    report(
        f"{module.name}: has no docstring"
        for module in [*SOURCES, *TESTS]
        if module.source.strip() and not ast.get_docstring(module.tree)
    )


def test_a_class_name_means_one_thing():
    places = {}
    for module in SOURCES:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(f"{module.name}:{node.lineno}")
    assert {name for name in ONE_CONCEPT if len(places[name]) > 1} == ONE_CONCEPT
    report(
        f"{name}: {', '.join(lines)}" for name, lines in places.items() if len(lines) > 1 and name not in ONE_CONCEPT
    )


def _export_order(name):
    """Constants, then classes, then functions, each by name: the order that ruff's RUF022 sorts into."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


def test_exports_are_sorted_and_unique():
    for module in SOURCES:
        for node in module.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                names = ast.literal_eval(node.value)
                assert list(names) == sorted(set(names), key=_export_order), f"{module.name}: __all__ is not sorted"


def test_every_test_says_its_sentence():
    """A docstring, or a name of at least three words after `test_`."""
    report(
        f"{module.name}:{node.lineno}: {node.name}"
        for module in TESTS
        for node in module.functions()
        if node.name.startswith("test_")
        and not ast.get_docstring(node)
        and len(node.name.removeprefix("test_").split("_")) < 3
    )


def test_no_test_is_switched_off():
    """Only tests that need what is not in the checkout may be skipped: outside plans, Postgres, Chromium, the site."""
    report(
        f"{module.name}:{node.lineno}: {ast.unparse(node)}"
        for module in TESTS
        if not any(name in module.source for name in MAY_BE_MISSING)
        for node in module.nodes
        if isinstance(node, ast.Attribute) and node.attr in {"skip", "skipif", "xfail", "importorskip"}
    )
