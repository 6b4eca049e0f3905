"""Each claim of the pages about safety links the tests that would fail if it were untrue.

A claim is an item of a list, a row of a table, or a paragraph that introduces neither. It names its tests by reference
links, such as `[test][a_name]`; the end of the page says `[a_name]: FILE "the test's function"`.
"""

import ast
import re
from functools import cache

import pytest
from markdown_it import MarkdownIt

from tests.docs.blocks import ROOT

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
    "Instruct the client's model",
)
"""How the passages begin that say what is not prevented, what to do about it, or what the next ones are."""
DEFINITION = re.compile(r'^\[(?P<name>[^\]]+)\]: (?P<file>\S+) "(?P<test>\w+)"$', re.MULTILINE)
REFERENCE = re.compile(r"\[(?:test|\d)\]\[(?P<name>[^\]]+)\]")


def text_of(page):
    return (ROOT / "docs" / "explanation" / page).read_text(encoding="utf-8")


@cache
def functions(file):
    """Return the names of the tests of a file."""
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
        assert match["test"] in functions(match["file"]), match[0]
        assert match["test"].lower().startswith("test")


def test_no_exception_is_left_over():
    texts = [text for page in PAGES for _, text in claims(page)]
    assert [begin for begin in ADVICE if not any(text.startswith(begin) for text in texts)] == []
