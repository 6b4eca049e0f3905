"""What a text demands: each list item, number, constraint and deadline as a requirement, and the cause that it states.

Every requirement quotes the text. Nothing stated is left out, up to `REQUIREMENTS_MAX`; the patterns are those of
`configs/templates/requirements.yaml`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from actors.files.config_model import Config
from actors.guards.fields import folded
from actors.rules.sentence_forms import INSTRUCTION, STATEMENT, FormTable, form_of, is_proposal
from actors.rules.text import Passage, Text, lower, sentences, shorten
from actors.values.requirements import Requirement, RequirementKind, RequirementSource, requirement_id

REQUIREMENTS_MAX = 200
CLAUSE_LENGTH_MAX = 400  # patterns are tried on at most so many characters at once
SENTENCES_READ_MAX = 4000  # sentences that are compared with the patterns: the reading stays below a second
PARTS_MAX = 10  # sentences of a list item that are asked for their kind
WISHES_WITHIN = 14  # in a feature request of at most so many sentences, a plain statement is a wish too
MENDED_WITHIN = 40  # sentences at the beginning in which the right value of a failure is looked for
TRACE_START = 60  # characters by which a sentence is recognised as a part of a stack trace
END = " .;,"
CAUSED = frozenset(("bug_fix", "performance"))  # kinds of problems that have a cause

_ADDRESS_ONLY = re.compile(r"(?:\[\]\([^)]*\)|<?https?://\S+>?)[.,;]?$")
_NAMED_LINK = re.compile(r"\[(?:\S+ ?){1,2}\]\([^)]*\)[.,;]?$")
_SENTENCE = re.compile(r"[.;] (?=\W?[A-Z`])")
_BOX = re.compile(r"\[[ xX]\] +")
_CLAUSES = re.compile(r"(?<=[a-z0-9)\"'`]); +|, (?=(?:and|but) )")
_LINKING = re.compile(r"^(?:and|but|so|also) ")
_INSTEAD = re.compile(r"\binstead(?: of)?\b|\b(?:as|than|not) expected\b|(?<!^)\bexpect(?:s|ed)?\b")
_RIGHT = re.compile(
    r"(?P<what>[^:;]{1,200}?) (?P<verb>gives|returns|shows|prints|yields|is|are|contains|sends|writes|has|gets) "
    r"(?P<wrong>[^:;,]{1,80}?),? instead of (?P<right>[^;]{1,80})$"
)
_MODAL = re.compile(r"\b(?:should|must|shall|ought|has to|have to|target|goal|aim|want|wants|please)\b")


class RequirementPatterns(Config):
    """The content of `configs/templates/requirements.yaml`: how requirements show in a text."""

    order: tuple[RequirementKind, ...]
    """The kinds in the order in which they are tried."""
    patterns: dict[RequirementKind, tuple[str, ...]]
    """The regular expressions of each kind."""
    weak: dict[RequirementKind, tuple[str, ...]]
    """Further expressions, which demand nothing in the report of a failure."""
    reported: str
    """What shows that a number was measured."""
    sections: dict[str, RequirementKind]
    """The sections all of whose sentences are requirements, and the kind that they have by themselves."""
    context: str
    """What shows that a sentence describes how things are."""
    number: str
    """How a number with something that is counted shows."""
    demanded: str
    """What shows that a number is asked for."""
    causes: tuple[str, ...]
    """How a stated cause shows; the group is the cause."""
    causes_not_in: tuple[RequirementKind, ...]
    """The kinds of sentences that state no cause of the problem."""

    @cached_property
    def compiled(self) -> Mapping[RequirementKind, re.Pattern[str]]:
        """One expression for each kind, in the order in which they are tried."""
        return {kind: re.compile("|".join(map("(?:{})".format, self.patterns[kind]))) for kind in self.order}

    @cached_property
    def compiled_weak(self) -> Mapping[RequirementKind, re.Pattern[str]]:
        """One expression for each kind that has weak ones, in the order in which they are tried."""
        kinds = (kind for kind in self.order if kind in self.weak)
        return {kind: re.compile("|".join(map("(?:{})".format, self.weak[kind]))) for kind in kinds}

    @cached_property
    def single(self) -> Mapping[str, re.Pattern[str]]:
        """The expressions that are no lists."""
        return {name: re.compile(getattr(self, name)) for name in ("context", "number", "demanded", "reported")}

    @cached_property
    def cause_patterns(self) -> tuple[re.Pattern[str], ...]:
        """The compiled expressions for a stated cause, the plainest wording first."""
        return tuple(map(re.compile, self.causes))

    def kind_of(self, clause: str, *, failure: bool = False) -> RequirementKind | None:
        """Return the kind that a clause's own words name, or None; `failure`: whether the text reports a failure."""
        small = lower(clause[:CLAUSE_LENGTH_MAX])
        if failure:  # "6 instead of 3" says what is wrong there, not what is wanted.
            small = _INSTEAD.sub(" ", small)
        kind = next((kind for kind, pattern in self.compiled.items() if pattern.search(small)), None)
        if kind is RequirementKind.GOAL and self.single["reported"].search(small):
            demanded = _MODAL.search(small)
            return RequirementKind.GOAL if demanded else RequirementKind.SCOPE
        if kind is None and not failure:
            kind = next((kind for kind, pattern in self.compiled_weak.items() if pattern.search(small)), None)
            if kind is not None and self.single["reported"].search(small):
                return RequirementKind.SCOPE
        return kind


