"""Cuts a text into headings, list items, table cells and paragraphs, then into sentences. Code and logs are skipped.

A block is a range of characters of the source. A heading, or the line before a list, decides how the sentences below it
are read (`role_of`). The running time is linear in the length of the text, because patterns are matched only at the
beginnings of lines.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from actors.demands.patterns import Force, force_of, instructs
from actors.demands.verbs import word_set
from actors.values.format import lazy_pattern
from actors.values.requirements import RequirementKind


class Role(StrEnum):
    """The way in which the sentences below a heading are read."""

    ASKED = "asked"  # a sentence is a demand unless it describes the present state
    NEUTRAL = "neutral"  # a sentence is a demand if its own words say so
    TOLD = "told"  # a sentence is a demand if it has a strict word: must, please, do not
    OBSERVED = "observed"  # the same only in paragraphs: steps to reproduce, logs, observations
    SILENT = "silent"  # no sentence is a demand: alternatives, questions, examples


_MUST = r"(?:must|should|has to|have to|needs? to)"
_ASKED = (
    (
        RequirementKind.SCOPE,
        (
            r"(?:explicitly )?(?:(?:what )?not(?: in (?:this|the) \w+| needed)?|(?:out of|not in) scope|non-? ?goals?"
            r"|won'?t(?: do)?|excluded|exclusions?|not (?:included|part of (?:this|it))|later|out-of-scope)"
        ),
    ),
    (
        RequirementKind.MUST_AVOID,
        (
            r"(?:please )?(?:do not|don'?ts?|must nots?|never|avoid|no-gos?|forbidden|prohibited|not allowed"
            r"|off.limits)\b.*"
            rf"|what {_MUST} not .*|things? (?:to avoid|not to .*)"
        ),
    ),
    (
        RequirementKind.MUST_KEEP,
        (
            rf"(?:what )?{_MUST} (?:stay|remain|keep|not change)\b.*|keep|invariants?|(?:backwards? )?compatibility"
            rf"|unchanged"
            r"|(?:hard |known |technical |other |some |our |the |project )*(?:constraints?|rules|restrictions"
            r"|limitations|conditions|guard ?rails|limits)"
        ),
    ),
    (RequirementKind.DEADLINE, r"deadlines?|due(?: dates?)?|dates|schedule|when|milestones|timing|(?:\w+ )?windows?"),
    (RequirementKind.BUDGET, r"budgets?|costs?|effort|resources"),
    (
        RequirementKind.GOAL,
        (
            r"(?:functional |non-?functional |technical |security |performance |key |main |user |the "
            r"|our )*(?:requirements?|goals?|objectives?|acceptance(?: criteria| tests?)?|criteria|definition of done"
            r"|dod|success criteria|done when|needs|targets?|slos?|deliverables|tasks?|to.?dos?|(?:must|should"
            r"|nice.to).haves?|musts?|asks?|wish(?:es| ?list)?|requests?|demands|expectations|scope|action items"
            r"|actions?|next steps|user stor(?:y|ies)|follow.?ups?|principles)"
            rf"|(?:what|which|how) (?:i|we|you|it|the \w+|users?|they) (?:would like|wants?|needs?|expects?"
            rf"|{_MUST})\b.*"
            r"|what (?:i|we|they)(?:'re| are|'m| am) (?:after|looking for|asking for)\b.*|what (?:is|'s) (?:needed"
            r"|wanted|missing)"
            rf"|what {_MUST} (?:happen|change|be done|work|be true|hold)\b.*|expected(?: behaviou?r| results?"
            rf"| outcome)?"
            r"|desired (?:behaviou?r|state|outcome)|feature request|what to do|to do|request|wanted|needed|required"
            r"|mandatory"
            rf"|optional|important|(?:describe the )?solution you'?d like|what|functional|non-?functional"
            rf"|(?:the )?(?:\w+ )?{_MUST}"
            r"|please note|(?:to )?keep in mind|(?:i|we) (?:want|need|expect"
            r"|would like)(?: you)?(?: to)?(?: the following.*)?|(?:the )?(?:proposal|proposed \w+|design|approach|plan"
            r"|implementation|specification|migration|roll-?out|transition|change|decision|security|testing|monitoring"
            r"|behaviou?r)"
        ),
    ),
)
_ROLES = (
    *((Role.ASKED, kind, lazy_pattern(pattern)) for kind, pattern in _ASKED),
    (
        Role.SILENT,
        None,
        lazy_pattern(
            r"(?:what )?(?:i|we)(?:'ve| have)? (?:already )?tried.*|attempts|workarounds?|(?:describe |considered "
            r"|rejected )?(?:alternatives|options)\b.*|(?:open )?questions?.*|references?|links?|related|see also"
            r"|prior art|glossary|appendix.*|cc|who|participants|(?:for )?examples?|e\.g\.|drawbacks|pros and cons"
            r"|(?:type|kind) of (?:change|issue|request|pr)s?|before submitting|checklist"
        ),
    ),
    (
        Role.OBSERVED,
        None,
        lazy_pattern(
            r"(?:the )?steps?(?: to reproduce)?|how to reproduce.*|to reproduce|repro(?: steps)?|poc|mwe"
            r"|(?:error )?logs?|output|stack ?traces?|traceback|errors?|config(?:uration)?|code|actual(?: behaviou?r"
            r"| results?)?|what (?:actually )?happen(?:s|ed).*|observed|current (?:behaviou?r|state|situation)|today"
            r"|before|now|symptoms?|findings|measurements|root causes?|causes?|facts|(?:incident )?timeline.*|impact"
            r"|severity|priority|versions?|environment|setup"
        ),
    ),
    (
        Role.TOLD,
        None,
        lazy_pattern(
            r"(?:the )?(?:background|context|motivation|rationale|introduction|overview|history"
            r"|problem(?: statement)?|why|description|describe the bug"
            r"|is your feature request related to a problem.*|summary|abstract|tl;?dr|reasons?|risks?|assumptions"
            r"|notes?|additional (?:context|information|info)|use cases?)"
        ),
    ),
)
_EDGE = lazy_pattern(r"^(?:[\W_]|\d{1,2}(?:\.\d{1,2})*[.):]? )+|[\W_]+$")
_NAME_JOINT = lazy_pattern(r"\s*(?:/|&|:|,| and | or | - | \u2013 )\s*")
_TAIL = lazy_pattern(r"\s+(?:for|of|in|on|from|to|about|with|at|by) .*")
_ASIDE = lazy_pattern(r"\s*\([^)]*\)\s*")
_NAME_LENGTH_MAX = 80
_NAME_WORDS_MAX = 8
_PARTS_MAX = 4


def role_of(heading: str) -> tuple[Role, RequirementKind | None]:
    """Return how the sentences below a heading are read, and which kind of demands they state.

    The kind is None if the heading does not say it.
    """
    plain = _ASIDE.sub(" ", " ".join(heading[:200].split()))
    name = _EDGE.sub("", plain.replace("\u2019", "'")).lower()
    short = len(name.split()) <= _NAME_WORDS_MAX
    parts = [part for part in _NAME_JOINT.split(name) if part][:_PARTS_MAX] if short else []
    for part in (name, *parts, *(_TAIL.sub("", part) for part in parts[:1])):
        for role, kind, pattern in _ROLES:
            if pattern.fullmatch(part):
                return role, kind
    return Role.NEUTRAL, None


def _is_name(line: str) -> bool:
    return len(line) <= _NAME_LENGTH_MAX and role_of(line)[0] is not Role.NEUTRAL


LINE_LENGTH_MAX = 2000
"""The number of characters at the beginning of a line that patterns look at. The rest of a longer line is not
searched."""
HEADING_LENGTH_MAX = 80
HEADING_WORDS_MAX = 5
WRAPPED_LENGTH_MIN = 60
"""A line with fewer characters than this was ended on purpose. Any other line may have been wrapped because it was
full.
"""

_FENCE = lazy_pattern(r"[ \t>]{0,12}(`{3,}|~{3,})")
_HEADING = lazy_pattern(r" {0,3}(?:#{1,6}\s+|h[1-6]\.\s+|=+\s+(?=.*\S\s+=+\s*$))(?P<name>.*\S)")
_BOLD = lazy_pattern(r"\s{0,3}(?:\*\*|__)(?P<name>[^*_]{1,80}?):?(?:\*\*|__)\s*:?\s*$")
_LABEL = lazy_pattern(r"\s{0,3}(?P<name>[A-Z][^.!?|:]{1,78}):\s*$")
_UNDERLINE = lazy_pattern(r"(?:={3,}|-{3,}|~{3,})\s*$")
_RULE = lazy_pattern(r"\s{0,3}(?:[-*_=] ?){3,}\s*$")
_ITEM = lazy_pattern(
    r"(?P<indent>[ \t]{0,16})(?:[-=]>|[-*+•\u2013\u2014\u2192\u25aa\u25cf\u2610◦·]"
    r"|(?P<number>\(?\d{1,3}(?:\.\d{1,3}){0,3}[.)]|\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?![ \t]+(?:is|are|was|has|will)\b)"
    r"|\(?[a-zA-Z][.)]|\(?[ivx]{1,4}\)|\(?(?:[A-Z]{1,5}-?|req)\d{1,3}\)?[:.)]))[ \t]+(?=\S)"
)
_INITIAL = lazy_pattern(r"\s*[A-Z]\. [A-Z][\w'-]+,?\s*")
"""A line with an initial and a name, such as "J. Smith". Such a line looks like a list item, but is not a list item."""
_BOX = lazy_pattern(r"\[(?P<mark>[ xX*-]?)\]\s+")
_NOISE = lazy_pattern(
    r"\s*(?:Traceback \(most recent|File \"|at [\w$.<>/\\:]+[ (]|Caused by:|--> |fatal:|[\w.]*(?:Error"
    r"|Exception)\b(?::|\s*$))",
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[\].,\s]|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR"
    r"|FATAL)\b[\]:\s])",
    r"\s*(?:\$ |>>> |[\w.-]+@[\w.-]+[:~$#])|(?:From|To|Cc|Bcc|Date|Sent): \S|\s*\[[^\]]{1,60}\]: \S+",
)
"""A line of a log, a stack trace, a shell session, a message's header, or a footnote."""
_CODE = lazy_pattern(
    r"\s*(?:[{}\[\]()]+[;,]?\s*$|\S.*[;{}]\s*$|//|/\*|</?\w[^>]*>\s*$|(?:import|from|def|class) .*[:;]?$|@\w+\()"
)
_SUBJECT = lazy_pattern(r"(?:Subject|Title|Summary): +(?=\S)")
_CELL = lazy_pattern(r"[^|]+")
_SIGNATURE = lazy_pattern(r"-- ?$")
_NUMBERED = lazy_pattern(r"\d{1,2}(?:\.\d{1,2})*\.? [A-Z]")


