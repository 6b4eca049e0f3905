"""The models of the files in `configs/templates/`: the tables and plan templates of the rules."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from actors.files.validation_errors import Config
from actors.rules.requirements import RequirementPatterns
from actors.rules.sentence_forms import FormTable
from actors.rules.subject import SubjectTable
from actors.values.requirements import RequirementKind

KINDS = ("bug_fix", "feature", "refactoring", "performance")
"""The kinds of problem that a text's words are weighed for."""
LISTS = ("alternatives", "constraints", "goals", "moves", "suspects", "targets")
"""The lists that a step may be repeated for (`for_each`); `actors.rules.slots` fills them."""
COMPUTED_CUES = frozenset(("failing_test", "investigate"))
"""The cues that no phrase shows: the text says that a test fails which it names; the strategy looks first."""
FILLED_SLOTS = frozenset(("area", "language", "location", "title"))
"""Slots that always have a value."""
OPTIONAL_SLOTS = frozenset(
    (
        "alternatives",
        "apis",
        "benchmarks",
        "cause",
        "constraints",
        "error",
        "failing",
        "files",
        "place",
        "steps",
        "tests",
        "wishes",
    )
)
"""Slots that are empty if the text has no such facts."""
TEXT_SLOTS = frozenset(("brief", "cause", "constraints", "error", "item", "items", "steps", "title", "wishes"))
"""Slots with words of the user, which may have any form and number: a sentence, a noun, an order."""
NAME_LISTS = frozenset(("suspects", "targets"))
"""The lists whose items are names."""
SLOT = re.compile(r"\{([a-z]+)\}")
_ALONE = re.compile(r'(?:^|.*: "?)\Z')
_ENDS = re.compile(r'"?\.?\Z|\. ')
_AFTER_NAME = re.compile(r"\Z|[.,:;]| (?:and|by|in|to|with)\b")
RESERVED = frozenset({"escalate", "continue", "never"})
"""The values of `on_failure` that are not step ids."""
Phrase = Annotated[str, Field(pattern=r"^[^A-Z*]+\*?$")]
"""Lower-case text to search for; a final `*` matches any continuation of the last word."""
STEP_ID = r"^[a-z][a-z0-9_]{0,59}$"
"""The pattern of step ids: four characters shorter than that of plans, for the number of a repeated step."""


def misplaced(sentence: str, for_each: str | None = None) -> str | None:
    """Return the first slot of a sentence that some values would make ungrammatical, or None.

    Words of the user are never a part of a clause: they stand as a sentence of their own, or at the end after a colon.
    Names, which may be one or several, are never a subject: no verb follows them.
    """
    for match in SLOT.finditer(sentence):
        before, after = sentence[: match.start()], sentence[match.end() :]
        if match[1] not in TEXT_SLOTS or (match[1] in {"brief", "item"} and for_each in NAME_LISTS):
            fits = _AFTER_NAME.match(after)
        else:
            fits = _ALONE.match(before) and _ENDS.match(after)
        if not fits:
            return match[1]
    return None


class Headings(Config):
    """Names of sections, in lower case."""

    reproduction: tuple[str, ...]
    """Sections with steps to reproduce the problem."""
    constraints: tuple[str, ...]
    """Sections whose sentences are constraints."""
    ignored: tuple[str, ...]
    """Sections that are not read, such as checklists."""
    generic: tuple[str, ...]
    """Headings that are not used as the title."""

    @property
    def not_prose(self) -> tuple[str, ...]:
        """The sections whose sentences say nothing about the kind of work."""
        return (*self.reproduction, *self.constraints, *self.ignored)


class Thin(Config):
    """The numbers of content words below which a text is too short to plan from."""

    words: int = Field(ge=0)
    """For a text with a signal of some kind of problem."""
    words_without_signal: int = Field(ge=0)
    """For a text without any signal."""


class Firm(Config):
    """The conditions under which a classification is firm."""

    score: float = Field(ge=0)
    """The least score of the best kind."""
    lead: float = Field(ge=0, le=1)
    """Its least lead over the next kind, as a share of its score."""


class Severity(Config):
    """The phrases that indicate a severity."""

    high: tuple[Phrase, ...]
    """Phrases that a problem of high severity has."""
    low: tuple[Phrase, ...]
    """Phrases that a problem of low severity has."""


class Certainty(Config):
    """How surely a kind holds, and from when on it is planned for."""

    prior: float = Field(gt=0)
    """What is added to the scores of both kinds, so that little evidence is no certainty."""
    ask_below: float = Field(ge=0, le=1)
    """The share of the evidence below which the user is asked."""
    least: float = Field(ge=0)
    """The score below which the user is asked."""