@dataclass(frozen=True, slots=True)
class Stated:
    """What a text demands, and the cause that it states."""

    requirements: tuple[Requirement, ...]
    """The requirements in the order of the text, those that the user has added since first."""
    cause: str
    """The stated cause as quoted, or an empty text."""
    more: bool
    """Whether the text states more than are listed."""
    unread: bool = False
    """Whether the text has more sentences than were searched for requirements."""


def stated_in(
    text: Text,
    added: Iterable[str],
    known: Iterable[str],
    title: str,
    *,
    kind: str,
    patterns: RequirementPatterns,
    forms: FormTable,
    mended: str,
) -> Stated:
    """Return what the text demands.

    `added` are the requirements that the user has added since, `known` the stack traces and the steps to reproduce,
    `title` the text's title; `kind` is the kind of problem: in a feature request plain statements are wishes, in a bug
    report they demand nothing. `mended` is the phrase for the goal of a report that says none.
    """
    reader = _Reader(text, frozenset(map(folded, known)), title, kind, patterns, forms)
    distinct: dict[str, Requirement] = {}
    own = (_requirement(patterns.kind_of(item) or RequirementKind.GOAL, folded(item), "user") for item in added)
    unread = iter(range(SENTENCES_READ_MAX))
    for requirement in (*own, *reader.requirements(unread)):
        if len(distinct) > REQUIREMENTS_MAX:
            break
        distinct.setdefault(requirement.id, requirement)
    wanted = any(requirement.kind == RequirementKind.GOAL for requirement in distinct.values())
    if kind == "bug_fix" and not wanted and (goal := reader.mended(mended)) is not None:
        distinct = {goal.id: goal, **{name: each for name, each in distinct.items() if name != goal.id}}
    kept = tuple(distinct.values())
    more = len(kept) > REQUIREMENTS_MAX
    return Stated(kept[:REQUIREMENTS_MAX], reader.cause(), more, unread=next(unread, None) is None)


