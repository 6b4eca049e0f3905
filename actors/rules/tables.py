"""The tables and templates of the rules: what the files of `configs/templates/` may hold."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated

from pydantic import Field

from actors.files.config_model import Config
from actors.rules.subject import SubjectTable

KINDS = ("bug_fix", "feature", "refactoring", "performance")
LISTS = ("constraints", "moves", "suspects", "targets")
"""What `for_each` may go over; `actors.rules.slots` fills them, and the slots."""
SLOTS_SURE = frozenset(("area", "language", "location", "title"))
SLOTS_MAYBE = frozenset(("apis", "benchmarks", "constraints", "error", "files", "place", "steps", "tests", "wishes"))
"""Slots that have nothing to show when the text names no such thing."""
SLOT = re.compile(r"\{([a-z]+)\}")
RESERVED = frozenset({"escalate", "continue", "never"})
Phrase = Annotated[str, Field(pattern=r"^[^A-Z*]+\*?$")]
"""Lower-case text to look for; a final `*` lets the last word go on."""
STEP_ID = r"^[a-z][a-z0-9_]{0,59}$"  # the house's step ids, less four characters for the number of a repeated step


class Headings(Config):
    """Names of sections, lower case: where steps and constraints stand, what is skipped, what is no title."""

    reproduction: tuple[str, ...]
    constraints: tuple[str, ...]
    ignored: tuple[str, ...]
    generic: tuple[str, ...]


class Thin(Config):
    """Below these numbers of content words a text is too thin to plan from."""

    words: int = Field(ge=0)
    words_without_signal: int = Field(ge=0)


class Firm(Config):
    """From which score on, and with which lead over the next kind, a classification is firm."""

    score: float = Field(ge=0)
    lead: float = Field(ge=0, le=1)


class Severity(Config):
    """What speaks for a high and for a low severity."""

    high: tuple[Phrase, ...]
    low: tuple[Phrase, ...]


class Signals(Config):
    """What tells the kinds of problem apart, and what else to look for. The file explains each table."""

    types: dict[str, dict[Phrase, float]]
    structure: dict[str, dict[str, float]]
    title_weight: float
    severity: Severity
    cues: dict[str, tuple[Phrase, ...]]
    headings: Headings
    constraints: tuple[Phrase, ...]
    thin: Thin
    firm: Firm
    stop_words: frozenset[str]


class Language(Config):
    """How one language shows."""

    extensions: tuple[str, ...]
    words: tuple[str, ...]


class Weights(Config):
    """How much one sign of a language counts."""

    trace: int
    file: int
    fence: int
    word: int


class Languages(Config):
    """How languages, files and names show in a text."""

    languages: dict[str, Language]
    fences: dict[str, str]
    weights: Weights
    other_extensions: tuple[str, ...]
    bare_files: frozenset[str]
    not_files: frozenset[str]
    roots: frozenset[str]
    library_paths: tuple[str, ...]
    benchmark_paths: tuple[str, ...]
    names: frozenset[str]

    @cached_property
    def extensions(self) -> Mapping[str, str]:
        """The language of each file name extension; empty for one that belongs to no language."""
        known = dict.fromkeys(self.other_extensions, "")
        known.update({ext: name for name, language in self.languages.items() for ext in language.extensions})
        return known


class Phrases(Config):
    """Every sentence that the model says beside its plans."""

    rationale: tuple[str, ...] = Field(min_length=1)
    questions: tuple[str, ...] = Field(min_length=1)
    nameless: str
    nowhere: str
    kinds: dict[str, str]
    strategy_rationale: tuple[str, ...] = Field(min_length=1)
    strategy_changed: str
    critique_point: str
    critique: dict[str, str]

    def kind(self, kind: str) -> str:
        """Return how sentences call a kind."""
        return self.kinds.get(kind, kind.replace("_", " "))


class Strategy(Config):
    """One way to go about a problem. `template` is a kind, or null for the plan of whatever kind the problem is."""

    name: str
    kinds: tuple[str, ...]
    template: str | None
    why: str
    key_steps: tuple[str, ...]
    expected_guards: tuple[str, ...]
    risk_factors: tuple[str, ...]


class TemplateStep(Config):
    """A plan's step with slots; `configs/templates/bug_fix.yaml` explains what goes beyond a plan's own keys."""

    step_id: str = Field(pattern=STEP_ID)
    name: str
    description: tuple[str | tuple[str, ...], ...]
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
    for_each: str | None = None
    in_order: bool = False
    optional: bool = False


class Template(Config):
    """A plan with slots, for one kind of problem."""

    kind: str
    goal: str
    initial_state: tuple[str, ...]
    goal_state: tuple[str, ...]
    steps: tuple[TemplateStep, ...] = Field(min_length=1)


class Rules(Config):
    """All tables and templates together."""

    signals: Signals
    languages: Languages
    subject: SubjectTable
    phrases: Phrases
    strategies: dict[str, Strategy]
    templates: dict[str, Template]
