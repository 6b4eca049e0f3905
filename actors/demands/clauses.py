"""Cuts a sentence at the places where a second demand, of another kind, begins."""

import itertools
import re
from collections.abc import Iterator

from actors.demands.force import Force, force_of
from actors.demands.instructions import instructs
from actors.demands.sentences import Sentence, sentence_at

JOINTS_MAX = 8
"""Places in one sentence at which a clause may begin; what follows stays in the last."""
CLAUSE_LENGTH_MIN = 12
"""Characters of a clause that stands for itself."""

_JOINT = re.compile(
    r"; +(?=\S)|,? +(?:-|\u2013|\u2014|--) +(?=\S)|, (?:and|but|or|so(?! that)|yet|plus) |,? but "
    r"|,? and (?=(?:please|do not|don't|never|must|it must|we must|no |keep |leave |make sure|ensure|avoid )\b)"
    r"|, (?=(?:(?:do not|don't|never|please(?= \w)|without)\b|no ))|(?P<bare>, (?=[a-z]))"
)


def clauses(text: str, sentence: Sentence) -> Iterator[Sentence]:
    """Yield the clauses of a sentence that each ask for something by themselves, else the whole sentence."""
    start = 0
    kept: list[tuple[int, int]] = []
    for joint in itertools.islice(_JOINT.finditer(sentence.small), JOINTS_MAX):
        left, right = sentence.small[start : joint.start()], sentence.small[joint.end() :]
        if min(len(left), len(right)) < CLAUSE_LENGTH_MIN or force_of(left) is Force.NONE:
            continue
        if (instructs(left) and instructs(right)) if joint["bare"] else _stands(right):
            kept.append((start, joint.start()))
            start = joint.end()
    kept.append((start, len(sentence.small)))
    for begin, stop in kept:
        yield sentence_at(text, sentence.start + begin, sentence.start + stop)


def _stands(right: str) -> bool:
    """Tell whether a clause asks for something without the words before it."""
    return force_of(right) is Force.STRICT or right.startswith(("no ", "not ", "without "))
