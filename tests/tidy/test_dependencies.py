"""The dependencies: each package that is imported is stated, in the extra that its importers belong to."""

import re
import sys
import tomllib
from importlib.metadata import requires

from tests.tidy.source import PACKAGES, PLUGGED_IN, ROOT, SOURCES, TESTS, modules, report

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OTHERS = {
    package: tomllib.loads((ROOT / "packages" / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package, folder in PLUGGED_IN.items()
}
"""The other distributions, by their package."""
BRINGS = {"server", "acquire", "lab"}
"""The extras that bring these distributions."""
DISTRIBUTIONS = {
    "ag_ui": "ag-ui-protocol",
    "PIL": "pillow",
    "docx": "python-docx",
    "fpdf": "fpdf2",
    "pdfminer": "pdfminer-six",
    "google.protobuf": "protobuf",
    "markdown_it": "markdown-it-py",
    "opentelemetry.exporter.otlp.proto.http": "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry.metrics": "opentelemetry-api",
    "opentelemetry.proto": "opentelemetry-proto",
    "opentelemetry.sdk": "opentelemetry-sdk",
    "opentelemetry.semconv": "opentelemetry-semantic-conventions",
    "opentelemetry.trace": "opentelemetry-api",
    "pymdownx": "pymdown-extensions",
    "yaml": "pyyaml",
}
"""The distributions whose names differ from those of their modules."""
BROUGHT = {"pydantic-core": "pydantic", "referencing": "jsonschema", "typing-extensions": "pydantic"}
"""Distributions that need not be stated: a stated one always requires them, and has their objects in its interface."""
EXTRAS = {
    "packages/lab/replan_lab/pddl/": "unified-planning",
    "actors/tools/mcp_": "mcp",
    "packages/server/replan_server/journals.py": "postgres",
    "packages/server/replan_server/postgres/": "postgres",
    "packages/server/replan_server/telemetry/": "otel",
    "packages/server/replan_server/workers/": "worker",
    "replan/testing.py": "pytest",
    "runtime/models/anthropic_client.py": "anthropic",
}
"""The extra of the modules whose names begin so; all others need none."""
LOCAL = {*PACKAGES, *PLUGGED_IN, "tests", "packages", "benchmarks", "page_parts", *sys.stdlib_module_names}


def names_of(requirements):
    return {normal(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}


def normal(name):
    """Return the name of a distribution in the form in which names are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distribution_of(name):
    """Return the distribution that an imported module, or a name in it, comes from."""
    parts = name.split(".")
    starts = (".".join(parts[:size]) for size in range(len(parts), 0, -1))
    return next((DISTRIBUTIONS[start] for start in starts if start in DISTRIBUTIONS), normal(parts[0]))


def not_stated(module, stated):
    """Yield the imports of distributions that are not stated. A script may import another one beside it."""
    beside = {path.stem for path in (ROOT / module.name).parent.glob("*.py")}
    for line, name in module.imports():
        if name.partition(".")[0] not in {*LOCAL, *beside} and distribution_of(name) not in stated:
            yield f"{module.name}:{line}: imports {name} from {distribution_of(name)}"


def stated_for(module):
    """Return the distributions that a module may import: those of the core, of its package, and of its own extra."""
    core = PROJECT["project"]
    project = OTHERS.get(module.package, core)
    extras = [extra for start, extra in EXTRAS.items() if module.name.startswith(start)]
    optional = (project["optional-dependencies"][extra] for extra in extras)
    lists = [core["dependencies"], project["dependencies"], *optional]
    return with_brought(names_of(requirement for stated in lists for requirement in stated))


def with_brought(stated):
    return stated | {name for name, by in BROUGHT.items() if by in stated}


def test_each_import_of_the_packages_is_a_stated_dependency():
    """Else an installation works only as long as a dependency of ours happens to need the same."""
    report({problem: None for module in SOURCES for problem in not_stated(module, stated_for(module))})


def test_each_import_of_tests_and_documentation_is_a_stated_dependency():
    lists = [PROJECT["dependency-groups"]["dev"]]
    for project in (PROJECT["project"], *OTHERS.values()):
        lists += [project["dependencies"], *project.get("optional-dependencies", {}).values()]
    stated = with_brought(names_of(requirement for one in lists for requirement in one))
    scripts = [*TESTS, *modules("docs/**/*.py")]
    found = {each: stated | locked_for(each.name) for each in scripts}
    report({problem: None for module, names in found.items() for problem in not_stated(module, names)})


def test_a_distribution_that_need_not_be_stated_is_required_by_a_stated_one():
    for name, by in BROUGHT.items():
        assert name in names_of(text for text in requires(by) if "extra ==" not in text), f"{by} brings no {name}"


def test_the_core_has_at_most_sixteen_direct_dependencies():
    assert len(PROJECT["project"]["dependencies"]) <= 16


def locked_for(name):
    """Return the distributions of the lock of a script's own environment; none for a script without one."""
    locks = {"docs/site_hooks.py": "site.lock", "tests/long/real/serve_model.py": "model.lock"}
    if name not in locks:
        return frozenset()
    text = (ROOT / ".ci" / locks[name]).read_text(encoding="utf-8")
    return names_of(re.findall(r"^[\w.-]+==", text, re.MULTILINE))


def test_each_extra_has_modules_and_each_distribution_of_another_name_is_imported():
    names = {name for module in [*SOURCES, *TESTS, *modules("docs/**/*.py")] for _, name in module.imports()}
    projects = (PROJECT["project"], *OTHERS.values())
    extras = {extra for project in projects for extra in project.get("optional-dependencies", {})}
    assert set(EXTRAS.values()) == extras - BRINGS
    assert all(any(module.name.startswith(start) for module in SOURCES) for start in EXTRAS)
    assert [start for start in DISTRIBUTIONS if not any(f"{name}.".startswith(f"{start}.") for name in names)] == []
