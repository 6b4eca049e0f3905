"""How long the pages are, how they begin, and what their sentences and the help texts are like.

`python -m tests.docs.test_words` prints what breaks the rules about sentences; `english.yaml` names what is excused.
"""

import re

import click
import pytest

from replan.cli.app import app
from tests.docs.blocks import ROOT, SEARCHED, pages
from tests.docs.english import OUT, breaches, sentences
from tests.support.yaml_files import read_yaml

DOCS = ROOT / "docs"
ALL_MAX, README_MAX = 50_000, 650
MAX = {"how-to": 500, "explanation": 900}
"""The most words of a page, by its kind."""
KINDS = {"tutorial", "how-to", "explanation", "reference"}
NO_KIND = {"README.md", "common-questions.md", "decisions.md"}
"""The pages in `docs` itself: two that lead to others, and the reasons of decisions, which count as an explanation."""
QUESTIONS = 34


def words(path):
    """Return the number of words of a file; blanks separate them, as in `docs/size.py`."""
    return len(path.read_text(encoding="utf-8").split())


def sized(kind):
    """Return the pages of a kind whose words are limited."""
    return sorted((DOCS / kind).glob("*.md")) + ([DOCS / "decisions.md"] if kind == "explanation" else [])


def test_all_pages_together_are_short():
    """The documents that examples search are no pages."""
    counted = [page for page in DOCS.rglob("*.md") if page.parent.name not in SEARCHED]
    assert sum(words(page) for page in [ROOT / "README.md", *counted]) <= ALL_MAX


def test_the_readme_is_short():
    assert words(ROOT / "README.md") <= README_MAX


@pytest.mark.parametrize("kind", sorted(MAX))
def test_no_page_of_a_kind_is_too_long(kind):
    assert {page.name: words(page) for page in sized(kind) if words(page) > MAX[kind]} == {}


def test_each_page_is_of_one_kind():
    """The kind is the folder."""
    assert {path.name for path in DOCS.glob("*.md")} == NO_KIND
    folders = {path.relative_to(DOCS).parts[0] for path in DOCS.rglob("*.md") if path.parent != DOCS}
    assert folders == KINDS | {"examples"}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_first_sentence_of_a_page_says_who_needs_it(kind):
    """It speaks to the reader: "You ..."."""
    first = {page.name: re.search(r"^# .*\n+(.*)", page.read_text(encoding="utf-8"))[1] for page in sized(kind)}
    assert {name: text for name, text in first.items() if not re.match(r"You\b", text)} == {}


def test_each_question_of_strangers_has_its_page():
    text = (DOCS / "common-questions.md").read_text(encoding="utf-8")
    answered = re.findall(r"^## .+\?\n\n.+\]\(.+\)\.$", text, re.MULTILINE)
    assert len(answered) == text.count("\n## ") == QUESTIONS


def helps(command):
    """Yield the help texts of a command, of its options, and of the commands below it."""
    yield command.help or ""
    yield from (parameter.help or "" for parameter in command.params if isinstance(parameter, click.Option))
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from helps(command.get_command(click.Context(command), name))


def meanings():
    """Yield the texts of `configs/meanings.yaml`, which messages and `replan explain` show."""
    found = [read_yaml(ROOT / "configs" / "meanings.yaml")]
    while found:
        value = found.pop()
        if isinstance(value, dict):
            found.extend(value.values())
        elif isinstance(value, str):
            yield value


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_sentences_of_a_page_are_short_and_plain(page):
    assert list(breaches(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("texts", [lambda: helps(app), meanings], ids=["help texts", "meanings"])
def test_the_sentences_of_the_program_are_short_and_plain(texts):
    assert [breach for text in texts() for breach in breaches(text)] == []


def test_each_excuse_is_needed():
    texts = [*(page.read_text(encoding="utf-8") for page in pages()), *helps(app), *meanings()]
    every = [sentence for text in texts for sentence in sentences(text)]
    assert [part for part in OUT["excused"] if not any(part in sentence for sentence in every)] == []


def test_the_check_of_sentences_can_fail():
    assert list(breaches("For whoever has runs. It is short.")) == ["for whoever: For whoever has runs."]
    assert [text.partition(":")[0] for text in breaches(f"It {'really ' * 30}is.")] == ["32 words"]
    assert list(breaches("`a`. A list:\n\n- one\n- two")) == []


if __name__ == "__main__":
    for page in pages():
        for breach in breaches(page.read_text(encoding="utf-8")):
            print(f"{page.relative_to(ROOT)}: {breach}")
    for title, texts in {"help": helps(app), "meaning": meanings()}.items():
        for text in texts:
            for breach in breaches(text):
                print(f"{title}: {breach}")
