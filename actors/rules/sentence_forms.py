"""What the form of a text says about the kind of work: statements, wishes, names, words about code, sorts of documents.

A title such as "The menu opens behind the player" has no word that speaks for a kind; it is a report because it states
how things are. The tables are those of `configs/templates/forms.yaml`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from actors.files.validation_errors import Config
from actors.rules.text import ProblemText, lower
from actors.rules.word_lists import WordList, words_of

STATEMENT, WISH, CAPABILITY, QUESTION, INSTRUCTION, NAME = (
    "statement",
    "wish",
    "capability",
    "question",
    "instruction",
    "name",
)
"""The forms of a sentence."""
SENTENCE_LENGTH_MAX = 300
"""Characters of a sentence that patterns are tried on."""
PROPOSAL_SIGNS = 2
"""Sections or phrases from which on a text is a proposal."""
AIM_SENTENCES = 10
"""Sentences at the beginning of a proposal in which its aim is looked for."""

LINES_READ = 200
"""Lines at the beginning of a text in which the heading of a proposal is looked for."""

_LINK_TARGET = re.compile(r"\[[^\]]{1,60}\]: \S+$")
_PLURAL = re.compile(r"[a-z-]{2,}[a-rt-z0-9]s$|[a-z]+ies$")


class FormTable(Config):
    """The content of `forms.yaml`; the file explains each entry."""

    verbs: tuple[str, ...]
    """Base forms of verbs that are hardly used as nouns."""
    noun_verbs: tuple[str, ...]
    """Base forms of verbs that are nouns too."""
    after_verb: frozenset[str]
    """Words that follow a verb and seldom a noun."""
    prepositions: frozenset[str]
    """Those of them that follow a noun as often."""
    determiners: frozenset[str]
    """Words with which a sentence begins more often than a name."""
    be: frozenset[str]
    """Auxiliary verbs and irregular past forms."""
    before_infinitive: frozenset[str]
    """Words after which the base form of a verb is an infinitive, such as `to` and `can`."""
    clause_words: frozenset[str]
    """Words that begin a subordinate clause."""
    wish: str
    """An expression that is found in a wish."""
    question: str
    """How a question for something new begins."""
    capability: str
    """How a sentence that says what somebody can do begins."""
    quantity: str
    """A measured time, rate or size."""
    code_words: tuple[str, ...]
    """Words about the code itself, which speak for a refactoring."""
    proposal: tuple[str, ...]
    """Phrases that show that a text is a proposal."""
    proposal_sections: frozenset[str]
    """Names of sections of a proposal."""
    advisory: str
    """The first line of a security advisory."""
    proposal_heading: str
    """A heading without marks that only proposals have."""
    aim: str
    """Words after which a proposal names what it does."""
    aim_passive: str
    """Words after which a proposal says what becomes of something."""
    aims: dict[str, str]
    """For each kind of work how a proposal of it names what it does."""
    weights: dict[str, float]
    """How much each form counts for the kind of work that it speaks for."""
    sentences: int
    """How many sentences below the title are looked at."""

    @cached_property
    def compiled(self) -> Mapping[str, re.Pattern[str]]:
        """The compiled expressions, by the names of their entries."""
        return {
            name: re.compile(getattr(self, name))
            for name in ("wish", "question", "capability", "quantity", "advisory", "aim", "aim_passive")
        }

    @cached_property
    def compiled_aims(self) -> Mapping[str, re.Pattern[str]]:
        """The compiled expressions for what a proposal does, by kind."""
        return {kind: re.compile(pattern) for kind, pattern in self.aims.items()}

    @cached_property
    def third_person(self) -> Mapping[str, bool]:
        """The third-person forms of the verbs, each with whether it is a noun too."""
        forms = {_third_person(verb): False for verb in self.verbs}
        return forms | {_third_person(verb): True for verb in self.noun_verbs}

    @cached_property
    def after_noun_verb(self) -> frozenset[str]:
        """Words that show that a word before them is a verb, although it may be a noun."""
        return self.after_verb - self.prepositions

    @cached_property
    def bases(self) -> frozenset[str]:
        """The base forms of all verbs."""
        return frozenset((*self.verbs, *self.noun_verbs))

    @cached_property
    def plain_verbs(self) -> frozenset[str]:
        """The base forms of the verbs that are no nouns."""
        return frozenset(self.verbs) - frozenset(self.noun_verbs)

    @cached_property
    def code_list(self) -> WordList:
        """The words about code, prepared for a search."""
        return WordList(self.code_words)


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of a text's title and sentences, and what else in it speaks for a type."""

    title: str
    """The form of the title; empty where there is none."""
    below: tuple[tuple[str, str], ...]
    """Each sentence below the title with its form."""
    items: int
    """How many list items the text has, outside the sections that are left out."""
    code_title: tuple[str, ...]
    """The words about code in the title."""
    code_below: tuple[str, ...]
    """The words about code that the text has below the title only."""
    quantities: tuple[str, ...]
    """The measured times, rates and sizes."""
    proposal: bool
    """Whether the text is a proposal of a change."""
    advisory: str
    """The first line of a security advisory, or an empty text."""
    aim: tuple[str, str]
    """The kind of work that a proposal names as its own, and the words; two empty texts where it names none."""


