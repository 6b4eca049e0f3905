"""The glossary is true: its names in code exist, and words that it rules out are not used in the documentation."""

import ast
import re
from functools import cache

import pytest

from tests.docs.blocks import FENCE, ROOT, pages

GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
ROW = re.compile(r"^\| (?P<term>[^|]+) \| [^|]+ \| (?P<code>[^|]+) \| (?P<excluded>[^|]*)\|$", re.MULTILINE)
INVISIBLE = re.compile(r"<!-- (generated|measured):.*?<!-- end -->|`[^`\n]+`|\]\([^)]*\)", re.DOTALL)
"""Parts of a page that are not its own prose: generated parts, code, and targets of links."""
PACKAGES = ("runtime", "actors", "replan", "tests/shell")


def rows():
    """Return the glossary's rows without the heads of its tables."""
    found = [match.groupdict() for match in ROW.finditer(GLOSSARY.read_text(encoding="utf-8"))]
    return [row for row in found if row["code"].startswith("`")]


def excluded():
    """Return every word that is not used for a thing."""
    return [word for row in rows() for word in re.findall(r'"([^"]+)"', row["excluded"])]


@cache
def names():
    """Return every name that the code defines or uses: modules, classes, functions, variables, fields and arguments."""
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            found.add(path.stem)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                found |= {getattr(node, key, None) for key in ("name", "id", "attr", "arg")}
    return found


def prose(page):
    """Return the text of a page that its author wrote as prose, on one line."""
    return " ".join(INVISIBLE.sub(" ", FENCE.sub("", page.read_text(encoding="utf-8"))).split())


def test_every_term_has_one_row():
    terms = [term for row in rows() for term in row["term"].split(", ")]
    assert len(terms) == len(set(terms))
    assert len(terms) > 80


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["term"])
def test_the_name_in_code_exists(row):
    assert row["code"].strip("`") in names()


@pytest.mark.parametrize("page", [page for page in pages() if page != GLOSSARY], ids=lambda page: page.stem)
def test_no_page_uses_a_word_that_the_glossary_rules_out(page):
    text = prose(page)
    used = [word for word in excluded() if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text, re.IGNORECASE)]
    assert used == []


def test_the_check_for_words_can_fail():
    assert "bell" in excluded()
    assert "mail" in excluded()
