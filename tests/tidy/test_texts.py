"""Texts: prompts live in `prompts/`, printing belongs to the faces, and no file names somebody's machine."""

import ast
import re

from tests.tidy.source import ROOT, SOURCES, TESTS, project_files, report

THIS = "tests/tidy/test_texts.py"

TEXT_MAX = 200
"""Characters of a string in code. A longer one is prose, and prose for models lives in `prompts/`."""

LONG_TEXT_ALLOWED = {
    "actors/demands/blocks.py": "patterns of sentences",
    "actors/demands/patterns.py": "patterns of sentences",
    "runtime/journal/sqlite/schema.py": "SQL",
    "runtime/journal/sqlite/writing.py": "SQL",
    "runtime/journal/sqlite/rows.py": "SQL",
    "packages/server/replan_server/workers/procrastinate.py": "SQL",
    "packages/server/replan_server/workers/tables.py": "SQL",
    "packages/server/replan_server/postgres/connecting.py": "SQL",
    "packages/server/replan_server/postgres/reading.py": "SQL",
    "packages/server/replan_server/postgres/schema.py": "SQL",
    "packages/server/replan_server/postgres/transaction.py": "SQL",
    "packages/server/replan_server/postgres/raw.py": "SQL",
}
"""Files whose long strings are another language, not prose."""

PROMPT_PHRASES = re.compile(
    r"\b(?:you are an?|your task|your output|your previous|your last|respond (?:only )?with|reply (?:only )?with"
    r"|output only|think step by step|as an ai|guard rejection)\b"
    r"|^# ?(?:role|task|constraints|context)\b",
    re.IGNORECASE | re.MULTILINE,
)
LEFT_OPEN = re.compile(r"\b(?:TODO|FIXME|XXX)\b|NotImplementedError")
TEXT_SUFFIXES = {".py", ".md", ".toml", ".yaml", ".yml", ".json", ".jsonl", ".lock", ".txt", ""}
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:work|root)/")


def test_the_machinery_prints_nothing():
    report(
        f"{module.name}:{node.lineno}: print()"
        for module in SOURCES
        if not module.name.startswith("replan/")
        for node in module.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    )


def test_no_prompt_text_is_in_code():
    report(
        f"{module.name}:{line}: {text[:80]!r}"
        for module in SOURCES
        for line, text in module.strings()
        if PROMPT_PHRASES.search(text) or (len(text) > TEXT_MAX and module.name not in LONG_TEXT_ALLOWED)
    )


def test_each_allowance_for_long_texts_is_used():
    """An exception that no file needs any more is taken out of the list."""
    by_name = {module.name: module for module in SOURCES}
    report(
        f"{name}: has no long text"
        for name in LONG_TEXT_ALLOWED
        if name not in by_name or not any(len(text) > TEXT_MAX for _, text in by_name[name].strings())
    )


def test_nothing_is_left_to_do():
    report(
        f"{module.name}:{number}: {line.strip()}"
        for module in [*SOURCES, *TESTS]
        if module.name != THIS
        for number, line in enumerate(module.source.splitlines(), 1)
        if LEFT_OPEN.search(line)
    )


def test_no_file_names_a_place_on_somebodys_machine():
    paths = [path for path in project_files() if path.suffix in TEXT_SUFFIXES]
    assert len(paths) >= 20
    report(
        f"{path.name}:{number}: {line.strip()[:100]}"
        for path in paths
        if path != ROOT / THIS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if MACHINE_PATHS.search(line)
    )