def after_topic(title: str) -> tuple[int, ...]:
    """Return where a title goes on after a topic: "Imports: speed up", "Cells - move the tables"."""
    places = ((title.find(mark), len(mark)) for mark in (": ", " - "))
    return tuple(place + length for place, length in places if place >= 0)


def forms_of(text: ProblemText, title: str, ignored: Sequence[str], table: FormTable) -> Forms:
    """Return the forms of a text; sentences of the sections `ignored` are left out."""
    every = _sentences(text, frozenset(ignored))
    whole = next((sentence for sentence in every if title and sentence.startswith(title)), title)  # A title may be cut.
    below = [sentence for sentence in every if sentence != whole][: table.sentences]
    in_title = table.code_list.hits(words_of(title), lower(title))
    rest = " ".join(below)
    in_rest = table.code_list.hits(words_of(rest), lower(rest))
    first = next((line.text for line in text.written), "")[:SENTENCE_LENGTH_MAX]
    advisory = table.compiled["advisory"].match(lower(first))
    formed = tuple((sentence, form_of(sentence, table)) for sentence in below)
    signs = _proposal_signs(text, table)
    aim = _aim(title, formed, table) if signs else ("", "")
    return Forms(
        title=form_of(whole, table) if title else "",
        below=formed,
        items=sum(passage.item and passage.section not in ignored for passage in text.passages),
        code_title=tuple(dict.fromkeys(in_title)),
        code_below=tuple(word for word in dict.fromkeys(in_rest) if word not in in_title),
        quantities=tuple(match[0] for match in table.compiled["quantity"].finditer(lower(text.head))),
        proposal=signs + bool(aim[0]) >= PROPOSAL_SIGNS,
        advisory=first[: advisory.end()] if advisory else "",
        aim=aim,
    )


def form_of(sentence: str, table: FormTable) -> str:
    """Return the form of a sentence.

    It states something if it has more verbs than subordinate clauses, or begins with a clause.
    """
    small = lower(sentence[:SENTENCE_LENGTH_MAX])
    words = words_of(small)
    compiled = table.compiled
    if compiled["question"].match(small):
        return QUESTION
    verbs = list(_verbs(words, table))
    end = next((position for position, word in enumerate(words) if word in table.clause_words), len(words))
    if words and _instructs(words, table) and not any(position < end for position in verbs):
        return INSTRUCTION
    clauses = sum(word in table.clause_words for word in words[1 : verbs[-1]]) if verbs else 0
    states = len(verbs) > clauses or bool(verbs and words[0] in table.clause_words)
    if words and not states and _instructs(words, table):
        return INSTRUCTION
    if compiled["capability"].match(small):
        return CAPABILITY
    if compiled["wish"].search(small):
        return WISH
    return STATEMENT if states else NAME


