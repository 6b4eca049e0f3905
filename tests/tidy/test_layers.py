"""Layers and purity: which module may import which, and what a machine or a guard may not do."""

import ast
import tomllib

from tests.tidy.source import PACKAGES, PLUGGED_IN, ROOT, SOURCES, TESTS, modules, report

MAY_IMPORT = {
    "replan": {"replan", "actors", "runtime"},
    "actors": {"actors", "runtime"},
    "runtime": {"runtime"},
    **{package: {package, *PACKAGES} for package in PLUGGED_IN},
}
OURS = {*PACKAGES, *PLUGGED_IN, "tests", "benchmarks", "docs"}

WHOLE = ("tests/docs/", "tests/long/docs/", "tests/packaging/", "tests/long/packaging/", "tests/tidy/")
"""The tests of the documentation and of the repository, which need all packages."""

PURE = (
    "actors/run/**/*.py",
    "actors/planning/**/*.py",
    "packages/acquire/replan_acquire/acquisition/**/*.py",
    "actors/execution/**/*.py",
    "actors/search/**/*.py",
    "actors/policy/**/*.py",
    "actors/guards/**/*.py",
    "actors/plans/**/*.py",
    "actors/demands/**/*.py",
    "packages/acquire/replan_acquire/documents/passages.py",
    "packages/acquire/replan_acquire/documents/text_document.py",
    "packages/acquire/replan_acquire/quantities/**/*.py",
    "actors/templates/**/*.py",
    "actors/tools/binding.py",
    "actors/tools/bindings_config.py",
    "actors/tools/tools_file.py",
    "actors/tools/snapshot_texts.py",
    "actors/tools/parameters.py",
    "actors/tools/specs.py",
    "actors/tools/uses.py",
    "actors/values/artifacts.py",
    "actors/values/findings.py",
    "actors/values/format.py",
    "actors/values/lines.py",
    "runtime/core/machine.py",
    "runtime/core/ledger.py",
    "runtime/core/daily_budget.py",
    "runtime/core/events.py",
    "runtime/models/replies.py",
    "runtime/core/messages.py",
    "runtime/logs/redact.py",
    "runtime/logs/terminal_text.py",
)
"""Machines, guards and values: the same input gives the same output, and nothing happens."""

ADAPTERS = {
    "actors/run/kind.py": "joins a machine with its actors in one value",
    "actors/planning/kind.py": "the same for planning",
    "actors/planning/children.py": "the actors of a planning run",
    "actors/planning/prepare.py": "reads the files of the workflow, before a run begins and to compare them",
    "packages/acquire/replan_acquire/acquisition/actors.py": "the actors of an acquisition run",
    "packages/acquire/replan_acquire/acquisition/report_xlsx.py": "has a library write a workbook into memory",
    "packages/acquire/replan_acquire/acquisition/kind.py": "joins the machine of acquisition runs with its actors",
    "packages/acquire/replan_acquire/acquisition/prepare.py": "reads the shipped prompts before a run begins",
    "packages/acquire/replan_acquire/acquisition/profile_check.py": "reads profiles",
    "actors/execution/actors.py": "the actors of an execution",
    "actors/execution/kind.py": "joins the machine of executions with its actors",
    "actors/execution/prepare.py": "reads the shipped prompts and policy before a run begins",
    "actors/templates/model.py": "the `Model` that wraps a template, whose methods are `async`",
    "actors/templates/template_files.py": "reads the shipped templates once",
}
"""Modules that stand beside the pure code which they serve."""

ACTING = {"anyio", "asyncio", "concurrent", "io", "logging", "multiprocessing", "os", "pathlib", "queue", "random"} | {
    *("secrets", "select", "shutil", "signal", "socket", "sqlite3", "structlog", "subprocess", "tempfile", "threading"),
    *("time", "trio", "uuid", "apsw", "httpx2", "openai", "anthropic"),
}
FILES = {"io", "os", "pathlib"}
CLOCKS = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today")}
ACTING_CALLS = {"open", "input", "print", "exec", "eval", "__import__"}

PURE_SOURCES = [module for module in modules(*PURE) if module.name not in ADAPTERS]
BY_NAME = {module.dotted: module for module in SOURCES}


def _with_all_they_import(start):
    """Return the modules and, transitively, the modules of this project that importing them loads."""
    found, left = {}, [module.dotted for module in start]
    while left:
        name = left.pop()
        if name in found or name not in BY_NAME:
            continue
        found[name] = BY_NAME[name]
        left += [name.rpartition(".")[0], *BY_NAME[name].loads()]
    return list(found.values())


def test_there_is_something_to_check():
    """A glob that finds nothing would let everything pass."""
    assert len(SOURCES) >= 20
    assert len(PURE_SOURCES) >= 8
    assert len(TESTS) >= 8
    assert {module.package for module in SOURCES} == {*PACKAGES, *PLUGGED_IN}


def test_imports_go_in_one_direction():
    """replan → actors → runtime, each other package → these three; nothing imports tests, benchmarks and docs."""
    report(
        f"{module.name}:{line}: imports {name}"
        for module in SOURCES
        for line, name in module.imports()
        if name.split(".")[0] in OURS - MAY_IMPORT[module.package]
    )


def test_the_project_packages_are_the_three():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert sorted(wheel["packages"]) == sorted(PACKAGES)
    assert wheel["force-include"] == {"prompts": "replan/_data/prompts", "configs": "replan/_data/configs"}
    assert sorted(project["tool"]["mypy"]["packages"]) == sorted([*PACKAGES, *PLUGGED_IN])


def test_the_tests_of_the_core_import_no_other_package():
    """So that they pass where only the core is installed; but for the tests of the whole repository."""
    report(
        f"{module.name}:{line}: imports {name}"
        for module in TESTS
        if not module.name.startswith(("packages/", *WHOLE))
        for line, name in module.imports()
        if name.split(".")[0] in {*PLUGGED_IN, "packages"}
    )


def _imports_of(sources, forbidden):
    return (
        f"{module.name}:{line}: imports {name}"
        for module in sources
        for line, name in module.imports()
        if name.split(".")[0] in forbidden
    )


def test_pure_modules_import_nothing_that_acts():
    report(_imports_of(PURE_SOURCES, ACTING))


def test_pure_modules_load_nothing_that_acts_by_a_detour():
    """They may load the modules of configuration, which read files when asked to, and nothing else that acts."""
    report(_imports_of(_with_all_they_import(PURE_SOURCES), ACTING - FILES))


def test_pure_modules_neither_read_the_clock_nor_act():
    for module in PURE_SOURCES:
        for node in module.nodes:
            where = f"{module.name}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                assert (owner, node.attr) not in CLOCKS, f"{where}: reads the clock"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ACTING_CALLS, f"{where}: calls {node.func.id}()"


def test_pure_modules_are_synchronous():
    report(
        f"{module.name}:{node.lineno}: async"
        for module in PURE_SOURCES
        for node in module.nodes
        if isinstance(node, ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Await)
    )
