"""The glossary is true: its names in code exist, and neither pages nor docstrings use words that it rules out."""

import ast
import re
from functools import cache

import pytest

from tests.docs.blocks import FENCE, ROOT, pages

GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
ROW = re.compile(r"^- \*\*(?P<term>[^*]+)\*\* \((?P<code>`\w+`)\): .*?(?P<excluded> Not: .*)?$", re.MULTILINE)
TERMS_MAX = 60
"""A word of ours stands where the field has none, so a reader has few to learn."""
INVISIBLE = re.compile(r"<!--generated:.*?<!--end-->|`[^`\n]+`|\]\([^)]*\)", re.DOTALL)
"""Parts of a page that are not its own prose: generated parts, code, and targets of links."""
PACKAGES = ("runtime", "actors", "replan")
PACKAGES += ("packages/server/replan_server", "packages/acquire/replan_acquire", "packages/lab/replan_lab")


def rows():
    """Return the glossary's rows; every item of its lists is one."""
    text = GLOSSARY.read_text(encoding="utf-8")
    matches = [match.groupdict(default="") for match in ROW.finditer(text)]
    assert len(matches) == len(re.findall(r"^- ", text, re.MULTILINE))
    return matches


@cache
def excluded():
    """Return every word that is not used for a thing."""
    return [word for row in rows() for word in re.findall(r'"([^"]+)"', row["excluded"])]


@cache
def names():
    """Return every name that the code defines or uses: modules, classes, functions, variables, fields and arguments."""
    result = set()
    for package in (*PACKAGES, "tests/long/shell"):
        for path in (ROOT / package).rglob("*.py"):
            result.add(path.stem)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                result |= {getattr(node, key, None) for key in ("name", "id", "attr", "arg")}
    return result


def prose(page):
    """Return the text of a page that its author wrote as prose, on one line."""
    return " ".join(INVISIBLE.sub(" ", FENCE.sub("", page.read_text(encoding="utf-8"))).split())


def excluded_in(text):
    """Return the words in a text that the glossary rules out."""
    return [word for word in excluded() if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text, re.IGNORECASE)]


def docstrings(path):
    """Yield the docstrings of a module, those of fields included, each with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def test_every_term_has_one_row():
    terms = [term for row in rows() for term in row["term"].split(", ")]
    assert len(terms) == len(set(terms))
    assert 40 < len(terms) <= TERMS_MAX


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["term"])
def test_the_name_in_code_exists(row):
    assert row["code"].strip("`") in names()


@pytest.mark.parametrize("page", [page for page in pages() if page != GLOSSARY], ids=lambda page: page.stem)
def test_no_page_uses_a_word_that_the_glossary_rules_out(page):
    assert excluded_in(prose(page)) == []


def test_the_check_for_words_can_fail():
    assert excluded_in("A bell rings for the run above, by e-mail.") == ["run above", "bell"]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_docstring_uses_a_word_that_the_glossary_rules_out(package):
    """Names in backticks do not count: stored names such as `mail_refused` stay as they are."""
    used = [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text in docstrings(path)
        for word in excluded_in(INVISIBLE.sub(" ", " ".join(text.split())))
    ]
    assert used == []
