"""Counts the lines and files of the product and its tests, and the words of the docs, at two commits: `make size`.

`python docs/size.py` prints a table with a row for each folder, for `HEAD` or for a commit that is named, and the
functions with the most parameters and the modules with the most imports in the core. `--publish` writes all this into
`size.json`, from which `docs/generate.py` makes the table of the page about the code. The script counts
commits and not files, so the published tables stay true.
"""
# ruff: noqa: INP001, S603, S607, T201 -- a script, not a package; it calls git

import ast
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PUBLISHED = ROOT / "docs" / "explanation" / "size.json"
BEFORE = "7ec12b5b"
"""The commit that the review of the code has read."""
CORE = ("replan", "actors", "runtime")
PACKAGES = ("replan_server", "replan_acquire", "replan_lab")
TESTS = "tests"
DOCS = "docs"
LARGEST = 3
"""How many functions and modules are listed."""

Folders = dict[str, tuple[int, int]]
"""The lines and the files of each folder; for the docs, the words and the pages."""
Largest = list[tuple[int, str]]
"""The largest counts first, each with the place that has it."""


class Size(NamedTuple):
    """The size of a commit."""

    folders: Folders
    """The lines and files of each folder, with all that is below it."""
    parameters: Largest
    """The functions of the core with the most parameters, without `self` and `cls`."""
    imports: Largest
    """The modules of the core that import the most modules, also inside functions and for types only."""


def size_of(commit: str, root: Path = ROOT) -> Size:
    """Count the lines and files of each folder of a commit, and the words and pages of the docs with the README.

    Raises:
        CalledProcessError: git does not know the commit.
    """
    folders, parameters, imports = Folders(), Largest(), Largest()
    for name, text in _texts(commit, root):
        amount, files = folders.get(folder_of(name), (0, 0))
        added = len(text.split() if name.endswith(".md") else text.splitlines())
        folders[folder_of(name)] = amount + added, files + 1
        if name.split("/")[0] in CORE:
            nodes = list(ast.walk(ast.parse(text)))
            parameters += ((_parameters(node), f"{name} {node.name}") for node in nodes if isinstance(node, _FUNCTION))
            imports.append((len({module for node in nodes for module in _imported(node)}), name))
    return Size(folders, _largest(parameters), _largest(imports))


def folder_of(name: str) -> str:
    """Return the folder of a file below its top folder, or the top folder; empty for a file that does not count.

    The top folders of a package are below `packages/NAME`.
    """
    parts = name.split("/")
    if parts[0] == "packages":
        parts = parts[2:]
    if parts[0] in (DOCS, "README.md"):
        return DOCS if name.endswith(".md") else ""
    if not name.endswith(".py"):
        return ""
    if name == "conftest.py":
        return TESTS
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def rows(before: Folders, now: Folders) -> list[tuple[str, int, int, int, int]]:
    """Return the rows of the table: the folders of the product; sums of the core, each package, all; tests; docs."""
    known = sorted({*before, *now})
    by_top = {top: [folder for folder in known if folder.partition("/")[0] == top] for top in (*CORE, *PACKAGES, TESTS)}
    found = [(folder, [folder]) for top in (*CORE, *PACKAGES) for folder in by_top[top]]
    found.append(("core", [folder for top in CORE for folder in by_top[top]]))
    found += [(package, by_top[package]) for package in PACKAGES]
    found.append(("product", [folder for top in (*CORE, *PACKAGES) for folder in by_top[top]]))
    found.append((TESTS, by_top[TESTS]))
    found.append(("docs (words, pages)", [DOCS]))
    return [(name, *_total(before, members), *_total(now, members)) for name, members in found]


def published() -> dict[str, Size]:
    """Return the published sizes by their commit: before, and now."""
    return {
        commit: Size(
            {name: (amount, files) for name, (amount, files) in folders.items()},
            *([(count, place) for count, place in listed] for listed in (parameters, imports)),
        )
        for commit, (folders, parameters, imports) in json.loads(PUBLISHED.read_text(encoding="utf-8")).items()
    }


def main() -> None:
    """Print the tables, or publish the sizes."""
    words = [word for word in sys.argv[1:] if word != "--publish"] or ["HEAD"]
    commit = _git(ROOT, "rev-parse", "--short=8", *words).decode().strip()
    before, now = size_of(BEFORE), size_of(commit)
    if "--publish" in sys.argv:
        PUBLISHED.write_text(json.dumps({BEFORE: before, commit: now}) + "\n", encoding="utf-8")
        print(PUBLISHED.relative_to(ROOT))
        return
    print(f"{'':22}{BEFORE:>18}{commit:>18}\n{'folder':22}" + f"{'lines':>10}{'files':>8}" * 2)
    for name, *counts in rows(before.folders, now.folders):
        print(f"{name:22}" + "".join(f"{count:>{width},}" for count, width in zip(counts, (10, 8, 10, 8), strict=True)))
    for name, size in ((BEFORE, before), (commit, now)):
        for title, largest in (("parameters", size.parameters), ("imports", size.imports)):
            print(
                f"\nMost {title} in the core at {name}:", *(f"{count:6} {place}" for count, place in largest), sep="\n"
            )


_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return sum(parameter.arg not in ("self", "cls") for parameter in named)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{'.' * node.level}{node.module or ''}"] if isinstance(node, ast.ImportFrom) else []


def _largest(found: Largest) -> Largest:
    return sorted(found, key=lambda row: (-row[0], row[1]))[:LARGEST]


def _total(folders: Folders, members: list[str]) -> tuple[int, int]:
    found = [folders[name] for name in members if name in folders]
    return sum(amount for amount, _ in found), sum(files for _, files in found)


def _texts(commit: str, root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the text of each file of a commit that counts."""
    tops = (*CORE, "packages", TESTS, DOCS, "conftest.py", "README.md")
    listed = _git(root, "ls-tree", "-r", "--name-only", commit, "--", *tops)
    names = [name for name in listed.decode().splitlines() if folder_of(name)]
    texts = io.BytesIO(_git(root, "cat-file", "--batch", sent="".join(f"{commit}:{name}\n" for name in names)))
    for name in names:
        _, _, size = texts.readline().split()
        yield name, texts.read(int(size))
        texts.readline()


def _git(root: Path, *arguments: str, sent: str = "") -> bytes:
    return subprocess.run(["git", *arguments], cwd=root, input=sent.encode(), capture_output=True, check=True).stdout


if __name__ == "__main__":
    main()
