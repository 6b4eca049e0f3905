"""Finds the demands of a text: the sentences and list items that ask for something, with their places. Pure."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import assert_never

from actors.demands.blocks import (
    Block,
    BlockForm,
    Role,
    Sentence,
    blocks,
    clauses,
    role_of,
    sentence_at,
    sentences,
)
from actors.demands.patterns import (
    LABEL,
    Force,
    announces_change,
    asks_for_new,
    asks_how,
    describes,
    force_of,
    force_with_label,
    instructs,
    is_modal,
    is_name_only,
    is_proposal,
    is_rule,
    requirement_kind,
    specifies,
    states,
    strip_label,
)
from actors.demands.verbs import ENGLISH, OTHER_LANGUAGES
from actors.values.format import lazy_pattern
from actors.values.requirements import POLICY, Demand, DemandReading, RequirementKind, RequirementSource, demand_at

DEMANDS_MAX = 200
"""The largest number of demands that are read from one text. If the text has more demands, `DemandReading.unread` says
so."""
READ_LENGTH_MAX = 200_000
"""The largest number of characters of a text that are read. A language model is shown the same number."""
READ_LINES_MAX = 10_000
"""The largest number of lines of a text that are read. Lines have their own limit, because a short line takes as much
time as a long line."""
SENTENCES_MAX = 2500
"""The largest number of sentences of a text that are read. Reading this many sentences takes a second or two."""
LIST_LENGTH_MAX = 40
"""How many items at the beginning of a list decide how the list is read. Later items are not considered for this
decision."""
WORDS_MIN = 4
"""The language of a sentence is recognised only if the sentence has at least this many words."""
LATIN_END = 0x24F
"""The last code point of the Latin letters (the block Latin Extended-B)."""
SCRIPT_SHARE = 0.3
"""A sentence counts as written in another script if its share of non-Latin letters is greater than this."""
POLICY_LENGTH_MIN = 2500
"""The smallest number of characters of a policy. A shorter text in the form of a policy is read as a request for the
rules that it states."""
OPENING_LENGTH_MAX = 600
"""How many characters at the beginning of a text are its opening. The title and the opening show whether the text is a
policy."""

_POLICY = (
    r"policy|policies|manual|handbook|guidelines?|guide|procedures?|playbook|runbook|code of conduct|regulations?"
    r"|(?:troubleshooting )?workflow|terms of (?:use|service)"
)
_POLICY_TITLE = lazy_pattern(rf"\W*(?:[^.:?!\n]{{0,80}}\b)?(?:{_POLICY})(?: (?:for|of) .*)?\W*$")
_TASK_TITLE = lazy_pattern(r"\W*(?P<verb>[a-z]+) (?:the|an?|our|this|my|all|new)\b")
"""A title that may say what to do with a policy, such as "Update the support policy"."""
_POLICY_OPENING = lazy_pattern(rf"\bthis (?:document|{_POLICY})\b[^.]{{0,80}}\b(?:{_POLICY})\b")
_REQUEST = lazy_pattern(
    r"\bplease\b|\b(?:i|we)(?:'d| would)? (?:want|need|like|ask|plan|propose|have to|must|should)\b|\blet's\b"
    r"|\b(?:can|could|would) you\b|\b(?:acceptance criteria|definition of done|user story|deadline)\b"
)
_QUOTED = lazy_pattern(r"(?<!\w)(['\"])[^'\"\n]*\1")
"""Quoted words. A rule may tell somebody to say these words, so the words are no request of the text itself."""
_EDGES = " \t\r\n.;,*_"
_WORD = lazy_pattern(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_LETTERS = lazy_pattern(r"[äöüßéèàçêîôûœñáíóú¿¡ãõåøłęąśżźćčšž]")
_BARE_LEAD = lazy_pattern(
    r"\b(?:to|must|should|need|want|is|are|for|not|do|following|these|this|things?|so that|with) ?:$"
)
_TIMED = lazy_pattern(r"\d{1,2}:\d\d\b")
"""A time at the beginning of a list item, which makes the item an entry of a timeline."""
_LEFT_OUT = lazy_pattern(r"(?:steps )?to (?:reproduce|repeat)\b|^\W*(?:\[[^\]]*\]\([^)]*\)|https?://\S+|[#!]\d+)\W*$")
_ORDER = frozenset(("so", "then", "first", "next", "later", "finally", "now"))
"""Labels at the beginning of a sentence that only show an order in time, such as "Then"."""


@lru_cache(maxsize=32)  # Each step and each view of a run reads the same texts.
def read_demands(text: str, source: RequirementSource = RequirementSource.PROBLEM) -> DemandReading:
    """Return the demands of a text, and which parts of the text were not read.

    Never raises. The running time is linear in the length of the text. The function reads at most `READ_LENGTH_MAX`
    characters, `READ_LINES_MAX` lines, `SENTENCES_MAX` sentences and `DEMANDS_MAX` demands. The field `unread` of the
    result says which parts were not read.
    """
    read = "".join(text[:READ_LENGTH_MAX].splitlines(keepends=True)[:READ_LINES_MAX])
    if is_policy(read):
        return DemandReading((), POLICY)
    reader = _Reader(read, source)
    distinct: dict[str, Demand] = {}
    more = False
    for demand in reader.demands():
        if len(distinct) == DEMANDS_MAX and demand.id not in distinct:
            more = True
            break
        distinct.setdefault(demand.id, demand)
    unread = []
    if reader.foreign == 1:
        unread.append("One sentence is not English; its demands are not in this table.")
    elif reader.foreign:
        unread.append(f"{reader.foreign} sentences are not English; their demands are not in this table.")
    if more:
        unread.append(f"The text has more than {DEMANDS_MAX} demands; only the first {DEMANDS_MAX} are in this table.")
    elif len(read) < len(text) or reader.read > SENTENCES_MAX:
        unread.append("The text is too long to be read whole; the demands at its end are not in this table.")
    return DemandReading(tuple(distinct.values()), " ".join(unread))


def is_policy(text: str) -> bool:
    """Return whether a text is a policy or a manual, which does not ask for work.

    The text must meet three conditions. It is long, its title or opening calls it a policy, manual, guide or procedure,
    and it has no request in the writer's own words ("please", "we need").
    """
    if len(text) < POLICY_LENGTH_MIN:
        return False
    opening = sentence_at(text, 0, OPENING_LENGTH_MAX).small
    headings = (line.lower() for line in text[:READ_LENGTH_MAX].splitlines() if line.startswith("# "))
    titles = (text.lstrip()[:OPENING_LENGTH_MAX].split("\n", 1)[0].lower(), *itertools.islice(headings, 5))
    named = any(_POLICY_TITLE.match(title) and not _is_task(title) for title in titles)
    return (named or bool(_POLICY_OPENING.search(opening))) and not _REQUEST.search(_QUOTED.sub("", text.lower()))


def _is_task(title: str) -> bool:
    task = _TASK_TITLE.match(title)
    return task is not None and instructs(title[task.start("verb") :])


def _is_foreign(written: str) -> bool | None:
    letters = [sign for sign in written if sign.isalpha()]
    if len(letters) >= 4 and sum(ord(sign) > LATIN_END for sign in letters) > SCRIPT_SHARE * len(letters):
        return True
    words = _WORD.findall(written.lower())
    if len(words) < WORDS_MIN:
        return None
    english = sum(word in ENGLISH for word in words)
    others = sum(word in OTHER_LANGUAGES for word in words) + sum(bool(_LETTERS.search(word)) for word in words)
    return others > max(english, 1) or (english == 0 and others > 1)


def is_demand(role: Role, form: BlockForm, small: str, force: Force) -> bool:
    """Return whether a sentence is a demand, according to its heading, the form of its block, and its words."""
    match role:
        case Role.ASKED:
            return force is not Force.NONE or (form is not BlockForm.CELL and not describes(small))
        case Role.OBSERVED:
            return form is BlockForm.PROSE and is_modal(small)
        case Role.TOLD:
            return force is Force.STRICT
        case Role.NEUTRAL:
            return force is Force.STRICT or (force is Force.WISH and form is not BlockForm.CELL)
        case Role.SILENT:
            return False
    assert_never(role)


@dataclass(frozen=True, slots=True)
class _Part:
    """How the sentences in a part of a text are read, and which kind of demands they state."""

    role: Role = Role.NEUTRAL
    kind: RequirementKind | None = None


_WANTED = _Part(Role.ASKED, RequirementKind.GOAL)


@dataclass(slots=True)
class _Reader:
    """Reads one text, block by block."""

    text: str
    source: RequirementSource
    foreign: int = 0
    last_foreign: bool = False
    """Whether the last sentence whose language was recognised is not in English."""
    read: int = 0
    """The number of sentences that were read until now. After `SENTENCES_MAX` sentences, the reader stops."""
    heading: _Part = _Part()
    """How the sentences below the current heading are read."""
    level: int = 0
    label: _Part | None = None
    """How the paragraph or list after a label is read; None if there is no label."""
    leads: list[tuple[int, _Part]] = field(default_factory=list)
    """For each list around the current item: the depth of the line that introduces the list, and how the list is read.
    """
    listed: _Part | None = None
    """How the current list is read if its heading, label or introduction does not decide it; None until this is known.
    """
    task: bool = False
    """Whether the title says what to do."""
    asked: bool = False
    """Whether the previous block, or the heading above, asks for something."""
    titled: bool = False
    """Whether the title or an earlier paragraph asks for something new."""
    named: bool = False
    """Whether the current heading only names a thing."""

    def demands(self) -> Iterator[Demand]:
        every = list(blocks(self.text))
        for number, block in enumerate(every):
            if self.read > SENTENCES_MAX:
                return
            following = every[number + 1] if number + 1 < len(every) else None
            if block.form in {BlockForm.HEADING, BlockForm.LABEL}:
                found = self._read_heading(block, following, title=number == 0)
                yield from found
                continue
            if block.form is BlockForm.ITEM:
                found = self._read_item(every, number, following)
            elif block.form is BlockForm.CELL:
                found = self._read_block(block, self.heading, None)
            else:
                found = self._read_prose(block, following, title=number == 0)
            self.asked = bool(found)
            yield from found

    def _read_prose(self, block: Block, following: Block | None, *, title: bool) -> list[Demand]:
        part, self.label = self.label or self.heading, None
        self.leads.clear()
        found = self._read_block(block, part, following)
        if title:
            small = sentence_at(self.text, block.start, block.end).small[:200]
            self.task, self.named = bool(found), is_name_only(small)
            self.titled = self.titled or is_proposal(small)
        return found

    def _read_heading(self, block: Block, following: Block | None, *, title: bool) -> list[Demand]:
        self.leads.clear()
        sentence = sentence_at(self.text, block.start, block.end)
        part = _Part(*role_of(sentence.written))
        if title and part.role is Role.ASKED and ":" in sentence.written:
            part = _Part()  # "Proposal: use Kafka" is the title of the whole text.
        if part.role is not Role.NEUTRAL:
            self.asked = part.role is Role.ASKED
        if block.form is BlockForm.LABEL:
            lead = self._introduced_part(sentence, self.heading)
            if following is not None and following.form is BlockForm.ITEM:
                self.leads.append((-1, lead))
            elif following is None or not self.text[block.end : following.start].strip():
                self.label = lead  # Otherwise it names the code that stands between.
            return []
        self.label = None
        if part.role is not Role.NEUTRAL:
            self.titled = False
        self.named = part.role is Role.NEUTRAL and is_name_only(sentence.small)
        if part.role is not Role.NEUTRAL or not 0 < self.level < block.depth:
            self.heading, self.level = part, block.depth
        if part.role is not Role.NEUTRAL or not (title or force_of(sentence.small) is Force.STRICT):
            return []
        found = list(self._read_sentence(sentence, self.heading, block))
        if title:
            self.task, self.titled = bool(found), is_proposal(sentence.small)
        return found

    def _read_item(self, every: list[Block], number: int, following: Block | None) -> list[Demand]:
        block = every[number]
        while self.leads and self.leads[-1][0] >= block.depth:
            self.leads.pop()
        if number == 0 or every[number - 1].form is not BlockForm.ITEM:
            self.listed = None
        part = self.leads[-1][1] if self.leads else self.label or self.heading
        if part.role in {Role.NEUTRAL, Role.TOLD}:
            self.listed = part = self.listed or self._list_part(every, number, part)
        timed = _TIMED.match(self.text, block.start) is not None and part.role is not Role.ASKED
        return [] if block.checked or timed else self._read_block(block, part, following)

    def _list_part(self, every: list[Block], number: int, part: _Part) -> _Part:
        """Return how to read a list whose heading, label or introduction does not decide it.

        Most items of the list decide how all its items are read.
        """
        rest = every[number : number + LIST_LENGTH_MAX]
        group = itertools.takewhile(lambda block: block.form is BlockForm.ITEM, rest)
        items = [sentence_at(self.text, block.start, block.end).small for block in group]
        asking = sum(force_with_label(item) is not Force.NONE for item in items)
        stating = sum(states(item) for item in items)
        wanted = (asking > 1 and 2 * asking >= len(items)) or ((self.asked or self.task) and 2 * stating < len(items))
        return _WANTED if wanted else part

    def _read_block(self, block: Block, part: _Part, following: Block | None) -> list[Demand]:
        every = list(sentences(self.text, block.start, block.end))
        introduces = following is not None and following.form is BlockForm.ITEM
        titled = self.titled or (self.named and any(is_rule(sentence.small) for sentence in every[:2]))
        new = follows = False
        demands: list[Demand] = []
        left: list[tuple[Sentence, int]] = []
        for position, sentence in enumerate(every):
            if introduces and position == len(every) - 1 and sentence.small.endswith(":"):
                depth = block.depth if block.form is BlockForm.ITEM else -1
                self.leads.append((depth, self._introduced_part(sentence, part)))
                if _BARE_LEAD.search(sentence.small) or not instructs(sentence.small):
                    continue
            found = list(self._read_sentence(sentence, part, block))
            plain = part.role in {Role.NEUTRAL, Role.TOLD} and block.form in {BlockForm.PROSE, BlockForm.ITEM}
            if not found and plain:
                signs = titled + new + 2 * follows + self.asked
                found = self._demands_in_statement(sentence, signs)
                if not found and (titled or demands or self.asked):
                    left.append((sentence, signs + 1))
            planned = not found and announces_change(sentence.small)
            new = new or planned or (bool(found) and asks_for_new(sentence.small))
            follows = planned or (bool(found) and (new or asks_how(sentence.small)))
            demands += found
        if 2 * len(demands) >= len(every):
            demands += [demand for sentence, signs in left for demand in self._demands_in_statement(sentence, signs)]
        self.titled = self.titled or (new and block.form is not BlockForm.ITEM)
        return sorted(demands, key=lambda demand: demand.start)

    def _demands_in_statement(self, sentence: Sentence, signs: int) -> list[Demand]:
        label = LABEL.match(sentence.small)
        cut = label.end() if label and label["label"] in _ORDER else 0
        if label and not cut and label["colon"] == ":":
            return []
        if not specifies(sentence.small[cut:], sentence.written[cut:], signs):
            return []
        return list(self._demand(sentence, requirement_kind(sentence.small)))

    def _introduced_part(self, sentence: Sentence, part: _Part) -> _Part:
        small = sentence.small.rstrip(":").rstrip()
        tail = small.rpartition(". ")[2]
        for name in (sentence.written, tail, tail.rpartition(", ")[2]):
            role, kind = role_of(name)
            if role is not Role.NEUTRAL:
                return _Part(role, kind)
        if force_of(small) is not Force.NONE or force_of(f"{small} be done") is not Force.NONE:
            return _Part(Role.ASKED, requirement_kind(small))
        return part if part.role is not Role.NEUTRAL else _Part(Role.TOLD)

    def _read_sentence(self, sentence: Sentence, part: _Part, block: Block) -> Iterator[Demand]:
        self.read += 1
        if self.read > SENTENCES_MAX:
            return
        foreign = _is_foreign(sentence.written)
        self.last_foreign = self.last_foreign if foreign is None else foreign
        if self.last_foreign:
            self.foreign += 1
            return
        if part.role is Role.SILENT or _LEFT_OUT.match(sentence.small):
            return
        label = LABEL.match(sentence.written)
        labelled = _Part(*role_of(label["label"])) if label else _Part()
        if labelled.role in {Role.SILENT, Role.OBSERVED}:
            return
        if label and labelled.role is Role.ASKED:
            rest = sentence_at(self.text, sentence.start + label.end(), sentence.end)
            # "Out of scope: the page" says more than "the page".
            whole = sentence if labelled.kind is not RequirementKind.GOAL else rest
            yield from self._judge(rest, labelled, block, whole)
            return
        for clause in clauses(self.text, sentence):
            yield from self._judge(clause, part, block, clause)

    def _judge(self, sentence: Sentence, part: _Part, block: Block, quoted: Sentence) -> Iterator[Demand]:
        if is_demand(part.role, block.form, sentence.small, force_with_label(sentence.small)):
            default = part.kind if part.kind is not None and part.role is Role.ASKED else RequirementKind.GOAL
            body = strip_label(sentence.small)
            scoped = default is RequirementKind.SCOPE
            yield from self._demand(quoted, default if scoped else requirement_kind(body, default))

    def _demand(self, sentence: Sentence, kind: RequirementKind) -> Iterator[Demand]:
        start, end = sentence.start, sentence.end
        while start < end and self.text[start] in _EDGES:
            start += 1
        while end > start and self.text[end - 1] in _EDGES:
            end -= 1
        if any(sign.isalnum() for sign in self.text[start:end]):
            yield demand_at(self.text, kind, self.source, start, end)
