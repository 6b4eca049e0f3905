"""The project's own sources, parsed: what the tidy tests look at."""

import ast
import gc
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("replan", "actors", "runtime")
"""The packages of the distribution `replan`, the core."""
PLUGGED_IN = {"replan_server": "server", "replan_acquire": "acquire", "replan_lab": "lab"}
"""The packages of the other distributions, with their folder below `packages`."""


def _is_type_checking(test):
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


@dataclass(frozen=True)
class Module:
    """A source file; `name` is its path from the repository's root."""

    name: str

    @cached_property
    def source(self):
        return (ROOT / self.name).read_text(encoding="utf-8")

    @cached_property
    def tree(self):
        gc.disable()  # Else most of the time goes to looking for garbage in the trees of the other files.
        try:
            return ast.parse(self.source, self.name)
        finally:
            gc.enable()

    @cached_property
    def nodes(self):
        return list(ast.walk(self.tree))

    @property
    def dotted(self):
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def path(self):
        """The path from the folder that Python imports the module from."""
        parts = self.name.split("/")
        return "/".join(parts[2:] if parts[0] == "packages" and parts[2] in PLUGGED_IN else parts)

    @property
    def package(self):
        """The top package of the module, such as `actors` or `replan_lab`."""
        return self.path.split("/")[0]

    def imports(self):
        """Yield (line, dotted name) of every import, also inside functions, and of each name taken from a module."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                parents = self.path.split("/")[: -node.level] if node.level else []
                base = ".".join([*parents, *filter(None, [node.module])])
                yield node.lineno, base
                yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)

    def loads(self):
        """Return the dotted names that importing the module, or calling its functions, may load."""
        branches = [node for node in self.nodes if isinstance(node, ast.If) and _is_type_checking(node.test)]
        skipped = {line for node in branches for line in range(node.lineno, node.body[-1].end_lineno + 1)}
        return [name for line, name in self.imports() if line not in skipped]

    def functions(self):
        return [node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    def bare_constants(self):
        """Return the statements that are a constant alone: docstrings of modules, classes, functions and fields."""
        bodies = [body for node in self.nodes if isinstance(body := getattr(node, "body", None), list)]
        return [
            item
            for body in bodies
            for item in body
            if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
        ]

    def strings(self):
        """Yield (line, text) of each string that is not a docstring; the parts of an f-string count together."""
        skipped = {item.value for item in self.bare_constants()}
        for node in self.nodes:
            if isinstance(node, ast.JoinedStr):
                parts = [part for part in node.values if isinstance(part, ast.Constant)]
                skipped.update(parts)
                yield node.lineno, "{}".join(str(part.value) for part in parts)
        for node in self.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
                yield node.lineno, node.value


def modules(*patterns):
    """Return the modules that match any of the patterns, by name."""
    paths = {path for pattern in patterns for path in ROOT.glob(pattern) if "__pycache__" not in path.parts}
    return [Module(path.relative_to(ROOT).as_posix()) for path in sorted(paths)]


def report(problems):
    """Fail with every problem at once, one a line."""
    problems = list(problems)
    assert not problems, "\n" + "\n".join(problems)


def project_files():
    """Return the files that git knows; in an unpacked archive, all files outside folders of tools."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0 and done.stdout:
        return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]
    tools = re.compile(r"/(?:\.\w+|__pycache__|build|dist)/")
    return [path for path in ROOT.rglob("*") if path.is_file() and not tools.search(f"/{path.relative_to(ROOT)}")]


CORE = modules(*(f"{package}/**/*.py" for package in PACKAGES))
SOURCES = [*CORE, *modules(*(f"packages/{folder}/{name}/**/*.py" for name, folder in PLUGGED_IN.items()))]
TESTS = modules("conftest.py", "tests/**/*.py", "packages/*/tests/**/*.py")
