"""The reader of demands: the sentences and list items of a text that ask for something, with their places. Pure."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from actors.demands.blocks import Block, BlockForm, blocks
from actors.demands.demand import DEMANDS_MAX, Demand, DemandReading
from actors.demands.force import Force, force_of
from actors.demands.headings import Role, is_abstract, is_name, is_of_proposal, role_of
from actors.demands.instructions import instructs, states
from actors.demands.kinds import requirement_kind
from actors.demands.patterns import any_of, late, word_set
from actors.demands.sentences import Sentence, clauses, sentence_at, sentences
from actors.demands.statements import (
    LABEL,
    UI,
    VERSION,
    Surroundings,
    announces,
    asks_for_new,
    asks_how,
    is_asked,
    names,
    plans,
    rules,
    shall_be,
    specifies,
    standing_force,
    without_label,
)
from actors.values.requirements import RequirementKind, RequirementSource, requirement_id

WORDS_MIN = 4
"""Words of a sentence below which its language cannot be told."""
LATIN_END = 0x24F
SCRIPT_SHARE = 0.3
"""Share of letters beyond the Latin ones above which a sentence is in another script."""

_WORD = late(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_ENGLISH = word_set(
    "the and is are was of to for with that this it not be we have has should when on by from as which must does",
    "after if our my they can all but at every don't doesn't can't in an a i you or no do so will would please need",
    "only any than then there their its into more up out use add make sure keep never without before until",
)
_OTHERS = word_set(
    "der die das und ist nicht ein eine einen einer dem den mit auf für wir wird werden soll sollen sollte von zu",
    "zum zur bei beim sich sind mehr auch nach wenn dass oder kein keine haben muss müssen darf dürfen können unser",
    "unsere unseren ich mein meine geht nur über aus noch vom im viel bis sie es ohne durch bitte wie als am",
    "war alle diese dieser le la les des une un est et dans pour pas ne qui avec sur du nous il faut au aux ce",
    "cette quand depuis doit doivent que sont leur notre mais être elle je ma mes où lors fait trop vous",
    "votre el los las una es y del para por se cuando está hay sus su más como queremos debe deben pero",
    "al nuestra nuestro mi muy han quiero lo modo después desde todos por favor gli di che è non sono della nel",
    "alla deve quello anche più dal questo dei delle si e os uma não com que é do da ao em quando são nossa nosso",
    "pela pelo das dos você het een niet en op te voor dat zijn worden moet wij naar ook deze geen wordt",
    "kan onze nie jest się na że jak dla musi och att det som är inte på har ska ikke og skal må",
)
_AMBIGUOUS = word_set(
    """
    die war am in on an a no me do as was can han also so es e y
    """
)
_LETTERS = late(r"[äöüßéèàçêîôûœñáíóú¿¡ãõåøłęąśżźćčšž]")


def is_foreign(written: str) -> bool | None:
    """Tell whether a sentence is in another language than English; None where it is too short to tell."""
    letters = [sign for sign in written if sign.isalpha()]
    if len(letters) >= 4 and sum(ord(sign) > LATIN_END for sign in letters) > SCRIPT_SHARE * len(letters):
        return True
    words = _WORD.findall(written.lower())
    if len(words) < WORDS_MIN:
        return None
    english = sum(word in _ENGLISH for word in words)
    others = sum(word in _OTHERS and word not in _AMBIGUOUS for word in words)
    marked = sum(1 for word in words if _LETTERS.search(word))
    return others + marked > max(english, 1) or (english == 0 and others + marked > 1)


READ_LENGTH_MAX = 200_000
"""Characters of a text that are read, as many as a language model is shown."""
READ_LINES_MAX = 10_000
"""Lines of a text that are read: short lines cost as much as long ones."""
TITLE_LENGTH_MAX = 200
"""Characters at the beginning of a text by which it is seen whether it asks for something new."""
TERSE_MIN = 3
"""Sentences from which on a paragraph in small letters is read like a list."""
SENTENCES_MAX = 2500
"""Sentences of a text that are read: a reading takes a second or two."""
LIST_LENGTH_MAX = 40
"""Items at the beginning of a list by which it is decided how the list is read."""

_EDGES = " \t\r\n.;,*_"
_BARE_LEAD = any_of(
    (
        r"(?:\b(?:following|these|this|that|to|must|should|need|needs|want|things?|requirements?|constraints?"
        r"|steps|points|conditions|rules|shall|below|items|changes|so that|is|are|for|with|not|never|demands"
        r"|following \w+|things \w+|have|requests?|mind|first|please|do|don't|expect|like|include|includes"
        r"|cover|covers|ensure|support)) ?:$"
    ),
)
_ORDER = frozenset(
    ("so", "then", "first", "next", "later", "finally", "immediately", "afterwards", "now", "step", "fix")
)
"""Labels that say when something is to be done."""
_TIMED = late(r"\d{1,2}:\d\d\b")
"""The beginning of an item that says what happened when."""
_REPEATS = late(r"(?:steps )?to (?:reproduce|repeat|trigger)\b")
_LINK_ONLY = late(r"^\W*(?:\[[^\]]*\]\([^)]*\)|https?://\S+|[#!]\d+)\W*$")


@lru_cache(maxsize=16)  # Each step and each face of a run reads the same texts.
def read_demands(text: str, source: RequirementSource = RequirementSource.PROBLEM) -> DemandReading:
    """Return the demands of a text in their order, each quote once, and what could not be read.

    Never raises. The time is linear in the length of the text, of which `READ_LENGTH_MAX` characters, `READ_LINES_MAX`
    lines, `SENTENCES_MAX` sentences and `DEMANDS_MAX` demands are read; what goes beyond is named in `unread`.
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
    return DemandReading(
        tuple(distinct.values()),
        _unread(reader.foreign, more=more, cut=len(read) < len(text) or reader.read > SENTENCES_MAX),
    )


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