def _instructs(words: Sequence[str], table: FormTable) -> bool:
    """Return whether the words begin with an instruction: "cache the rates", not "profile pictures"."""
    if words[0] in table.plain_verbs:
        return True
    return words[0] in table.bases and len(words) > 1 and words[1] in table.after_verb


def _verbs(words: Sequence[str], table: FormTable) -> Iterator[int]:
    """Yield the places of the finite verbs after the first word, and of auxiliaries."""
    for position, word in enumerate(words):
        if word in table.be or word.endswith("n't") or (position > 0 and _is_verb(words, position, table)):
            yield position


def _is_verb(words: Sequence[str], position: int, table: FormTable) -> bool:
    """Return whether the word at this place is a finite verb, as far as its neighbours show."""
    word, before = words[position], words[position - 1]
    following = words[position + 1] if position + 1 < len(words) else ""
    noun_too = table.third_person.get(word)
    if noun_too is not None:
        # "The week starts on Sunday" has a verb, "tags in the list" has none.
        whole = position > 1 and words[0] in table.determiners and following in table.after_verb
        return whole or not noun_too or following in table.after_noun_verb
    if word in table.plain_verbs:
        return before not in table.before_infinitive
    plural = _PLURAL.search(before) is not None and before not in table.third_person
    return plural and word in table.bases and following in table.after_verb


def _sentences(text: ProblemText, ignored: frozenset[str]) -> list[str]:
    """Return the sentences of the paragraphs outside the sections `ignored`."""
    passages = (passage for passage in text.passages if not passage.item and passage.section not in ignored)
    every = (sentence for passage in passages for sentence in passage.sentences)
    return [sentence for sentence in every if not _LINK_TARGET.match(sentence)]


def is_proposal(text: ProblemText, table: FormTable) -> bool:
    """Return whether a text is a proposal of a change, by its sections and phrases alone."""
    return _proposal_signs(text, table) >= PROPOSAL_SIGNS


def _proposal_signs(text: ProblemText, table: FormTable) -> int:
    """Return how many sections and phrases of a proposal a text has."""
    small = lower(text.head)
    sections = {line.section for line in text.written} & table.proposal_sections
    heading = any(line.text.strip().lower() == table.proposal_heading for line in text.written[:LINES_READ])
    return len(sections) + heading + sum(phrase in small for phrase in table.proposal)


def _aim(title: str, below: Sequence[tuple[str, str]], table: FormTable) -> tuple[str, str]:
    """Return the kind of work that a proposal names as its own, and the words; two empty texts where it names none.

    The first sentence that speaks of the proposal ("This RFC proposes to remove") or is an instruction ("Rename
    `StrBuf`") comes first, then the title, then what becomes of something ("can be removed"). Whoever says that the
    goal is speed means it: that comes before what else is named.
    """
    read = below[:AIM_SENTENCES]
    whole = [form == INSTRUCTION or number == 0 for number, (_, form) in enumerate(read)]
    stated = [_named(sentence, "aim", table, whole=start) for (sentence, _), start in zip(read, whole, strict=True)]
    topics = [_named(title[place:], "aim", table, whole=True) for place in (0, *after_topic(title))]
    passive = [_named(sentence, "aim_passive", table, whole=False) for sentence, _ in read]
    named = [aim for aim in (*stated, *topics, *passive) if aim[0]]
    return next((aim for aim in stated if aim[0] == "performance"), named[0] if named else ("", ""))


def _named(sentence: str, lead: str, table: FormTable, *, whole: bool) -> tuple[str, str]:
    """Return the kind that is named after the words `lead`, or at the beginning if `whole`, and the words."""
    small = lower(sentence[:SENTENCE_LENGTH_MAX])
    places = [match.end() for match in table.compiled[lead].finditer(small)]
    for place in [0, *places] if whole else places:
        for kind, pattern in table.compiled_aims.items():
            if match := pattern.match(small, place):
                return kind, sentence[place : match.end()]
    return "", ""


def _third_person(verb: str) -> str:
    if verb.endswith(("s", "x", "ch", "sh", "o", "z")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}s"
