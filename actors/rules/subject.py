"""Whether a text is about software, and in which natural language it is written.

Both are decided by counting words: `configs/templates/subject.yaml` holds the lists. A word counts once, so repeating
it changes nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pydantic import Field

from actors.files.validation_errors import Config
from actors.rules.word_lists import WordList, words_of

ENGLISH = "english"
OTHER_SCRIPT = "another script"
WORDS_SHOWN = 4
REFUSAL_LEAD = 2  # how many times the score for software the score against it must exceed for a text to be refused
SURELY = 4  # the score against software from which on that lead is enough; below, it must be twice as large
HITS_MIN = 2  # words or letters of another language below which a text is taken for English
WORDS_MIN = 7  # words from which on a text without a small word of English needs one of another language only
SCRIPT_SHARE = 0.3  # share of letters beyond the Latin ones above which a text is in another script
LATIN_END = 0x24F
HINTS_ALONE = 3  # words used in both worlds from which on they are enough without another
ACRONYM = re.compile(r"\b(?:[A-Z]{2,5}|v\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)\b")  # "PDF", and a version such as "v0.5"


class SoftwareWords(Config):
    """The words that speak for software, and their weights."""

    plain: tuple[str, ...]
    """Words that name software itself."""
    sure: tuple[str, ...]
    """Words that are hardly used outside software."""
    likely: tuple[str, ...]
    """Words that are used more often in software than elsewhere."""
    hints: tuple[str, ...]
    """Words that are used in both worlds."""
    weights: dict[str, float]
    """The weight of a word of each list, and of an `anchor`."""
    enough: float = Field(gt=0)
    """The score from which on a text is about software."""
    lead: float = Field(ge=0)
    """How many times the score of the other words the score must exceed."""
    surely: float = Field(gt=0)
    """The score below which a single word that speaks against software makes the subject doubtful."""


class OtherWords(Config):
    """The words that speak against software, and their weights."""

    words: tuple[str, ...]
    """Words of everyday life, which are hardly used about software."""
    weak: tuple[str, ...]
    """Words that lean towards everyday life."""
    weights: dict[str, float]
    """The weight of a word of each list."""
    acronyms: frozenset[str]
    """Acronyms of everyday life; any other one speaks for software."""
    openings: tuple[str, ...]
    """Beginnings of texts that are not about software."""
    opening_weight: float
    """The weight of such a beginning."""


class SubjectTable(Config):
    """The content of `configs/templates/subject.yaml`: words by what they speak for."""

    software: SoftwareWords
    """The words that speak for software."""
    other: OtherWords
    """The words that speak against it."""
    languages: dict[str, tuple[str, ...]]
    """The small words of each natural language."""
    letters: dict[str, str]
    """The letters that are typical of a language."""

    @cached_property
    def software_lists(self) -> Mapping[str, WordList]:
        """The lists of software words, prepared."""
        software = self.software
        return {name: WordList(getattr(software, name)) for name in ("plain", "sure", "likely", "hints")}

    @cached_property
    def other_lists(self) -> Mapping[str, WordList]:
        """The lists of other words, prepared."""
        return {name: WordList(getattr(self.other, name)) for name in ("words", "weak")}

    @cached_property
    def small_words(self) -> Mapping[str, frozenset[str]]:
        """The small words of each language as sets."""
        return {name: frozenset(words) for name, words in self.languages.items()}


@dataclass(frozen=True, slots=True)
class Subject:
    """What a text is about: software or not, in which natural language, and by which words."""

    language: str
    """The natural language: a name of the table, or `another script`."""
    score: float
    """The sum of the weights of what speaks for software."""
    other: float
    """The sum of the weights of what speaks against it."""
    words: tuple[str, ...]
    """The first words that speak for software."""
    other_words: tuple[str, ...]
    """The first words that speak against it."""
    is_software: bool
    """Whether the text is clearly about software."""
    is_other: bool
    """Whether the text is clearly about something else."""


def subject_of(prose: str, *, anchored: bool, symptom: bool, table: SubjectTable) -> Subject:
    """Return what a text is about.

    `anchored` says that it names a file, an interface, a test or a stack trace, `symptom` that it shows a clear sign of
    a kind of work.
    """
    small = prose.lower()
    distinct = list(dict.fromkeys(words_of(prose)))
    score, words = table.software.weights["anchor"] * anchored, list[str]()
    strong = anchored
    for name, software in table.software_lists.items():
        hits = software.hits(distinct, small)
        score += table.software.weights[name] * len(hits)
        words += hits
        strong = strong or bool(hits and name != "hints") or len(hits) >= HINTS_ALONE
    if any(word not in table.other.acronyms for word in ACRONYM.findall(prose)):
        score, strong = score + table.software.weights["acronym"], True
    other, others = 0.0, list[str]()
    for name, everyday in table.other_lists.items():
        hits = everyday.hits(distinct, small)
        other += table.other.weights[name] * len(hits)
        others += hits if name == "words" else []
    if small.lstrip(" #*>-").startswith(table.other.openings):
        other += table.other.opening_weight
    score += table.software.weights["symptom"] * (symptom and not others)
    refusal_lead = REFUSAL_LEAD if other >= SURELY else 2 * REFUSAL_LEAD
    leads = score > table.software.lead * other and (other == 0 or score >= table.software.surely)
    return Subject(
        language=natural_language(prose, table),
        score=score,
        other=other,
        words=tuple(words[:WORDS_SHOWN]),
        other_words=tuple(others[:WORDS_SHOWN]),
        is_software=leads and strong and score >= table.software.enough,
        is_other=other >= table.software.enough and other > refusal_lead * score,
    )


def natural_language(prose: str, table: SubjectTable) -> str:
    """Return the language that the small words and letters of a text speak for; English where nothing speaks at all."""
    small = prose.lower()
    letters = sum(sign.isalpha() for sign in small)
    if letters and sum(sign.isalpha() and ord(sign) > LATIN_END for sign in small) > SCRIPT_SHARE * letters:
        return OTHER_SCRIPT
    words = words_of(small)
    scores = {name: sum(word in small_words for word in words) for name, small_words in table.small_words.items()}
    for name, typical in table.letters.items():
        scores[name] += sum(any(sign in typical for sign in word) for word in set(words))
    best = max(scores, key=lambda name: scores[name])
    enough = HITS_MIN if scores[ENGLISH] or len(words) < WORDS_MIN else 1
    return best if scores[best] >= enough and scores[best] > scores[ENGLISH] else ENGLISH
