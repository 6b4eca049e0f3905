"""Draws sixty sentences for a review of the language: `python -m tests.tidy.draw --seed 11`.

Twenty are from pages, twenty from messages, and twenty from docstrings. The reviewer wrote none of them, and may open
the file of a sentence. A sentence that needs a second reading is rewritten, and so are its neighbours like it. The same
seed draws the same sentences from the same tree.
"""

import argparse
import ast
import random
import re

from tests.docs.blocks import pages
from tests.docs.test_words import sentences
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
                for sentence in sentences(item.value.value, counted=False):
                    yield f"{module.name}:{item.lineno}", sentence


def of_messages():
    """Yield (place, sentence) of every other string with words; `{...}` are the values that stand in it."""
    for module in SOURCES:
        if module.name in LONG_TEXT_ALLOWED:
            continue
        docstrings = {item.value for item in module.bare_constants()}
        formatted = [node for node in module.nodes if isinstance(node, ast.JoinedStr)]
        parts = {part for node in formatted for part in ast.walk(node) if part is not node}
        for node in module.nodes:
            if node in docstrings or node in parts:
                continue
            if isinstance(node, ast.JoinedStr):
                text = "".join(_in_words(part) for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if not NO_MESSAGE.search(text):
                for sentence in sentences(text, counted=False):
                    yield f"{module.name}:{node.lineno}", sentence


def _in_words(part):
    return str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="draws the same sentences again")
    draw = random.Random(parser.parse_args().seed)
    for source in (of_pages, of_messages, of_docstrings):
        found = sorted(found for found in source() if len(WORD.findall(found[1])) >= WORDS_MIN)
        print(f"{source.__name__}: {SHARE} of {len(found):,}")
        for place, sentence in sorted(draw.sample(found, SHARE)):
            print(f"{place}\n    {sentence}")


if __name__ == "__main__":
    main()