class WordSignals(Config):
    """The tables for the classification of a text; the file explains each."""

    types: dict[str, dict[Phrase, float]]
    """The phrases of each kind of problem, with their weights."""
    structure: dict[str, dict[str, float]]
    """The weights of stack traces, error names and steps to reproduce, for each kind."""
    title_weight: float
    """The additional factor of a phrase in the title."""
    opening_weight: float
    """The weight of a title that begins as the titles of a kind do."""
    lead_in: str
    """What may stand before the beginning."""
    openings: dict[str, tuple[str, ...]]
    """How titles of each kind begin, as regular expressions."""
    patterns: dict[str, dict[str, float]]
    """The regular expressions of each kind of problem, with their weights."""
    noun_phrase: dict[str, float]
    """The weight of a title that only names a thing, for each kind."""
    certainty: Certainty
    """How surely a kind must hold."""
    severity: Severity
    """The phrases that show a high or a low severity."""
    cues: dict[str, tuple[Phrase, ...]]
    """The phrases of each cue, on which steps of a template may depend."""
    headings: Headings
    """The names of sections that are read in a way of their own, or not at all."""
    thin: Thin
    """When a text is too short to plan from."""
    firm: Firm
    """The least score and lead of a classification that is firm."""
    stop_words: frozenset[str]
    """Words that are not content words."""

    @cached_property
    def compiled_openings(self) -> Mapping[str, re.Pattern[str]]:
        """One expression for the beginnings of each kind."""
        return {kind: re.compile("|".join(map("(?:{})".format, items))) for kind, items in self.openings.items()}

    @cached_property
    def compiled_lead_in(self) -> re.Pattern[str]:
        """The expression for what may stand before a beginning, repeated."""
        return re.compile(f"(?:{self.lead_in}){{0,4}}")

    @cached_property
    def compiled_patterns(self) -> Mapping[str, tuple[tuple[re.Pattern[str], float], ...]]:
        """The expressions of each kind with their weights."""
        return {
            kind: tuple((re.compile(pattern), weight) for pattern, weight in patterns.items())
            for kind, patterns in self.patterns.items()
        }


class Language(Config):
    """The signs of one programming language."""

    extensions: tuple[str, ...]
    """The extensions of its files, each without the dot."""
    words: tuple[str, ...]
    """Words that show it: its name, its tools and its libraries."""


class Weights(Config):
    """The weights of the signs of a language."""

    trace: int
    """The weight of a stack trace in the language."""
    file: int
    """The weight of a file with an extension of the language."""
    fence: int
    """The weight of a fenced code block in the language."""
    word: int
    """The weight of a word that shows the language."""


class Languages(Config):
    """The tables for languages, files and names in a text."""

    languages: dict[str, Language]
    """The signs of each programming language, by its name."""
    fences: dict[str, str]
    """The languages of the info strings of fenced code blocks."""
    weights: Weights
    """How much each sort of sign counts."""
    other_extensions: tuple[str, ...]
    """Extensions of files that belong to no language."""
    bare_files: frozenset[str]
    """Names of files without an extension."""
    not_files: frozenset[str]
    """Names that look like files but are none, in lower case."""
    roots: frozenset[str]
    """The usual names of top-level folders."""
    library_paths: tuple[str, ...]
    """Parts of paths, and prefixes of functions, that belong to libraries."""
    benchmark_paths: tuple[str, ...]
    """Parts of paths that belong to benchmarks."""
    names: frozenset[str]
    """Names that look like interfaces but are none."""

    @cached_property
    def extensions(self) -> Mapping[str, str]:
        """The language of each file extension; empty if it belongs to no language."""
        known = dict.fromkeys(self.other_extensions, "")
        known.update({ext: name for name, language in self.languages.items() for ext in language.extensions})
        return known


