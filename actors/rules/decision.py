"""Finds out whether a text asks for a decision: a question, a comparison of alternatives, or a design without code.

What is decided is not built, so it has a template of its own. The alternatives are quoted as they stand.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from actors.demands.patterns import any_of
from actors.rules.text import ProblemText, lower, sentences, shorten

DECISION = "decision"
"""The kind of such a text."""
SENTENCES_MAX = 60
"""Sentences at the beginning that are looked at."""
SENTENCE_MAX = 400
"""Characters of a sentence that are looked at."""
ALTERNATIVES_MAX = 6
NAME_MAX = 60
"""Characters of the name of an alternative."""

_EITHER = any_of(
    r"^(?:so,? |now,? )?(?:should|shall) (?:we|i|our \w+|the \w+)\b.*\?$",
    (
        r"^(?:which|what) (?:\S+ ){0,6}(?:should|shall|do|would|could) (?:we|i|you|one) (?:\S+ ){0,2}"
        r"(?:use|choose|pick|take|adopt|go with|buy|select|prefer|recommend)\b.*\?$"
    ),
    r"^(?:which|what) (?:is|are|would be) (?:the )?(?:better|best)\b.*\bor\b.*\?$",
    r"^is (?:it )?(?:\S+ ){1,6}better\b.*\bor\b.*\?$",
    r"^[^?]{1,60} or [^?]{1,60}\?$",
    r"\b(?:vs\.?|versus)\b",
    r"^(?:decide|choose|pick) (?:between|whether|which)\b",
)
_COMPARES = re.compile(
    r"(?:^|[:,;.] |\band |\bplease |\bto )(?:compare|evaluate|assess|weigh)\b(?! (?:to|with)\b).{2,}"
    r"|\bcomparison of\b|\bpros and cons\b"
)
_RECOMMENDS = re.compile(
    r"\brecommend(?:s|ation)?\b|\bpropose (?:one|which)\b|\bpick one\b|\bpros and cons\b"
    r"|\bdecision (?:record|paper)\b"
)
_NO_CODE = any_of(
    r"\bno code (?:yet|now|for now|at this (?:stage|point))\b",
    r"\bno implementation (?:yet|now)\b",
    r"\bdesign (?:document )?only\b",
    r"\b(?:do not|don.t) (?:write|change|implement|build|touch) (?:any |the )?(?:code|anything) (?:yet|now|for now)\b",
)
_CHOSEN = re.compile(
    r"\b(?:use|choose|pick|take|adopt|go with|buy|select|prefer|between|compare|evaluate|assess|weigh|better:?"
    r"|switch to|move to|stay with|keep)\s+(?P<list>.{2,200})$"
)
_IN_BRACKETS = re.compile(r"\((?P<list>[^()]{5,200})\)")
_REST = re.compile(
    r"(?:[?.;:!]| (?:for|as|when|if|because|by|until|so|and recommend|and propose|and pick"
    r"|to (?:store|send|build|handle|run))\b).*$"
)
_APART = re.compile(r",? (?:or|vs\.?|versus|and|with) |, ")
_EDGES = re.compile(r"^(?:either|both|the|an?|whether to|to|at least|using) |[\s,.?]+$")
_PURPOSE = re.compile(r"(?:for|in|on|to|as|when|if|with)\b", re.IGNORECASE)  # "for the event store" is no alternative
_LISTED = frozenset(("alternatives", "options", "candidates", "choices"))
_POLITE = re.compile(
    r"^(?:can|could|would|will|may) (?:you|we|i|someone|it|there|users?|the)\b|\bplease\b|\bpossible to\b"
)


@dataclass(frozen=True, slots=True)
class DecisionTask:
    """What is to be decided."""

    words: tuple[str, ...]
    """The words of the text that show it."""
    alternatives: tuple[str, ...]
    """The alternatives that the text names, as it names them; may be empty."""


def decision_in(text: ProblemText, title: str) -> DecisionTask | None:
    """Return what a text asks to be decided; None where it asks for something else."""
    said = list(_said(text))
    shown: list[str] = []
    recommends = any(_RECOMMENDS.search(lower(sentence)) for sentence in said)
    for position, sentence in enumerate(said):
        small = lower(sentence)
        asks = (position == 0 or sentence.startswith(title) or len(said) <= 3) and _EITHER.search(small)
        compares = recommends and _COMPARES.search(small)
        if (asks and not _POLITE.search(small)) or compares:
            shown.append(sentence)
        elif match := _NO_CODE.search(small):
            shown.append(sentence[match.start() : match.end()])
    if not shown:
        return None
    listed = [item.text.rstrip(".;") for item in text.passages if item.item and item.section.strip(" :") in _LISTED]
    found = [shorten(name, NAME_MAX) for name in listed] or next((n for each in shown if (n := list(_named(each)))), [])
    words = tuple(shorten(each, NAME_MAX) for each in shown[:2])
    return DecisionTask(words, tuple(dict.fromkeys(found))[:ALTERNATIVES_MAX])


def excludes_building(quote: str) -> bool:
    """Return whether a demand only says that nothing is to be built yet, to which a decision keeps anyway."""
    return _NO_CODE.search(lower(quote)) is not None


def only_asks(text: ProblemText) -> bool:
    """Return whether a text consists of questions alone, none of which is a polite request."""
    said = list(_said(text))
    return bool(said) and all(each.endswith("?") and not _POLITE.search(lower(each)) for each in said)


def _said(text: ProblemText) -> Iterator[str]:
    """Yield the first sentences of the text, list items included."""
    left = SENTENCES_MAX
    for passage in text.passages:
        for sentence in passage.sentences:
            yield sentence[:SENTENCE_MAX]
            left -= 1
            if not left:
                return
    if not text.passages and text.prose:
        yield from sentences(text.prose.lstrip("# ")[:SENTENCE_MAX])


def _named(sentence: str) -> Iterator[str]:
    """Yield the alternatives that a sentence lists; none where it lists fewer than two."""
    lists = [match["list"] for match in _IN_BRACKETS.finditer(sentence)]
    lists.append(sentence.rpartition(": ")[2] if ": " in sentence else "")
    chosen = _CHOSEN.search(lower(sentence))
    lists.append(_REST.sub("", sentence[chosen.start("list") if chosen else 0 :]))
    for part in lists:
        names = [name for piece in _APART.split(part) if (name := _plain(piece)) and not _PURPOSE.match(name)]
        if len(names) >= 2 and all(len(name) <= NAME_MAX for name in names):
            yield from names
            return


def _plain(piece: str) -> str:
    while (plain := _EDGES.sub("", piece.strip())) != piece:
        piece = plain
    return piece
