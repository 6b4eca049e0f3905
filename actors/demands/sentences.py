"""Cuts a block into sentences and clauses, and keeps versions, file names, units and abbreviations whole."""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from actors.demands.force import Force, force_of
from actors.demands.instructions import instructs
from actors.demands.patterns import late, word_set

SENTENCE_LENGTH_MAX = 400
"""Characters of a sentence; a longer one is cut between words."""
ENDS_MAX = 3000
"""Sentences of a paragraph; what follows is cut by its length alone."""
BREAK_ROOM = 12
"""Columns that the first word of a line would have left free in the line before, from which on the break is meant."""

_PLAIN = str.maketrans(
    {"\n": " ", "\r": " ", "\t": " ", "\v": " ", "\f": " ", "\u00a0": " ", "\u202f": " ", "\u2028": " ", "\x85": " "}
    | {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"'}
)
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_END = late(r"[.!?…]{1,4}[\"')\]*_`]{0,3} +(?=[\"'(\[*_`~@]{0,3}(?P<next>[A-Za-z0-9]))")
_BEFORE = late(r"[\"'(\[*_`]{0,3}(?P<word>[\w./-]*)$")
_ABBREVIATIONS = word_set(
    "e.g i.e eg ie vs approx cf mr mrs ms dr st no nr fig sec incl excl max min resp ca viz al ver v p pp ch art",
    "dept est jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun inc ltd co corp",
)
_BEFORE_NUMBERS = frozenset(("no", "nr", "min", "max", "sec"))
"""Short forms that end a sentence unless a number follows."""
_LOWER_AFTER = frozenset(("etc", "a.m", "p.m", "u.s", "eng", "ref", "esp", "misc", "temp", "avg", "std", "dev", "prod"))
"""Short forms that end no sentence unless a capital follows."""
_EDGE = " \t*_~>\"'"
_MARKUP = late(r"[ *_~>]+")
_LINK = late(r"\S{40}")
"""A word that no author can wrap: its line may be longer than the width of the others."""


class Sentence(NamedTuple):
    """A sentence, or a clause of one."""

    start: int
    """Where it begins in the source text."""
    end: int
    """Where it ends."""
    small: str
    """Its characters in lower case, one for one: white space as blanks, apostrophes and quotation marks as in ASCII."""
    written: str
    """The same in the letters of the source."""


def plain(text: str) -> str:
    """Return a text with blanks for other white space and ASCII quotation marks; positions stay."""
    return text.translate(_PLAIN)


def sentence_at(text: str, start: int, end: int) -> Sentence:
    """Return the sentence that stands between two places of a text, without markup and white space at its ends."""
    while start < end and (text[start].isspace() or text[start] in "*_~>"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "*_~"):
        end -= 1
    written = plain(text[start:end])
    return Sentence(start, end, written.translate(_LOWER), written)


def sentences(text: str, start: int, end: int) -> Iterator[Sentence]:
    """Yield the sentences of a range of a text, in their order; none is empty, none is longer than the limit."""
    part = plain(text[start:end])
    breaks = sorted({0, len(part), *_meant_breaks(text[start:end]), *itertools.islice(_ends(part), ENDS_MAX)})
    for begin, stop in itertools.pairwise(breaks):
        for cut in range(begin, stop, SENTENCE_LENGTH_MAX):
            sentence = sentence_at(text, start + cut, start + min(cut + SENTENCE_LENGTH_MAX, stop))
            if any(sign.isalnum() for sign in sentence.written):
                yield sentence


def _ends(part: str) -> Iterator[int]:
    for match in _END.finditer(part):
        before = _BEFORE.search(part, max(0, match.start() - 40), match.start())
        word = before["word"].lower() if before else ""
        if part[match.start()] == "." and not part.startswith("..", match.start()):
            if word in _ABBREVIATIONS and (word not in _BEFORE_NUMBERS or match["next"].isdigit()):
                continue
            unit = part[max(0, match.start() - 3) : max(0, match.start() - 2)].isdigit()
            if len(word) == 1 and word.isalpha() and match["next"].isupper() and word != "i" and not unit:
                continue
            if match["next"].islower() and (word in _LOWER_AFTER or len(word) == 1):
                continue
        yield match.end()


def _meant_breaks(part: str) -> Iterator[int]:
    """Yield where a line begins that its author did not wrap: its first word would have fitted into the line before.

    Where that is so of most lines, each line stands for itself; else only one that begins with a capital.
    """
    lines = part.splitlines(keepends=True)
    width = max((len(line.rstrip()) for line in lines if not _LINK.search(line)), default=0)
    rooms = [
        width - len(line.rstrip()) - 1 - len((following.split(maxsplit=1) or [""])[0])
        for line, following in itertools.pairwise(lines)
    ]
    unwrapped = 2 * sum(room >= BREAK_ROOM // 2 for room in rooms) > len(rooms) and max(rooms, default=0) >= BREAK_ROOM
    place = 0
    for (line, following), room in zip(itertools.pairwise(lines), rooms, strict=True):
        place += len(line)
        begin = following.lstrip(" \t*_`\"'(")
        wide = room + max(60 - width, 0) >= BREAK_ROOM and begin[:1].isupper()
        if begin and (unwrapped or wide) and not line.rstrip().endswith((",", "(", "-", "/", "=")):
            yield place


JOINTS_MAX = 8
"""Places in one sentence at which a clause may begin; what follows stays in the last."""
CLAUSE_LENGTH_MIN = 12
"""Characters of a clause that stands for itself."""

_JOINT = late(
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
