"""Each claim of the security page and each function of the program leads to tests that exist."""

import ast
import re
from functools import cache

import click
import pytest
from markdown_it import MarkdownIt

import replan
from replan.cli.app import app
from replan_server.mcp.server import offered_tools
from replan_server.web.api_routes import addressed_operations
from tests.docs.blocks import ROOT
from tests.support.yaml_files import read_yaml

PAGES = {
    "security.md": None,
    "promises.md": {"What Replan guarantees"},
    "crash-safety.md": {"The guarantees", "How each is tested"},
    "workers.md": {"The journal owns", "The queue places", "Which run is next", "How soon a run is taken over"},
}
"""The pages, each with the sections that have claims; None for all but those that are in `NO_CLAIMS`."""
NO_CLAIMS = {"Security", "What is trusted", "What was attacked", "What is not done"}
"""Sections of a page that say what is trusted, what is not defended, or list tests themselves."""
ADVICE = (
    "They follow from",
    "A command runs with your rights",
    "The journal contains your problems",
    "Such a program can show",
    "A program with a bearer token",
    "Whoever reads the terminal",
    "**Instruct the client's model",
)
"""How the passages begin that say what is not prevented, what to do about it, or what the next ones are."""
DEFINITION = re.compile(r"^\[(?P<name>\w+)\]: (?P<file>\S+\.py)$", re.MULTILINE)
"""A link has the name of its test, without `test_`."""
REFERENCE = re.compile(r"\[(?:test|\d)\]\[(?P<name>[^\]]+)\]")


def text_of(page):
    return (ROOT / "docs" / "explanation" / page).read_text(encoding="utf-8")


@cache
def functions(file):
    tree = ast.parse((ROOT / "docs" / "explanation" / file).resolve().read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {each.name for each in ast.walk(tree) if isinstance(each, kinds)}


def claims(page):
    """Yield the section and the source of each claim."""
    lines = text_of(page).splitlines()
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    section, depth = "", 0
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            section = tokens[place + 1].content
        depth += token.type == "list_item_open"
        depth -= token.type == "list_item_close"
        source = "" if token.map is None else "\n".join(lines[token.map[0] : token.map[1]])
        if token.type == "list_item_open" and depth == 1:
            yield section, re.sub(r"^(?:-|\d\.) +", "", source)
        elif token.type == "tr_open" and "---" not in lines[token.map[0] + 1]:
            yield section, source.strip("| ")
        elif token.type == "paragraph_open" and depth == 0 and not _introduces(tokens, place):
            yield section, source


def _introduces(tokens, place):
    """Tell whether a list or a table follows a paragraph."""
    following = tokens[place + 3].type if place + 3 < len(tokens) else ""
    return following in ("bullet_list_open", "ordered_list_open", "table_open")


@pytest.mark.parametrize("page", PAGES)
def test_each_claim_links_its_test(page):
    sections = PAGES[page]
    found = [each for each in claims(page) if (each[0] not in NO_CLAIMS if sections is None else each[0] in sections)]
    assert len(found) >= 7
    assert sections is None or sections == {section for section, _ in found}
    without = [text[:80] for _, text in found if not REFERENCE.search(text) and not text.startswith(ADVICE)]
    assert without == []


@pytest.mark.parametrize("page", PAGES)
def test_each_link_of_a_claim_leads_to_a_test_and_each_test_is_linked(page):
    defined = {match["name"]: match for match in DEFINITION.finditer(text_of(page))}
    linked = {match["name"] for match in REFERENCE.finditer(text_of(page))}
    assert linked == {*defined}
    for match in defined.values():
        name = match["name"] if match["name"].startswith("Test") else f"test_{match['name']}"
        assert name in functions(match["file"]), match[0]


def test_no_exception_is_left_over():
    texts = [text for page in PAGES for _, text in claims(page)]
    assert [begin for begin in ADVICE if not any(text.startswith(begin) for text in texts)] == []


TABLE = read_yaml(ROOT / "docs" / "reference" / "functions.yaml")


def commands(group, *names):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        else:
            yield " ".join((*names, name))


FACES = {
    "command": lambda: commands(app),
    "http": lambda: (f"{each.method} {each.path}" for _, each in addressed_operations()),
    "mcp": lambda: offered_tools(allow_execute=True),
    "python": lambda: (
        name for name in replan.__all__ if not isinstance(getattr(replan, name), type) and name.islower()
    ),
}


@pytest.mark.parametrize("face", FACES)
def test_each_function_of_the_program_has_a_row_and_each_row_is_one_or_says_why_it_is_gone(face):
    there = {name for name, entry in TABLE[face].items() if isinstance(entry, str)}
    gone = {name: entry["gone"] for name, entry in TABLE[face].items() if name not in there}
    assert there == set(FACES[face]())
    assert all(gone.values())


@pytest.mark.parametrize("face", FACES)
def test_each_test_of_the_table_exists(face):
    for name, entry in TABLE[face].items():
        if isinstance(entry, str):
            file, _, test = entry.partition("::")
            path = ROOT / file if file.startswith("packages/") else ROOT / "tests" / file
            tree = ast.parse(path.read_text(encoding="utf-8"))
            assert test in {getattr(node, "name", "") for node in tree.body}, f"{name}: {entry}"