class BlockForm(StrEnum):
    """The form of a block."""

    TITLE = "title"
    HEADING = "heading"
    LABEL = "label"
    ITEM = "item"
    CELL = "cell"
    PROSE = "prose"


class Block(NamedTuple):
    """A title, heading, label, list item, table cell or paragraph of a text."""

    form: BlockForm
    start: int
    end: int
    depth: int = 0
    """The indentation of a list item in columns, or the level of a heading; 0 if the level is not known."""
    checked: bool = False
    """Whether the checkbox of a list item is ticked, that is, the item is done."""


class _Line(NamedTuple):
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text in their order.

    A line without markup counts as a heading if its text is a known heading.

    A code block that is not closed extends to the end of the text.
    """
    cutter = _Cutter(text)
    for line, following in itertools.pairwise((*_lines(text), _Line(len(text), ""))):
        if _SIGNATURE.match(line.text) and not cutter.fence:
            break
        yield from cutter.add_line(line, line.text[:LINE_LENGTH_MAX], following.text[:LINE_LENGTH_MAX])
    yield from cutter.close()


def _cells(start: int, text: str) -> Iterator[Block]:
    for cell in _CELL.finditer(text):
        if cell[0].strip(" \t-:"):
            yield Block(BlockForm.CELL, start + cell.start(), start + cell.end())


def _hash_marks(head: str) -> int:
    text = head.lstrip()
    return len(text) - len(text.lstrip("#"))


@dataclass(slots=True)
class _Cutter:
    """Cuts a text into blocks line by line."""

    text: str
    block: Block | None = None
    fence: str = ""
    """The characters that opened the current code block; empty outside of a code block."""

    def close(self) -> Iterator[Block]:
        if self.block:
            yield self.block
        self.block = None

    def add_line(self, line: _Line, head: str, following: str) -> Iterator[Block]:
        """Add a line, and yield the blocks that end before or at the line.

        `head` is the beginning of the line. Patterns are matched only with `head`.
        """
        fence = _FENCE.match(head)
        if self.fence or fence:
            yield from self.close()
            self._follow_fence(fence[1] if fence else "")
        elif not head.strip() or _RULE.match(head) or _UNDERLINE.match(head) or self._is_left_out(head):
            yield from self.close()
        elif heading := self._find_heading(head, following):
            yield from self.close()
            start, end = heading
            is_label = not _HEADING.match(head) and head.rstrip("*_ ").endswith(":")
            form = BlockForm.LABEL if is_label else BlockForm.HEADING
            yield Block(form, line.start + start, line.start + end, depth=_hash_marks(head))
        elif head.lstrip().startswith("|"):
            yield from self.close()
            yield from _cells(line.start, head)
        elif (item := _ITEM.match(head)) and not _INITIAL.fullmatch(head):
            yield from self.close()
            yield from self._add_item(line, head, item, following)
        else:
            yield from self._add_prose(line, head)

    def _follow_fence(self, fence: str) -> None:
        """Begin or end a code block, or neither, at a line.

        `fence` has the fence characters (such as three backticks) of the line; it is empty if the line has none.
        """
        if not self.fence:
            self.fence = fence
        elif fence.startswith(self.fence):
            self.fence = ""

    def _is_left_out(self, head: str) -> bool:
        """Return whether a line is skipped, because it is a quote, code, or part of a log."""
        if head.lstrip().startswith(">") or _ITEM.match(head):
            return head.lstrip().startswith(">")
        code = self.block is None and head.startswith(("    ", "\t")) and _CODE.match(head)
        return bool(code or _NOISE.match(head))

    def _find_heading(self, head: str, following: str) -> tuple[int, int] | None:
        for pattern in (_HEADING, _BOLD, _LABEL):
            if match := pattern.match(head):
                return match.start("name"), match.end("name")
        plain = head.strip()
        if len(plain) > HEADING_LENGTH_MAX:
            return None
        if _UNDERLINE.match(following) and not _ITEM.match(head):
            return 0, len(head)
        begins = plain[:1].isupper() or _NUMBERED.match(plain)
        bare = self.block is None and begins and ":" not in plain and plain[-1].isalnum()
        named = bare and len(plain.split()) <= HEADING_WORDS_MAX and (_is_name(plain) or _ITEM.match(following))
        return (0, len(head)) if named else None

    def _add_item(self, line: _Line, head: str, item: re.Match[str], following: str) -> Iterator[Block]:
        name = head[item.end() :].strip()
        short = len(name.split()) < HEADING_WORDS_MAX and name[-1:].isalpha() and not _ITEM.match(following)
        if item["number"] and not item["indent"] and short and _is_name(name):
            level = item["number"].strip("().").count(".") + 1
            yield Block(BlockForm.HEADING, line.start + item.end(), line.end, depth=level)
        elif not _NOISE.match(head[item.end() :]):
            box = _BOX.match(head, item.end())
            start, checked = (box.end(), box["mark"] in {"x", "X"}) if box else (item.end(), False)
            depth = len(item["indent"].expandtabs(4))
            self.block = Block(BlockForm.ITEM, line.start + start, line.end, depth, checked)

    def _add_prose(self, line: _Line, head: str) -> Iterator[Block]:
        subject = _SUBJECT.match(head)
        block = self.block
        if block and (block.form is BlockForm.TITLE or self._ends_item(block, head)):
            yield from self.close()
        form = BlockForm.TITLE if subject else BlockForm.PROSE
        begun = Block(form, line.start + (subject.end() if subject else 0), line.end)
        self.block = self.block._replace(end=line.end) if self.block else begun

    def _ends_item(self, block: Block, head: str) -> bool:
        """Return whether a line begins a new paragraph after a list item, instead of continuing the item."""
        if block.form is not BlockForm.ITEM or head[0].isspace() or not (head[0].isupper() or head[0] in "\"'(`*"):
            return False
        written = self.text[block.start : block.end].rstrip()
        return ("\n" not in written and len(written) < WRAPPED_LENGTH_MIN) or written.endswith((".", "!", "?"))


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield _Line(start, line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"))
        start += len(line)


SENTENCE_LENGTH_MAX = 400
ENDS_MAX = 3000
"""The largest number of sentence ends that are found in a paragraph. The text after the last of these ends is cut into
parts of a fixed length."""
JOINTS_MAX = 8
"""The largest number of places in a sentence that are examined as beginnings of a clause. All text after these places
belongs to the last clause."""
CLAUSE_LENGTH_MIN = 12
BREAK_ROOM = 12
"""A line break is intended if its line has room for the next line's first word and for more than this number of further
columns."""

_PLAIN = str.maketrans(dict.fromkeys("\n\r\t\v\f\u00a0\u202f\u2028\x85", " ") | {"\u2019": "'", "\u2018": "'"})
_PLAIN |= str.maketrans({"\u201c": '"', "\u201d": '"'})
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_END = lazy_pattern(r"[.!?…]{1,4}[\"')\]*_`]{0,3} +(?=[\"'(\[*_`~@]{0,3}(?P<next>[A-Za-z0-9]))")
_BEFORE = lazy_pattern(r"[\"'(\[*_`]{0,3}(?P<word>[\w./-]*)$")
_ABBREVIATIONS = word_set(
    "e.g i.e eg ie vs approx cf mr mrs ms dr st no nr fig sec incl excl max min resp ca viz al ver v p pp ch art etc",
    "dept est jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun inc ltd co corp a.m p.m",
)
_BEFORE_NUMBERS = frozenset(("no", "nr", "min", "max", "sec", "etc", "a.m", "p.m"))
"""Abbreviations whose full stop ends a sentence, unless a number follows the abbreviation."""
_LINK = lazy_pattern(r"\S{40}")
"""A very long word, such as a link. The width of a paragraph is measured without the lines that contain such a word."""
_JOINT = lazy_pattern(
    r"; +(?=\S)|,? +(?:-|\u2013|\u2014|--) +(?=\S)|, (?:and|but|or|so(?! that)|yet|plus) |,? but "
    r"|,? and (?=(?:please|do not|don't|never|must|no |keep |leave |make sure)\b)|, (?=(?:(?:do not|don't|never"
    r"|please(?= \w)|without)\b|no ))"
)


class Sentence(NamedTuple):
    """A sentence or a clause, as a range of the text."""

    start: int
    end: int
    small: str
    """The field `written` in lower case."""
    written: str
    """The text of the sentence, with white space replaced by spaces, and with ASCII apostrophes and quotation marks.
    The length is unchanged.
    """


def plain(text: str) -> str:
    """Return a text with white space replaced by spaces, and with ASCII apostrophes and quotation marks.

    The length is unchanged.
    """
    return text.translate(_PLAIN)


def sentence_at(text: str, start: int, end: int) -> Sentence:
    """Return the sentence between two offsets, without markup and white space at its ends."""
    while start < end and (text[start].isspace() or text[start] in "*_~>"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "*_~"):
        end -= 1
    written = plain(text[start:end])
    return Sentence(start, end, written.translate(_LOWER), written)


def sentences(text: str, start: int, end: int) -> Iterator[Sentence]:
    """Yield the sentences between two offsets of a text, in order. No sentence is longer than `SENTENCE_LENGTH_MAX`.

    Sentences without letters and digits are skipped.
    """
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
            if len(word) == 1 and word.isalpha() and word != "i" and not unit:
                continue
        yield match.end()


def _meant_breaks(part: str) -> Iterator[int]:
    """Yield the offset of each line that begins after an intended line break.

    A break is intended if the first word of the next line would have fitted into the line before the break.
    """
    lines = part.splitlines(keepends=True)
    width = max((len(line.rstrip()) for line in lines if not _LINK.search(line)), default=0)
    place = 0
    for line, following in itertools.pairwise(lines):
        place += len(line)
        room = max(width, WRAPPED_LENGTH_MIN) - len(line.rstrip()) - len((following.split(maxsplit=1) or [""])[0])
        begins = following.lstrip(" \t*_`\"'(")[:1].isupper()
        if begins and room > BREAK_ROOM and not line.rstrip().endswith((",", "(", "-", "/", "=")):
            yield place


def clauses(text: str, sentence: Sentence) -> Iterator[Sentence]:
    """Yield the clauses of a sentence if each clause asks for something; otherwise yield the whole sentence."""
    start = 0
    for joint in itertools.islice(_JOINT.finditer(sentence.small), JOINTS_MAX):
        left, right = sentence.small[start : joint.start()], sentence.small[joint.end() :]
        if min(len(left), len(right)) < CLAUSE_LENGTH_MIN or force_of(left) is Force.NONE:
            continue
        if force_of(right) is Force.STRICT or right.startswith(("no ", "not ", "without ")) or instructs(right):
            yield sentence_at(text, sentence.start + start, sentence.start + joint.start())
            start = joint.end()
    yield sentence_at(text, sentence.start + start, sentence.end)
