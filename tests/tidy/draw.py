"""Draws sixty sentences for a review of the language: `python -m tests.tidy.draw --seed 11`.

Twenty are from pages, twenty from messages, and twenty from docstrings. The reviewer wrote none of them, and may open
the file of a sentence; the sentence before it, if there is one, is shown in brackets. A sentence that needs a second
reading is rewritten, and so are its neighbours like it. The same seed draws the same sentences from the same tree.
"""

import argparse
import ast
import inspect
import random
import re

from tests.docs.blocks import pages
from tests.docs.english import sentences
from tests.tidy.source import ROOT, SOURCES
from tests.tidy.test_texts import LONG_TEXT_ALLOWED

SHARE = 20
"""The number of sentences of each of the three kinds."""
WORDS_MIN = 4
"""A text with fewer words is a name or a label."""
WORD = re.compile(r"(?<![\w./{-])[A-Za-z][a-z]+(?![\w/}-])")
NO_MESSAGE = re.compile(r"\\[dswb]|\(\?|^\s*<|\b[A-Z]{2,}(?: [A-Z]+)+\b")
"""Patterns, HTML and SQL."""


def of_pages():
    """Yield (page, sentence) of the README and of every page in docs."""
    for page in pages():
        for sentence in sentences(page.read_text(encoding="utf-8"), counted=False):
            yield page.relative_to(ROOT).as_posix(), sentence


def of_docstrings():
    """Yield (place, sentence) of every docstring of the four packages, those of fields included."""
    for module in SOURCES:
        for item in module.bare_constants():
            if isinstance(item.value.value, str):
                for sentence in sentences(_lines(item.value.value), counted=False):
                    yield f"{module.name}:{item.lineno}", sentence


def _lines(docstring):
    """Return a docstring whose indented lines, such as those of a table or a drawing, stand apart."""
    return re.sub(r"\n(?=\s+\S)", "\n\n", inspect.cleandoc(docstring))


def of_messages():
    """Yield (place, sentence) of every other string with words; `{...}` are the values in it."""
    for module in SOURCES:
        if module.name not in LONG_TEXT_ALLOWED:
            skipped = {*_parts_of_strings(module), *_lists_of_words(module)}
            for node in module.nodes:
                text = "" if node in skipped else _text(node)
                if not NO_MESSAGE.search(text):
                    for sentence in sentences(text, counted=False):
                        yield f"{module.name}:{node.lineno}", sentence


def _parts_of_strings(module):
    """Yield the docstrings, and the parts of f-strings."""
    yield from (item.value for item in module.bare_constants())
    for node in module.nodes:
        if isinstance(node, ast.JoinedStr):
            yield from (part for part in ast.walk(node) if part is not node)


def _lists_of_words(module):
    """Yield the strings in constants of a module that have many words and no punctuation mark."""
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            yield from (
                node
                for node in ast.walk(statement)
                if re.fullmatch(r"(?:[\w'\u2019]+ ){8,}[\w'\u2019]+ ?", _text(node))
            )


def _text(node):
    """Return the text of a string, or of an f-string with the names of its values; empty for any other node."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or f"{{{_name(part.value)}}}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _name(value):
    """Return a name for a value in an f-string: that of the variable, of the attribute, or of the first argument."""
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(args=[first, *_]):
            return _name(first)
        case _:
            return "..."


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="draws the same sentences again")
    draw = random.Random(parser.parse_args().seed)
    for source in (of_pages, of_messages, of_docstrings):
        found = list(source())
        eligible = [index for index, (_, text) in enumerate(found) if len(WORD.findall(text)) >= WORDS_MIN]
        print(f"{source.__name__}: {SHARE} of {len(eligible):,}")
        for index in sorted(draw.sample(eligible, SHARE)):
            place, text = found[index]
            print(place)
            if index and found[index - 1][0] == place:
                print(f"    ({found[index - 1][1]})")
            print(f"    {text}")


if __name__ == "__main__":
    main()