@dataclass(frozen=True, slots=True)
class _Part:
    """How the sentences below a heading, or of a list, are read."""

    role: Role = Role.NEUTRAL
    kind: RequirementKind | None = None


@dataclass(slots=True)
class _Reader:
    """Reads one text, block by block."""

    text: str
    source: RequirementSource
    foreign: int = 0
    """Sentences that are not English."""
    last_foreign: bool = False
    """Whether the last sentence was not English."""
    read: int = 0
    """Sentences that have come; those beyond the limit are not read."""
    heading: _Part = _Part()
    """What the last heading says."""
    level: int = 0
    """The level of the heading that says so: the headings below it that say nothing belong to it."""
    label: _Part | None = None
    """What the line before says, for the paragraph or the list that follows it alone."""
    leads: list[tuple[int, _Part]] = field(default_factory=list)
    """What the lines that introduce the lists around an item say, by the depth of these lines."""
    listed: _Part | None = None
    """How the list is read whose items are being read, where nothing above it says so."""
    columns: dict[int, _Part] = field(default_factory=dict)
    """How the columns of a table are read, by their names."""
    task: bool = False
    """Whether the title says what to do."""
    introduced: bool = False
    """Whether the paragraph before introduces what follows it: "these pipelines are affected:"."""
    asked_before: bool = False
    """Whether the paragraph before asks for something."""
    asked: bool = False
    """Whether the block before does, or the line that introduces it."""
    titled: bool = False
    """Whether the title or the paragraph before asks for something new."""
    proposal: bool = False
    """Whether a heading says that the text is a proposal."""
    named: bool = False
    """Whether the heading only names a thing."""
    new: bool = False
    """Whether the paragraph that has just been read asks for something new."""

    def demands(self) -> Iterator[Demand]:
        """Yield the demands in the order of the text."""
        every = list(blocks(self.text, is_name))
        self.proposal = any(
            block.form is BlockForm.HEADING and is_of_proposal(self.text[block.start : block.end]) for block in every
        )
        for number, block in enumerate(every):
            if self.read > SENTENCES_MAX:
                return
            following = every[number + 1] if number + 1 < len(every) else None
            asked = False
            for demand in self._of_any(every, number, following):
                asked = True
                yield demand
            self.asked = self.asked if block.form in {BlockForm.HEADING, BlockForm.LABEL} else asked

    def _of_any(self, every: list[Block], number: int, following: Block | None) -> Iterator[Demand]:
        block = every[number]
        match block.form:
            case BlockForm.HEADING | BlockForm.LABEL:
                yield from self._of_heading(block, following, title=number == 0)
            case BlockForm.ITEM:
                yield from self._of_item(every, number, following)
            case BlockForm.CELL:
                yield from self._of_cell(block)
            case BlockForm.PROSE | BlockForm.TITLE:
                yield from self._of_prose(block, following, title=number == 0)

    def _of_prose(self, block: Block, following: Block | None, *, title: bool) -> Iterator[Demand]:
        part, self.label = self.label or self.heading, None
        self.leads.clear()
        self.listed = None
        self.asked_before = False
        self.introduced = self.text[block.end - 1] == ":"
        self.new = False
        for demand in self._of_block(block, part, following):
            self.asked_before = True
            self.task = self.task or title
            yield demand
        self.titled = self.titled or self.new
        small = sentence_at(self.text, block.start, min(block.end, block.start + TITLE_LENGTH_MAX)).small
        self.titled, self.named = self.titled or (title and announces(small)), title and names(small)

    def _of_cell(self, block: Block) -> Iterator[Demand]:
        """Yield the demands of a cell, which is read as the name of its column says."""
        if block.row == 0:
            role, kind = role_of(self.text[block.start : block.end])
            self.columns[block.column] = self.heading if role is Role.NEUTRAL else _Part(role, kind)
            if role is not Role.NEUTRAL:
                return
        part = self.columns.get(block.column, self.heading)
        if part.role is Role.ASKED and part is not self.heading:
            block = block._replace(form=BlockForm.ITEM)
        yield from self._of_block(block, part, None)

    def _of_heading(self, block: Block, following: Block | None, *, title: bool) -> Iterator[Demand]:
        self.leads.clear()
        self.listed, self.asked_before = None, False
        sentence = sentence_at(self.text, block.start, block.end)
        role, kind = role_of(sentence.written)
        if title and role is Role.ASKED and ":" in sentence.written:
            role, kind = Role.NEUTRAL, None  # "Proposal: use Kafka" is the title of the whole text.
        if role is not Role.NEUTRAL:
            self.asked = role is Role.ASKED
        if block.form is BlockForm.LABEL:
            lead = self._lead(sentence, self.heading)
            if following is not None and following.form is BlockForm.ITEM:
                self.leads.append((-1, lead))
            elif (
                following is None or not self.text[block.end : following.start].strip()
            ):  # Else it names the code between.
                self.label = lead
            return
        self.label = None
        if role is not Role.NEUTRAL:
            self.titled = self.proposal and is_abstract(sentence.written)
        self.named = role is Role.NEUTRAL and names(sentence.small)
        if role is not Role.NEUTRAL or not 0 < self.level < block.depth:
            self.heading, self.level = _Part(role, kind), block.depth
        if role is Role.NEUTRAL and (title or force_of(sentence.small) is Force.STRICT):
            for demand in self._of_sentence(sentence, self.heading, block):
                self.task = self.task or title
                yield demand
            self.titled = self.titled or (title and announces(sentence.small))

    def _of_item(self, every: list[Block], number: int, following: Block | None) -> Iterator[Demand]:
        block = every[number]
        while self.leads and self.leads[-1][0] >= block.depth:
            self.leads.pop()
        first = number == 0 or every[number - 1].form is not BlockForm.ITEM
        if first:
            self.listed = None
        part = self.leads[-1][1] if self.leads else self.label or self.heading
        if part.role in {Role.NEUTRAL, Role.TOLD}:
            if self.listed is None:
                self.listed = self._of_list(every, number, part)
            part = self.listed
        timed = _TIMED.match(self.text, block.start) is not None and part.role is not Role.ASKED
        if not block.checked and not timed:
            yield from self._of_block(block, part, following)

    def _of_list(self, every: list[Block], number: int, part: _Part) -> _Part:
        """Return how a list is read whose heading does not say so: by what most of its items are."""
        group = itertools.takewhile(
            lambda block: block.form is BlockForm.ITEM, every[number : number + LIST_LENGTH_MAX]
        )
        after = next((block for block in every[number:] if block.form is not BlockForm.ITEM), None)
        if number == 0 and every[0].ordered and after is not None and after.form is BlockForm.PROSE:
            return _Part(Role.OBSERVED)  # Steps that come before anything is said lead to what is observed.
        items = [sentence_at(self.text, block.start, block.end).small for block in group]
        if len(items) > 1 and every[number].ordered and 2 * sum(bool(UI.match(item)) for item in items) > len(items):
            return _Part(Role.OBSERVED)
        asking = sum(standing_force(item) is not Force.NONE for item in items)
        if (asking > 1 and 2 * asking >= len(items)) or specifies(items):
            return _Part(Role.ASKED, RequirementKind.GOAL)
        named = sum(bool(VERSION.search(item)) for item in items)
        if (
            (self.asked_before or (self.task and not self.introduced))
            and not named
            and 2 * sum(states(item) for item in items) < len(items)
        ):
            return _Part(Role.ASKED, RequirementKind.GOAL)
        return part

    def _of_block(self, block: Block, part: _Part, following: Block | None) -> Iterator[Demand]:
        every = list(sentences(self.text, block.start, block.end))
        introduces = following is not None and following.form is BlockForm.ITEM
        asking = False
        if block.form is BlockForm.PROSE and part.role in {Role.NEUTRAL, Role.TOLD} and len(every) >= TERSE_MIN:
            asking = 2 * sum(standing_force(sentence.small) is not Force.NONE for sentence in every) >= len(every)
            terse = sum(sentence.written[:1].islower() for sentence in every)
            if asking and 2 * terse > len(every):
                part = _Part(Role.LISTED, RequirementKind.GOAL)
        titled = self.titled or (self.named and any(rules(sentence.small) for sentence in every[:2]))
        plain = part.role in {Role.NEUTRAL, Role.TOLD} and block.form in {BlockForm.PROSE, BlockForm.ITEM}
        begun, follows, new = False, False, block.form is BlockForm.ITEM and self.asked_before
        demands: list[Demand] = []
        left: list[tuple[Sentence, Surroundings]] = []
        for position, sentence in enumerate(every):
            if (
                introduces
                and position == len(every) - 1
                and (
                    sentence.small.endswith(":")
                    or (block.form is BlockForm.PROSE and len(every) == 1 and is_name(sentence.written))
                )
            ):
                self.leads.append((block.depth if block.form is BlockForm.ITEM else -1, self._lead(sentence, part)))
                if _BARE_LEAD.search(sentence.small) or not instructs(sentence.small):
                    continue
            if (
                position == 0
                and block.form is not BlockForm.CELL
                and (named := self._run_in(block, sentence)) is not None
            ):
                part = named
                if ":" not in sentence.written[:-1] and is_name(sentence.written.rstrip(".:")):
                    continue
            found = list(self._of_sentence(sentence, part, block))
            between = (
                follows and position + 1 < len(every) and standing_force(every[position + 1].small) is not Force.NONE
            )
            around = Surroundings(
                titled=titled, new=new, follows=follows, asking=asking and begun, between=between, after=self.asked
            )
            if not found and plain:
                if self._adds(sentence, around):
                    found = list(self._demand(sentence, requirement_kind(sentence.small)))
                elif titled or begun or self.asked:
                    left.append((sentence, around))
            begun = begun or bool(found)
            planned = not found and plans(sentence.small)
            new = new or planned or (bool(found) and asks_for_new(sentence.small))
            follows = planned or (bool(found) and (new or asks_how(sentence.small)))
            demands += found
        if 2 * len(demands) >= len(every):
            for sentence, around in left:
                if self._adds(sentence, around._replace(asking=True)):
                    demands += self._demand(sentence, requirement_kind(sentence.small))
        self.new = new
        yield from sorted(demands, key=lambda demand: demand.start)

    def _adds(self, sentence: Sentence, around: Surroundings) -> bool:
        """Tell whether a sentence belongs to the demand before it, or to a paragraph of demands."""
        label = LABEL.match(sentence.small)
        if label and role_of(label["label"])[0] not in {Role.NEUTRAL, Role.ASKED}:
            return False
        if label and label["colon"] == ":" and label["label"] not in _ORDER and not states(label["label"]):
            return False
        cut = label.end() if label and label["label"] in _ORDER else 0
        small, written = sentence.small[cut:], sentence.written[cut:]
        return shall_be(small, written, around)

    def _run_in(self, block: Block, sentence: Sentence) -> _Part | None:
        """Return what the name at the beginning of a paragraph says: "**Motivation.** ...", "Constraints: ..."."""
        name = sentence.written.rstrip(".:")
        bold = self.text.startswith(("**", "__"), block.start) and is_name(name)
        label = None if bold else LABEL.match(sentence.written)
        if not bold and (label is None or label["colon"] != ":"):
            return None
        role, kind = role_of(label["label"] if label else name)
        if label is not None and role is Role.ASKED and kind is not RequirementKind.GOAL:
            return None  # "What has to remain: the API." says nothing of the sentences after it.
        return None if role is Role.NEUTRAL else _Part(role, kind)

    def _lead(self, sentence: Sentence, part: _Part) -> _Part:
        """Return how a list is read after the sentence that introduces it."""
        small = sentence.small.rstrip(":").rstrip()
        tail = small.rpartition(". ")[2]
        for name in (sentence.written, tail, tail.rpartition(", ")[2]):
            role, kind = role_of(name)
            if role is not Role.NEUTRAL:
                return _Part(role, kind)
        if force_of(small) is not Force.NONE or force_of(f"{small} be done") is not Force.NONE:
            return _Part(Role.ASKED, requirement_kind(small))
        return part if part.role is not Role.NEUTRAL else _Part(Role.TOLD)

    def _of_sentence(self, sentence: Sentence, part: _Part, block: Block) -> Iterator[Demand]:
        self.read += 1
        if self.read > SENTENCES_MAX:
            return
        foreign = is_foreign(sentence.written)
        self.last_foreign = self.last_foreign if foreign is None else foreign  # A short one is as the one before.
        if self.last_foreign:
            self.foreign += 1
            return
        if part.role is Role.SILENT or _LINK_ONLY.match(sentence.written) or _REPEATS.match(sentence.small):
            return
        label = LABEL.match(sentence.written)
        if label:
            role, kind = role_of(label["label"])
            if role in {Role.SILENT, Role.OBSERVED}:
                return
            if role is Role.ASKED:
                rest = sentence_at(self.text, sentence.start + label.end(), sentence.end)
                # "Out of scope: the page" says more than "the page".
                whole = sentence if kind is not RequirementKind.GOAL else rest
                yield from self._judged(rest, _Part(role, kind), block, whole)
                return
        for clause in clauses(self.text, sentence):
            yield from self._judged(clause, part, block, clause)

    def _judged(self, sentence: Sentence, part: _Part, block: Block, quoted: Sentence) -> Iterator[Demand]:
        small = sentence.small
        force, body = standing_force(small), without_label(small)
        if is_asked(part.role, block.form, small, force):
            default = part.kind if part.kind is not None and part.role is Role.ASKED else RequirementKind.GOAL
            kind = RequirementKind.SCOPE if default is RequirementKind.SCOPE else requirement_kind(body, default)
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
