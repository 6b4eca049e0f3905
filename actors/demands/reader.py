"""The reader of demands: the sentences and list items of a text that ask for something, with their places. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from actors.demands.blocks import Block, Form, blocks
from actors.demands.clauses import clauses
from actors.demands.demand import DEMANDS_MAX, Demand, Reading
from actors.demands.headings import Role, is_name, role_of
from actors.demands.instructions import instructs
from actors.demands.kinds import kind_of
from actors.demands.languages import is_foreign
from actors.demands.sentences import Sentence, sentence_at, sentences
from actors.demands.tables import any_of
from actors.demands.wording import Force, describes, force_of, proposes
from actors.values.requirements import RequirementKind, RequirementSource, requirement_id

READ_LENGTH_MAX = 200_000
"""Characters of a text that are read, as many as a language model is shown."""
READ_LINES_MAX = 10_000
"""Lines of a text that are read: short lines cost as much as long ones."""

_EDGES = " \t\r\n.;,*_"
_LABEL = re.compile(
    r"^[*_]{0,2}(?P<label>[A-Za-z][\w '/&-]{1,40}?)[*_]{0,2}(?P<colon>:| - | \u2013 | \u2014 )[*_]{0,2} *(?=\S)"
)
_BARE_LEAD = any_of(
    (
        r"(?:\b(?:following|these|this|that|to|must|should|need|needs|want|things?|requirements?|constraints?"
        r"|steps|points|conditions|rules|shall|below|items|changes|so that|is|are|for|with|not|never|demands"
        r"|following \w+|things \w+|have|requests?|mind|first|please|do|don't|expect|like|include|includes"
        r"|cover|covers|ensure|support)) ?:$"
    ),
)
_UI = re.compile(
    r"^(?:then )?(?:open|click|go to|log in|login|sign in|see|observe|scroll|type|press|navigate|select"
    r"|choose|enter|wait|start|visit|launch|run|create a|upload a|reload|refresh|notice|tap|hit|switch to"
    r"|close|have a)\b"
)
_LINK_ONLY = re.compile(r"^\W*(?:\[[^\]]*\]\([^)]*\)|https?://\S+|[#!]\d+)\W*$")


def read_demands(text: str, source: RequirementSource = RequirementSource.PROBLEM) -> Reading:
    """Return the demands of a text in their order, each quote once, and what could not be read.

    Never raises. The time is linear in the length of the text, of which `READ_LENGTH_MAX` characters, `READ_LINES_MAX`
    lines and `DEMANDS_MAX` demands are read; what goes beyond is named in `unread`.
    """
    read = "".join(text[:READ_LENGTH_MAX].splitlines(keepends=True)[:READ_LINES_MAX])
    reader = _Reader(read, source)
    distinct: dict[str, Demand] = {}
    more = False
    for demand in reader.demands():
        if len(distinct) == DEMANDS_MAX and demand.id not in distinct:
            more = True
            break
        distinct.setdefault(demand.id, demand)
    return Reading(tuple(distinct.values()), _unread(reader.foreign, more=more, cut=len(read) < len(text)))


def _unread(foreign: int, *, more: bool, cut: bool) -> str:
    parts = []
    if foreign:
        parts.append(
            f"{foreign} sentences are not English; their demands are not in this table."
            if foreign > 1
            else "One sentence is not English; its demands are not in this table."
        )
    if more:
        parts.append(f"The text has more than {DEMANDS_MAX} demands; only the first {DEMANDS_MAX} are in this table.")
    elif cut:
        parts.append("The text is too long to be read whole; the demands at its end are not in this table.")
    return " ".join(parts)


@dataclass(slots=True)
class _Part:
    """What is known about the sentences below a heading or a line that introduces a list."""

    role: Role
    kind: RequirementKind | None


@dataclass(slots=True)
class _Reader:
    """Reads one text, block by block."""

    text: str
    source: RequirementSource
    foreign: int = 0
    heading: _Part = field(default_factory=lambda: _Part(Role.NEUTRAL, None))
    leads: list[tuple[int, _Part]] = field(default_factory=list)

    def demands(self) -> Iterator[Demand]:
        """Yield the demands in the order of the text."""
        every = list(blocks(self.text, is_name))
        for number, block in enumerate(every):
            following = every[number + 1] if number + 1 < len(every) else None
            yield from self._of_block(block, following, first=number == 0, every=every, number=number)

    def _of_block(
        self, block: Block, following: Block | None, *, first: bool, every: list[Block], number: int
    ) -> Iterator[Demand]:
        if block.form is Form.HEADING:
            yield from self._of_heading(block, following, title=first)
            return
        if block.form is not Form.ITEM:
            self.leads.clear()
        else:
            while self.leads and self.leads[-1][0] >= block.depth:
                self.leads.pop()
            if block.checked or self._is_steps(every, number):
                return
        part = self.leads[-1][1] if self.leads else self.heading
        introduces = following is not None and following.form is Form.ITEM
        every_sentence = list(sentences(self.text, block.start, block.end))
        for place, sentence in enumerate(every_sentence):
            last = place == len(every_sentence) - 1
            if last and introduces and sentence.small.endswith(":") and following is not None:
                lead = self._lead(sentence, part)
                depth = block.depth if block.form is Form.ITEM else -1
                self.leads.append((depth, lead))
                if _BARE_LEAD.search(sentence.small) or not instructs(sentence.small):
                    continue
            yield from self._of_sentence(sentence, part, block)

    def _of_heading(self, block: Block, following: Block | None, *, title: bool) -> Iterator[Demand]:
        self.leads.clear()
        sentence = sentence_at(self.text, block.start, block.end)
        role, kind = role_of(sentence.written)
        self.heading = _Part(role, kind)
        if role is not Role.NEUTRAL or not sentence.small:
            return
        lead = self._lead(sentence, self.heading)
        labelled = self.text[block.end : block.end + 1] == ":"
        if labelled and following is not None and following.form is Form.ITEM:
            self.leads.append((-1, lead))
            return
        if title or force_of(sentence.small) is Force.STRICT:
            yield from self._of_sentence(sentence, self.heading, block)

    def _lead(self, sentence: Sentence, part: _Part) -> _Part:
        """Return how a list is read after the sentence that introduces it."""
        role, kind = role_of(sentence.written)
        if role is not Role.NEUTRAL:
            return _Part(role, kind)
        small = sentence.small.rstrip(":").rstrip()
        if force_of(small) is not Force.NONE or force_of(f"{small} be done") is not Force.NONE:
            return _Part(Role.ASKED, kind_of(small))
        tail = small.rpartition(". ")[2].rpartition(", ")[2]
        role, kind = role_of(tail)
        if role is not Role.NEUTRAL:
            return _Part(role, kind)
        return part if part.role is not Role.NEUTRAL else _Part(Role.TOLD, None)

    def _is_steps(self, every: list[Block], number: int) -> bool:
        """Tell whether a numbered item stands among steps that somebody does on a screen."""
        if not every[number].ordered or self.heading.role is Role.ASKED:
            return False
        low = number
        while low > 0 and every[low - 1].form is Form.ITEM and number - low < 12:
            low -= 1
        high = number
        while high + 1 < len(every) and every[high + 1].form is Form.ITEM and high - number < 12:
            high += 1
        group = [sentence_at(self.text, block.start, block.end).small for block in every[low : high + 1]]
        return len(group) > 1 and 2 * sum(bool(_UI.match(each)) for each in group) > len(group)

    def _of_sentence(self, sentence: Sentence, part: _Part, block: Block) -> Iterator[Demand]:
        foreign = is_foreign(sentence.written)
        if foreign:
            self.foreign += 1
            return
        if part.role is Role.SILENT or _LINK_ONLY.match(sentence.written):
            return
        label = _LABEL.match(sentence.written)
        if label:
            role, kind = role_of(label["label"])
            if role is Role.SILENT:
                return
            if role is not Role.NEUTRAL and (label["colon"] == ":" or role is Role.ASKED):
                rest = sentence_at(self.text, sentence.start + label.end(), sentence.end)
                keep = (
                    rest if kind in {RequirementKind.GOAL, None} else sentence
                )  # "Out of scope: X" says more than "X".
                yield from self._judged(rest, _Part(role, kind), block, keep)
                return
        for clause in clauses(self.text, sentence):
            yield from self._judged(clause, part, block, clause)

    def _judged(self, sentence: Sentence, part: _Part, block: Block, quoted: Sentence) -> Iterator[Demand]:
        small = sentence.small
        body = small
        if label := _LABEL.match(small):
            body = small[label.end() :]
        force = max(force_of(small), force_of(body))
        asked = part.role is Role.ASKED and not describes(small) and block.form is not Form.CELL
        if asked and small.startswith(("given ", "when ")) and force is Force.NONE and ", then" not in small:
            asked = ", " in small
        proposed = part.role is Role.PROPOSED and proposes(small)
        needed = Force.STRICT if part.role is Role.TOLD or block.form is Form.CELL else Force.WISH
        if not (asked or proposed or force >= needed):
            return
        default = part.kind if part.kind is not None and part.role is Role.ASKED else RequirementKind.GOAL
        kind = RequirementKind.SCOPE if default is RequirementKind.SCOPE else kind_of(body, default)
        yield from self._demand(quoted, kind)

    def _demand(self, sentence: Sentence, kind: RequirementKind) -> Iterator[Demand]:
        start, end = sentence.start, sentence.end
        while start < end and self.text[start] in _EDGES:
            start += 1
        while end > start and self.text[end - 1] in _EDGES:
            end -= 1
        quote = " ".join(self.text[start:end].split())
        if any(sign.isalnum() for sign in quote):
            yield Demand(requirement_id(quote), kind, quote, self.source, start, end)
