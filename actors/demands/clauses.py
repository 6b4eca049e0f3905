"""Cuts a sentence at the places where a second demand, of another kind, begins."""

import re
from collections.abc import Iterator

from actors.demands.sentences import Sentence, sentence_at
from actors.demands.wording import Force, force_of

CLAUSES_MAX = 12
"""Clauses of one sentence; what follows stays in the last."""
CLAUSE_LENGTH_MIN = 12
"""Characters of a clause that stands for itself."""

_JOINT = re.compile(
    r"; +(?=\S)|,? +(?:-|\u2013|\u2014|--) +(?=\S)|, (?:and|but|or|so|yet|plus) |,? but |,? and (?=(?:please|do not"
    r"|don't|never|must|it must|we must|no |keep |leave |make sure|ensure|avoid )\b)|, (?=(?:do not|don't"
    r"|never|please|no |without )\b)"
)


def clauses(text: str, sentence: Sentence) -> Iterator[Sentence]:
    """Yield the clauses of a sentence that each ask for something by themselves, else the whole sentence."""
    start = 0
    kept: list[tuple[int, int]] = []
    for joint in _JOINT.finditer(sentence.small):
        if len(kept) == CLAUSES_MAX:
            break
        left, right = sentence.small[start : joint.start()], sentence.small[joint.end() :]
        if len(left) >= CLAUSE_LENGTH_MIN and force_of(left) is Force.STRICT and force_of(right) is Force.STRICT:
            kept.append((start, joint.start()))
            start = joint.end()
    kept.append((start, len(sentence.small)))
    for begin, stop in kept:
        yield sentence_at(text, sentence.start + begin, sentence.start + stop)
