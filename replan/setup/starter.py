"""The files that `replan init` writes: settings, tools for the current project, and a first problem."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from replan.setup.installation import data_root

FILE_BYTES_MAX = 1024 * 1024
"""The largest number of bytes of a project's file that are read."""

_SCHEMAS = "{}/configs/schemas"
"""The folder of the schemas, below the folder of the shipped files."""


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """A program that checks the project."""

    role: str
    """Its role: `tests` or `lint`."""
    words: tuple[str, ...]
    """The command."""
    by: str
    """The file that showed that the project uses it."""


def find_programs(folder: Path) -> tuple[FoundProgram, ...]:
    """Return one program for each role, found by the files of a folder. The tools of a language win over make."""
    first: dict[str, FoundProgram] = {}
    for program in _candidates(folder):
        first.setdefault(program.role, program)
    return tuple(first.values())


def _candidates(folder: Path) -> Iterator[FoundProgram]:
    project = _text(folder / "pyproject.toml")
    if any(folder.glob("tests/test_*.py")) or any(folder.glob("test_*.py")) or "pytest" in project:
        yield FoundProgram("tests", ("pytest", "-q"), "pyproject.toml" if "pytest" in project else "test_*.py")
    if "[tool.ruff" in project or (folder / "ruff.toml").is_file():
        yield FoundProgram("lint", ("ruff", "check"), "pyproject.toml" if "[tool.ruff" in project else "ruff.toml")
    for role, words in (("test", ("npm", "test")), ("lint", ("npm", "run", "lint"))):
        if role in _scripts(folder / "package.json"):
            yield FoundProgram("tests" if role == "test" else role, words, "package.json")
    for file, test, lint in (("Cargo.toml", "test", "clippy"), ("go.mod", "test ./...", "vet ./...")):
        if (folder / file).is_file():
            name = "cargo" if file == "Cargo.toml" else "go"
            yield FoundProgram("tests", (name, *test.split()), file)
            yield FoundProgram("lint", (name, *lint.split()), file)
    targets = re.findall(r"^(test|lint):", _text(folder / "Makefile"), re.MULTILINE)
    for target in targets:
        yield FoundProgram("tests" if target == "test" else target, ("make", target), "Makefile")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(FILE_BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""


def _scripts(path: Path) -> frozenset[str]:
    try:
        value = json.loads(_text(path) or "{}")
    except (ValueError, RecursionError):
        return frozenset()
    scripts = value.get("scripts") if isinstance(value, dict) else None
    return frozenset(scripts) if isinstance(scripts, dict) else frozenset()


def tools_text(programs: tuple[FoundProgram, ...]) -> str:
    """Return the text of a tools file: the programs check steps, and a person does everything else."""
    rows = [
        f"# yaml-language-server: $schema={_SCHEMAS.format(data_root())}/tools.schema.json",
        "# What plans may do where `replan do` and `replan execute` name no other tools file.",
        "tools:",
    ]
    for program in programs:
        rows += [
            f"  {program.role}:  # found by {program.by}",
            "    risk: none",
            f"    command: {json.dumps(program.words)}",
            "    environment: [PATH, HOME]",
            "    repeatable: true",
            "    timeout_seconds: 600",
            f"    broken_exit_codes: {[2, 3, 4, 5] if program.words[0] == 'pytest' else []}  # no result of a check",
        ]
    rows += [
        "  work:  # a command, a Python function or a file that a model writes can take the place of a person",
        "    human: Do what the step says, in the workspace, and report.",
        "  look:",
        "    human: Check what the step says.",
        "generators:",
        *(f"  {name}: work" for name in ("coder", "investigator", "person", "tester", "writer")),
        "guards:",
        "  human: look",
        "  composite: look",
    ]
    roles = {program.role for program in programs}
    tests, lint = ("tests" if "tests" in roles else "look"), ("lint" if "lint" in roles else "look")
    rows += [f"  {name}: {tests}" for name in ("all_tests_pass", "dynamic_test")]
    rows += [f"  test_fails: {{tool: {tests}, expect: failure}}" if tests == "tests" else "  test_fails: look"]
    rows += [f"  {name}: {lint}" for name in ("syntax", "quality_gates", "arch_validation", "rules_valid")]
    rows += [f"  {name}: look" for name in ("architecture_tests_valid", "scenarios_valid")]
    return "\n".join(rows) + "\n"


def shipped_text(name: str) -> str:
    """Return the shipped text of `problem.md` or `config.yaml`, with the address of its schema for editors."""
    text = (data_root() / "configs" / "starter" / name).read_text(encoding="utf-8")
    return text.replace("$schema=../schemas", f"$schema={_SCHEMAS.format(data_root())}", 1)