def _requirement(kind: RequirementKind, quote: str, source: str) -> Requirement:
    text = _LINKING.sub("", quote).rstrip(END) or quote
    return Requirement(requirement_id(quote), str(kind), text, quote, source)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one text, passage by passage."""

    text: Text
    known: frozenset[str]
    title: str
    kind: str
    patterns: RequirementPatterns
    forms: FormTable

    def requirements(self, unread: Iterator[int]) -> Iterator[Requirement]:
        """Yield the requirements in the order of the text; a quote that does not stand in it is left out.

        Each sentence takes an item of `unread`; no sentence is read once it is empty.
        """
        seen: set[str] = set()
        plain = self._few_sentences()
        for passage in self.text.passages:
            for kind, quote in self._of_passage(passage, plain, unread):
                if quote not in seen and (source := self._source(quote)) is not None:
                    yield _requirement(kind, quote, source)
                seen.add(quote)

    def mended(self, phrase: str) -> Requirement | None:
        """Return what shall be true once a reported failure is mended: the right value, else that it is gone."""
        pieces = list(self._pieces(MENDED_WITHIN))
        for piece in pieces:
            match = _RIGHT.search(piece.rstrip(END))
            if match and (source := self._source(piece)) is not None:
                said = f"{match['what'].strip()} {match['verb']} {match['right']}, not {match['wrong']}"
                return Requirement(requirement_id(piece), str(RequirementKind.GOAL), said, piece, source)
        quote = next((piece for piece in pieces if self.title and piece.startswith(self.title)), self.title)
        source = self._source(quote) if quote else None
        if source is None:
            return None
        said = phrase.replace("{failure}", quote.rstrip(END))
        return Requirement(requirement_id(quote), str(RequirementKind.GOAL), said, quote, source)

    def cause(self) -> str:
        """Return the first cause that the text states, the plainest wording first; none for what is only wanted."""
        if self.kind not in CAUSED or is_proposal(self.text, self.forms):
            return ""
        pieces = list(dict.fromkeys(self._pieces(SENTENCES_READ_MAX)))
        for pattern in self.patterns.cause_patterns:
            for piece in pieces:
                small = lower(piece)
                match = pattern.search(small)
                if match and self.patterns.kind_of(piece) not in self.patterns.causes_not_in:
                    return _SENTENCE.split(piece[match.start(1) : match.end(1)], maxsplit=1)[0].rstrip(END)
        return ""

    def _pieces(self, limit: int) -> Iterator[str]:
        """Yield the sentences of the text, cut to the length that patterns may see."""
        for passage in self.text.passages:
            for piece in _cut(sentences(passage.text)):
                yield piece
                limit -= 1
                if limit == 0:
                    return

    def _few_sentences(self) -> bool:
        """Return whether the text is short enough for its plain statements to be wishes."""
        return self.kind == "feature" and sum(1 for _ in self._pieces(WISHES_WITHIN + 1)) <= WISHES_WITHIN

    def _of_passage(
        self, passage: Passage, plain: bool, unread: Iterator[int]
    ) -> Iterator[tuple[RequirementKind, str]]:
        whole = passage.text
        if passage.text.startswith("#"):
            return
        if passage.item:
            whole = _BOX.sub("", whole, count=1)
            if not _ADDRESS_ONLY.match(whole):
                yield from self._of_item(whole, passage.section, unread)
            return
        by_section = self.patterns.sections.get(passage.section)
        for sentence, _ in zip(_cut(sentences(whole)), unread, strict=False):
            if not any(sentence[:TRACE_START] in fact for fact in self.known) and not self._is_title(sentence):
                yield from self._of_sentence(sentence, by_section, plain)

    def _of_item(self, whole: str, section: str, unread: Iterator[int]) -> Iterator[tuple[RequirementKind, str]]:
        """Yield what a list item states: all of it, or its sentences, if it is long or they state several kinds."""
        # What a list in the report of a failure says is what happens, unless its words or its heading demand it.
        plain = RequirementKind.SCOPE if self._reports(whole) else RequirementKind.GOAL
        default = self.patterns.sections.get(section, plain)
        if whole in self.known or _NAMED_LINK.match(whole):
            default = RequirementKind.SCOPE
        parts = sentences(whole)
        several = len({kind for part in parts[:PARTS_MAX] if (kind := self._named(part)) is not None}) > 1
        pieces = _cut(parts if several or len(whole) > CLAUSE_LENGTH_MAX else [whole])
        for piece, _ in zip(pieces, unread, strict=False):
            kind = self._named(piece)
            yield (default if default is RequirementKind.SCOPE or kind is None else kind), piece

    def _of_sentence(
        self, sentence: str, by_section: RequirementKind | None, plain: bool
    ) -> Iterator[tuple[RequirementKind, str]]:
        clauses = _CLAUSES.split(sentence)
        kinds = [self._kind(clause, plain) for clause in clauses]
        if len(clauses) > 1 and all(kinds) and len(set(kinds)) > 1:
            yield from ((kind, clause) for kind, clause in zip(kinds, clauses, strict=True) if kind is not None)
            return
        if by_section is RequirementKind.GOAL and self.patterns.single["context"].search(lower(sentence)):
            by_section = RequirementKind.SCOPE
        kind = self._kind(sentence, plain) or by_section
        if kind is None and form_of(sentence, self.forms) == INSTRUCTION:
            kind = RequirementKind.GOAL
        if kind is not None:
            yield kind, sentence

    def _kind(self, clause: str, plain: bool) -> RequirementKind | None:
        """Return what a clause of prose states, or None for one that states no requirement."""
        small = lower(clause[:CLAUSE_LENGTH_MAX])
        if self.kind == "bug_fix":
            small = _INSTEAD.sub(" ", small)
        named, single = self._named(clause), self.patterns.single
        if named is not None:
            return named
        if single["number"].search(small):
            asked_for = self.kind == "feature" or single["demanded"].search(small) is not None
            if single["reported"].search(small):
                asked_for = False
            return RequirementKind.GOAL if asked_for else RequirementKind.SCOPE
        if plain and not single["context"].search(small) and not small.endswith(":"):
            return RequirementKind.GOAL
        return None

    def _reports(self, item: str) -> bool:
        """Return whether a list item, by itself, reports a failure."""
        return self.kind == "bug_fix" and form_of(item, self.forms) == STATEMENT and not _MODAL.search(lower(item))

    def _is_title(self, sentence: str) -> bool:
        """Return whether a sentence only repeats the title, and demands nothing by its own words."""
        plain = sentence.strip(" *=_:").rstrip(".")
        if plain != self.title:
            return False
        small = lower(plain[:CLAUSE_LENGTH_MAX])
        return not self.patterns.single["number"].search(small) and self._named(plain) is None

    def _named(self, clause: str) -> RequirementKind | None:
        return self.patterns.kind_of(clause, failure=self.kind == "bug_fix")

    def _source(self, quote: str) -> str | None:
        """Return who stated a quote, or None where it does not stand in the text."""
        parts = self.text.folded_parts
        place = next((number for number, part in enumerate(parts) if quote in part), None)
        if place is None:
            return None
        return str(RequirementSource.PROBLEM if place == 0 else RequirementSource.ANSWER)


def _cut(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the pieces, each in parts of at most `CLAUSE_LENGTH_MAX` characters, cut between words."""
    for piece in pieces:
        rest = piece
        while len(rest) > CLAUSE_LENGTH_MAX:
            head = shorten(rest, CLAUSE_LENGTH_MAX)
            yield head
            rest = rest[len(head) :].lstrip()
        if rest:
            yield rest
