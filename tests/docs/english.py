"""Cuts texts into sentences, and finds the sentences that are too long or have a construction that is out."""

import re

from tests.docs.blocks import FENCE, ROOT
from tests.support.yaml_files import read_yaml

SENTENCE_MAX = 25
"""The most words of a sentence. Code counts as one word, and what stands between brackets does not count."""
OUT = read_yaml(ROOT / "tests" / "docs" / "english.yaml")
"""`out` has the constructions that are out, `excused` the sentences that may stay, by a part of each."""

INVISIBLE = re.compile(r"<!--.*?-->|</?\w[^>]*>", re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
END = re.compile(r"(?<=[.!?:;])\**\s+(?=[\"'*`(\[A-Z0-9-])|\n\s*\n|\n(?=\s*(?:[-*#]|\d+\.) )|(?<=\|)")


def sentences(text, *, counted=True):
    """Return the sentences of a text in Markdown. List items and cells of tables end one.

    To be `counted`, code becomes one word, and what stands between brackets is left out.
    """
    plain = LINK.sub(r"\1", INVISIBLE.sub(" ", FENCE.sub("\n\n", text)))
    plain = (re.sub(r"`[^`]*`", "CODE", plain) if counted else plain).replace("|", " | ")
    parts = (re.sub(r"\([^()]*\)", "", part) if counted else part for part in END.split(plain))
    return [one for part in parts if (one := " ".join(part.split()).strip("| "))]


def is_too_long(sentence):
    """Tell whether a sentence has too many words; a list of names is none."""
    count = [word for word in sentence.split() if re.search(r"\w", word)]
    return len(count) > SENTENCE_MAX and sentence.count(",") < len(count) / 2


def breaches(text):
    """Yield each sentence that is too long or has a construction that is out, with the reason."""
    for sentence in sentences(text):
        if any(part in sentence for part in OUT["excused"]):
            continue
        if is_too_long(sentence):
            yield f"{len(sentence.split())} words: {sentence}"
        for name, pattern in OUT["out"].items():
            if re.search(pattern, sentence):
                yield f"{name}: {sentence}"