class Phrases(Config):
    """The sentences of artifacts other than plans; in a list, the first whose slots have values is used."""

    rationale: tuple[str, ...] = Field(min_length=1)
    """The sentences for the `rationale` of an analysis."""
    questions: tuple[str, ...] = Field(min_length=1)
    """The questions about a text that is too short, in their order."""
    doubt_questions: dict[str, str]
    """The question for each doubt that is asked about: `language` and `subject`."""
    kind_unclear: str
    """What stands below the question about the kind of problem."""
    kind_question: str
    """The question for the kind of problem."""
    kind_answers: dict[str, str]
    """The answers to choose from, by kind; `none` for another."""
    doubts: dict[str, str]
    """Why the author does not understand a problem: `language`, `subject`, `other`, `thin` and `kind`."""
    basis: dict[str, str]
    """What stands above a plan: `words`, `told`, `analysis` or `changed`, then `cause` and `template`."""
    takes_up: dict[str, str]
    """How a step says which requirements it takes up, by their kind; `{items}` are the requirements."""
    others: str
    """What ends a list that is not shown in full; `{count}` is the number of the others."""
    alternatives: str
    """What is evaluated where the text names no alternatives."""
    mended: str
    """The goal of a text that only reports a failure; `{failure}` is its words."""
    nameless: str
    """The title of a problem without one."""
    nowhere: str
    """The area of a problem that names no file or interface."""
    kinds: dict[str, str]
    """The kinds of problem as words."""
    strategy_rationale: tuple[str, ...] = Field(min_length=1)
    """The sentences for the `rationale` of a strategy."""
    strategy_changed: str
    """The start of the rationale after a rejection."""
    critique_point: str
    """The sentence with the points of a critique, in the final plan."""
    critique: dict[str, str]
    """The sentences of a critique, by key."""

    def kind(self, kind: str) -> str:
        """Return a kind of problem as words."""
        return self.kinds.get(kind, kind.replace("_", " "))


class StrategyStep(Config):
    """A key step of a strategy."""

    id: str = Field(pattern=STEP_ID)
    """The id by which the plan's steps refer to it."""
    text: str
    """What is to be done; it may have slots."""
    steps: tuple[str, ...]
    """The ids of the templates' steps that carry it out."""


class Strategy(Config):
    """A strategy for problems of some kinds."""

    name: str
    """The strategy's name, as people see it in the artifact."""
    kinds: tuple[str, ...]
    """The kinds of problem that it fits."""
    template: str | None
    """The kind whose plan template it uses; null is the kind of the problem."""
    why: str
    """The reason for it, as part of the rationale."""
    key_steps: tuple[StrategyStep, ...]
    """Its main steps; those with an empty slot are left out."""
    expected_guards: tuple[str, ...]
    """The guards that its plan uses."""
    risk_factors: tuple[str, ...]
    """Its risks; those with an empty slot are left out."""


class TemplateStep(Config):
    """A step of a plan template; keys without a description here are those of a plan's step."""

    step_id: str = Field(pattern=STEP_ID)
    name: str
    description: tuple[str | tuple[str, ...], ...]
    """Sentences; of a list of alternatives, the first whose slots have values is used."""
    generator: str
    guard: str
    retry_budget: int = Field(ge=1)
    dependencies: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    delete_effects: tuple[str, ...] = ()
    on_failure: str = "escalate"
    failure_effects: tuple[str, ...] = ()
    failure_delete_effects: tuple[str, ...] = ()
    only_if: str | None = None
    """The cue that the text must contain; null is no condition."""
    unless: str | None = None
    """The cue that the text must not contain; null is no condition."""
    needed: bool = False
    """Whether the step stays where no tool of the run executes it or checks it; any other is left out then."""
    for_each: str | None = None
    """The list for whose items the step is repeated; null is no repetition."""
    takes_up: RequirementKind | Literal["title"] | None = None
    """The kind of requirements that the step names and satisfies, or the goal that is the title of the text; those of a
    list are satisfied by its repetitions."""
    in_order: bool = False
    """Whether each repetition depends on the one before."""
    optional: bool = False
    """Whether the step is left out after a rejection."""


class PlanTemplate(Config):
    """A plan template, for one kind of problem."""

    kind: str
    """The kind of work that it plans, which is also its file's name."""
    goal: str
    """The plan's goal; it may have slots."""
    initial_state: tuple[str, ...]
    """The tokens that hold at the start."""
    goal_state: tuple[str, ...]
    """The tokens that should hold at the end."""
    steps: tuple[TemplateStep, ...] = Field(min_length=1)
    """The steps in the order in which plans list them."""


class RulesTables(Config):
    """All tables and templates of the rules, loaded and checked."""

    signals: WordSignals
    """The content of `signals.yaml`: what speaks for each kind of work."""
    languages: Languages
    """The content of `languages.yaml`: the signs of programming languages."""
    subject: SubjectTable
    """The content of `subject.yaml`: what speaks for software."""
    forms: FormTable
    """The content of `forms.yaml`: how the forms of sentences show."""
    requirements: RequirementPatterns
    """The content of `requirements.yaml`: how requirements show."""
    phrases: Phrases
    """The content of `phrases.yaml`: the sentences of artifacts."""
    strategies: dict[str, Strategy]
    """The content of `strategies.yaml`, by the id of the strategy."""
    templates: dict[str, PlanTemplate]
    """The plan templates, by the kind of work that they plan."""

    def __hash__(self) -> int:
        """Return the hash of the identity: rules are large, and built once for a model."""
        return id(self)
