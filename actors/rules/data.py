"""The rules as data: what the files of `configs/templates/` may hold, and how they are read.

`load_templates` gives plain data, which a run may pin and hash; `rules_of` gives the typed form that the modules use.
"""

import difflib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from actors.guards.plan_settings import GUARD_CATALOG
from runtime.errors import UsageProblem
from runtime.events import Value

KINDS = ("bug_fix", "feature", "refactoring", "performance")
TABLES = ("signals", "languages", "phrases", "strategies")
RESERVED = frozenset({"escalate", "continue", "never"})
STEP_ID = r"^[a-z][a-z0-9_]{0,59}$"  # the house's step ids, less four characters for the number of a repeated step


class Headings(Value):
    """Names of sections, lower case: where steps and constraints stand, what is skipped, what is no title."""

    reproduction: tuple[str, ...]
    constraints: tuple[str, ...]
    ignored: tuple[str, ...]
    generic: tuple[str, ...]


class Thin(Value):
    """Below these numbers of content words a text is too thin to plan from."""

    words: int = Field(ge=0)
    words_without_signal: int = Field(ge=0)


class Firm(Value):
    """From which score on, and with which lead over the next kind, a classification is firm."""

    score: float = Field(ge=0)
    lead: float = Field(ge=0, le=1)


class Signals(Value):
    """What tells the kinds of problem apart, and what else to look for. The file explains each table."""

    types: dict[str, dict[str, float]]
    structure: dict[str, dict[str, float]]
    title_weight: float
    severity: dict[str, tuple[str, ...]]
    cues: dict[str, tuple[str, ...]]
    headings: Headings
    constraints: tuple[str, ...]
    thin: Thin
    firm: Firm
    stop_words: frozenset[str]


class Language(Value):
    """How one language shows."""

    extensions: tuple[str, ...]
    words: tuple[str, ...]


class Languages(Value):
    """How languages, files and names show in a text."""

    languages: dict[str, Language]
    fences: dict[str, str]
    weights: dict[str, float]
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


class Phrases(Value):
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


class Strategy(Value):
    """One way to go about a problem. `template` is a kind, or null for the plan of whatever kind the problem is."""

    name: str
    kinds: tuple[str, ...]
    template: str | None
    why: str
    key_steps: tuple[str, ...]
    expected_guards: tuple[str, ...]
    risk_factors: tuple[str, ...]


class TemplateStep(Value):
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


class Template(Value):
    """A plan with slots, for one kind of problem."""

    kind: str
    goal: str
    initial_state: tuple[str, ...]
    goal_state: tuple[str, ...]
    steps: tuple[TemplateStep, ...] = Field(min_length=1)


class Rules(Value):
    """All tables and templates together."""

    signals: Signals
    languages: Languages
    phrases: Phrases
    strategies: dict[str, Strategy]
    templates: dict[str, Template]


def load_templates(folder: Path) -> dict[str, Any]:
    """Return the content of every `*.yaml` file in `folder` by its stem, checked.

    Raises `UsageProblem` with file and key for a folder, file or value that cannot be used.
    """
    found: dict[str, Any] = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            found[path.stem] = yaml.safe_load(path.read_bytes())
        except OSError as error:
            raise UsageProblem(f"cannot be read: {error.strerror}", place=str(path)) from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise UsageProblem(f"is not YAML: {' '.join(str(error).split())}", place=str(path)) from error
    rules_of(found, place=folder)
    return found


def rules_of(templates: Mapping[str, Any], *, place: Path = Path()) -> Rules:
    """Return the typed rules of what `load_templates` gave; `place` is the folder that errors name."""
    for stem in (*TABLES, *KINDS):
        if stem not in templates:
            raise UsageProblem("is missing", place=str(place / f"{stem}.yaml"), hint="every built-in table is needed")
    plans = {stem: content for stem, content in templates.items() if stem not in TABLES}
    data = {**{stem: templates[stem] for stem in TABLES}, "templates": plans}
    try:
        rules = Rules.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        table, *keys = first["loc"]
        stem = str(keys.pop(0)) if table == "templates" and keys else str(table)
        raise UsageProblem(first["msg"], place=f"{place / f'{stem}.yaml'}: {_path(keys)}") from error
    for stem, template in rules.templates.items():
        for key, cause in _faults(rules, template):
            raise UsageProblem(cause, place=f"{place / f'{stem}.yaml'}: {key}")
    for name, strategy in rules.strategies.items():
        for kind in (*strategy.kinds, *([strategy.template] if strategy.template else [])):
            if kind not in rules.templates:
                raise UsageProblem(f"{kind!r} has no template", place=f"{place / 'strategies.yaml'}: {name}")
    return rules


def _faults(rules: Rules, template: Template) -> Iterator[tuple[str, str]]:
    """Yield (key, cause) for every reference in a template that leads nowhere."""
    ids = [step.step_id for step in template.steps]
    made = {token for step in template.steps for token in (*step.effects, *step.failure_effects)}
    known = made | set(template.initial_state)
    for token in template.goal_state:
        if token not in known:
            yield "goal_state", f"nobody makes {token!r}{_nearest(token, known)}"
    for number, step in enumerate(template.steps):
        place = f"steps[{number}] ({step.step_id})"
        if ids.index(step.step_id) != number or step.step_id in RESERVED:
            yield place, "the step id is taken"
        for key in ("preconditions", "delete_effects", "failure_delete_effects"):
            for token in getattr(step, key):
                if token not in known:
                    yield f"{place}.{key}", f"nobody makes {token!r}{_nearest(token, known)}"
        for name in step.dependencies:
            if name.removesuffix("_{n}") not in ids[:number]:
                yield f"{place}.dependencies", f"{name!r} is no earlier step{_nearest(name, ids)}"
        if step.on_failure not in RESERVED:
            if step.on_failure not in ids[: number + 1]:
                yield f"{place}.on_failure", f"{step.on_failure!r} is no earlier step{_nearest(step.on_failure, ids)}"
            elif (target := template.steps[ids.index(step.on_failure)]).only_if or target.for_each or target.optional:
                yield f"{place}.on_failure", f"{step.on_failure!r} is not in every plan, so nothing can go back to it"
        if step.guard not in GUARD_CATALOG:
            yield (
                f"{place}.guard",
                f"{step.guard!r} is not in the default catalogue{_nearest(step.guard, GUARD_CATALOG)}",
            )
        if step.only_if not in {None, "investigate", *rules.signals.cues}:
            yield f"{place}.only_if", f"{step.only_if!r} is no cue{_nearest(str(step.only_if), rules.signals.cues)}"
        if step.for_each not in {None, *LISTS}:
            yield f"{place}.for_each", f"{step.for_each!r} is no list{_nearest(str(step.for_each), LISTS)}"


LISTS = ("constraints", "moves", "suspects", "targets")
"""What `for_each` may go over; `actors.rules.slots` fills them."""


def _nearest(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _path(keys: list[int | str]) -> str:
    """Return a JSON path such as `steps[3].guard`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".") or "the whole file"
