"""Imports form no circles: between folders within each top package, and between files anywhere."""

import ast
import itertools

import pytest

from tests.tidy.source import PACKAGES, PLUGGED_IN, SOURCES, Module

TOPS = {*PACKAGES, *PLUGGED_IN}


def _package_of(dotted, packages):
    """Return the package that holds a module, or the package itself."""
    while dotted and dotted not in packages:
        dotted = dotted.rpartition(".")[0]
    return dotted


def package_imports(sources):
    """Return which packages each package imports, with one import that shows it: {package: {package: "where"}}.

    The root packages hold no modules that others import, so only what lies below them counts.
    """
    packages = {module.dotted for module in sources if module.name.endswith("/__init__.py")}
    graph = {package: {} for package in packages - TOPS}
    for module in sources:
        importer = _package_of(module.dotted, packages)
        for line, name in module.imports():
            if name.partition(".")[0] not in TOPS or importer not in graph:
                continue
            imported = _package_of(name, packages)
            if imported in graph and imported != importer:
                graph[importer].setdefault(imported, f"{module.name}:{line}")
    return graph


def module_imports(sources):
    """Return which modules each module imports, also inside functions and for types only, as `package_imports` does."""
    names = {module.dotted for module in sources}
    return {
        module.dotted: {
            name: f"{module.name}:{line}"
            for line, name in module.imports()
            if name in names - {module.dotted} and not module.name.endswith("/__init__.py")
        }
        for module in sources
    }


def find_cycle(graph):
    """Return one cycle of packages or modules as a list whose first entry is repeated at its end, or None."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return None
        path.append(name)
        for imported in sorted(graph[name]):
            if cycle := visit(imported):
                return cycle
        done.add(path.pop())
        return None

    return next(filter(None, map(visit, sorted(graph))), None)


def explain(graph, cycle):
    """Return the cycle as text, with the import behind each of its arrows."""
    arrows = (f"{name} -> {other} ({graph[name][other]})" for name, other in itertools.pairwise(cycle))
    return "imports form a circle: " + ", ".join(arrows)


@pytest.mark.parametrize("imports", [package_imports, module_imports])
def test_no_package_and_no_module_imports_itself_through_others(imports):
    graph = imports(SOURCES)
    cycle = find_cycle(graph)
    assert cycle is None, explain(graph, cycle)


class _Planted(Module):
    """A source file with one more import than it has."""

    line = "from runtime.drive.supervisor import Supervisor"

    @property
    def tree(self):
        return ast.parse(f"{self.line}\n{self.source}")

    @property
    def nodes(self):
        return list(ast.walk(self.tree))


def test_a_planted_import_is_found_and_its_cycle_is_named():
    """The test above can fail: one import against the direction, and the message names both packages."""
    sources = [_Planted(module.name) if module.name == "runtime/core/ledger.py" else module for module in SOURCES]
    graph = package_imports(sources)
    message = explain(graph, find_cycle(graph))
    assert "runtime.core -> runtime.drive (runtime/core/ledger.py:1)" in message
    assert "runtime.drive -> runtime.core" in message


class _PlantedForTypes(_Planted):
    line = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from actors.search.progress import choose"


def test_a_planted_import_for_types_only_is_found():
    """The test above can fail by an import that no program ever does."""
    name = "actors/search/graph.py"
    sources = [_PlantedForTypes(module.name) if module.name == name else module for module in SOURCES]
    graph = module_imports(sources)
    message = explain(graph, find_cycle(graph))
    assert f"actors.search.graph -> actors.search.progress ({name}:3)" in message


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_folders_to_look_at(package):
    assert sum(name.startswith(f"{package}.") for name in package_imports(SOURCES)) >= 5
