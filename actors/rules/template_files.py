"""Loads the files of `configs/templates/` and checks that everything they refer to exists.

`load_templates` returns plain data, which a run can pin and hash; `build_rules` returns the typed form of it.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from actors.files.document import KeyPath, ParsedFile
from actors.files.suggestions import near
from actors.files.validation_errors import usage_problem
from actors.files.yaml_document import read_document
from actors.guards.plan_settings import GUARD_CATALOG
from actors.rules.decision import DECISION
from actors.rules.requirements import RequirementPatterns
from actors.rules.sentence_forms import FormTable
from actors.rules.subject import SubjectTable
from actors.rules.tables import (
    COMPUTED_CUES,
    FILLED_SLOTS,
    KINDS,
    LISTS,
    OPTIONAL_SLOTS,
    RESERVED,
    SLOT,
    Languages,
    Phrases,
    PlanTemplate,
    RulesTables,
    Strategy,
    TemplateStep,
    WordSignals,
    misplaced,
)
from runtime.core.errors import UsageProblem

PHRASES = frozenset(
    [
        "fine",
        "match_no",
        "match_yes",
        "no_constraint_step",
        "no_recovery",
        "no_review_step",
        "no_test_step",
        "not_a_plan",
        "unnamed",
    ]
)
"""The keys of the sentences that a critique uses."""
_TABLES: Mapping[str, TypeAdapter[Any]] = {
    "signals": TypeAdapter(WordSignals),
    "languages": TypeAdapter(Languages),
    "subject": TypeAdapter(SubjectTable),
    "forms": TypeAdapter(FormTable),
    "requirements": TypeAdapter(RequirementPatterns),
    "phrases": TypeAdapter(Phrases),
    "strategies": TypeAdapter(dict[str, Strategy]),
}
_MISPLACED = "{X} is part of a clause, which some texts make ungrammatical; write it at the end after a colon"
MAY_BE_EMPTY = frozenset(("constraints", "goals"))
"""The lists that may have no item, so that a step for each is not in every plan."""
_TEMPLATE: TypeAdapter[Any] = TypeAdapter(PlanTemplate)


def load_templates(folder: Path) -> dict[str, Any]:
    """Return the checked content of every `*.yaml` file in `folder`, by the file's stem.

    Raises:
        UsageProblem: a folder, file or value cannot be used; with file, line and key.
    """
    documents = {path.stem: read_document(path) for path in sorted(folder.glob("*.yaml"))}
    _check_rules(documents, folder)
    return {stem: dict(document.value) for stem, document in documents.items()}


def build_rules(templates: Mapping[str, Any]) -> RulesTables:
    """Return the typed form of the data from `load_templates`."""
    return _check_rules({stem: ParsedFile(f"{stem}.yaml", content) for stem, content in templates.items()}, Path())


def _check_rules(documents: Mapping[str, ParsedFile], folder: Path) -> RulesTables:
    """Return the rules in the documents. Raises `UsageProblem` for the first document that cannot be used."""
    for stem in (*_TABLES, *KINDS, DECISION):
        if stem not in documents:
            place = str(folder / f"{stem}.yaml")
            raise UsageProblem("is missing", place=place, hint="every built-in table is needed")
    values = {stem: _validated(_TABLES.get(stem, _TEMPLATE), document) for stem, document in documents.items()}
    plans = {stem: content for stem, content in values.items() if stem not in _TABLES}
    rules = RulesTables(**{stem: values[stem] for stem in _TABLES}, templates=plans)
    for stem, path, cause in _reference_errors(rules):
        raise documents[stem].problem(cause, path)
    return rules


def _validated(model: TypeAdapter[Any], document: ParsedFile) -> Any:
    try:
        return model.validate_python(document.value)
    except ValidationError as error:
        raise usage_problem(error, document) from None


def _reference_errors(rules: RulesTables) -> Iterator[tuple[str, KeyPath, str]]:
    """Yield (file's stem, keys, cause) for every reference to something that does not exist."""
    for kind in KINDS:
        if kind not in rules.signals.types:
            yield "signals", ("types",), f"has no signals for {kind!r}"
    for key in sorted(PHRASES - rules.phrases.critique.keys()):
        yield "phrases", ("critique",), f"has no sentence {key!r}"
    for stem, template in rules.templates.items():
        if slot := misplaced(template.goal):
            yield stem, ("goal",), f"{_MISPLACED.replace('X', slot)}: {template.goal}"
        if template.kind != stem:
            yield stem, ("kind",), f"must be {stem!r}, as the file is called"
        for path, cause in _template_errors(rules, template):
            yield stem, path, cause
    for name, strategy in rules.strategies.items():
        for kind in (*strategy.kinds, *([strategy.template] if strategy.template else [])):
            if kind not in rules.templates:
                yield "strategies", (name,), f"{kind!r} has no template"
                break
        else:
            for text in (*(step.text for step in strategy.key_steps), *strategy.risk_factors):
                if slot := misplaced(text):
                    yield "strategies", (name,), f"{_MISPLACED.replace('X', slot)}: {text}"
            for path, cause in _key_step_errors(rules, strategy):
                yield "strategies", (name, "key_steps", *path), cause


def _key_step_errors(rules: RulesTables, strategy: Strategy) -> Iterator[tuple[KeyPath, str]]:
    """Yield (keys, cause) for each key step that some plan would not carry out, and for each id twice."""
    templates = [rules.templates[kind] for kind in ([strategy.template] if strategy.template else strategy.kinds)]
    known = {step.step_id for template in rules.templates.values() for step in template.steps}
    ids = [step.id for step in strategy.key_steps]
    for position, key_step in enumerate(strategy.key_steps):
        if ids.index(key_step.id) != position:
            yield (position, "id"), f"the id {key_step.id!r} is taken"
        for number, name in enumerate(key_step.steps):
            if name not in known:
                yield (position, "steps", number), f"{name!r} is a step of no template{_nearest(name, known)}"
        for template in templates:
            certain = {step.step_id for step in template.steps if _is_certain(step, investigates=not strategy.template)}
            if not certain.intersection(key_step.steps):
                yield (position, "steps"), f"none of them is in every plan of the template {template.kind!r}"


def _is_certain(step: TemplateStep, *, investigates: bool) -> bool:
    """Return whether a step is in every plan of its template; `investigates`: whether the strategy looks first."""
    applies = step.only_if is None or (step.only_if == "investigate" and investigates)
    applies = applies and step.unless is None
    return applies and not step.optional and step.for_each not in MAY_BE_EMPTY


def _template_errors(rules: RulesTables, template: PlanTemplate) -> Iterator[tuple[KeyPath, str]]:
    """Yield (keys, cause) for every reference of a template to something that does not exist."""
    effects = {token for step in template.steps for token in (*step.effects, *step.failure_effects)}
    known = effects | set(template.initial_state)
    for token in template.goal_state:
        if token not in known:
            yield ("goal_state",), f"no step produces {token!r}{_nearest(token, known)}"
    for number, step in enumerate(template.steps):
        for keys, cause in _step_errors(rules, template, number, known):
            yield ("steps", number, *keys), f"{step.step_id}: {cause}"


def _step_errors(
    rules: RulesTables, template: PlanTemplate, number: int, known: Collection[str]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield (keys, cause) for every reference of a step to something that does not exist; `known` are the tokens."""
    step, ids = template.steps[number], [step.step_id for step in template.steps]
    if ids.index(step.step_id) != number or step.step_id in RESERVED:
        yield ("step_id",), "the step id is taken"
    for key in ("preconditions", "delete_effects", "failure_delete_effects"):
        for token in getattr(step, key):
            if token not in known:
                yield (key,), f"no step produces {token!r}{_nearest(token, known)}"
    for name in step.dependencies:
        if name.removesuffix("_{n}") not in ids[:number]:
            yield ("dependencies",), f"{name!r} is no earlier step{_nearest(name, ids)}"
    yield from _slot_errors(step)
    if step.on_failure not in RESERVED:
        if step.on_failure not in ids[: number + 1]:
            yield ("on_failure",), f"{step.on_failure!r} is no earlier step{_nearest(step.on_failure, ids)}"
        elif (target := template.steps[ids.index(step.on_failure)]).only_if or target.for_each or target.optional:
            yield ("on_failure",), f"{step.on_failure!r} is not in every plan, so nothing can go back to it"
    if step.guard not in GUARD_CATALOG:
        yield ("guard",), f"{step.guard!r} is not in the default catalogue{_nearest(step.guard, GUARD_CATALOG)}"
    cues = {*COMPUTED_CUES, *rules.signals.cues}
    for key in ("only_if", "unless"):
        cue = getattr(step, key)
        if cue is not None and cue not in cues:
            yield (key,), f"{cue!r} is no cue{_nearest(cue, cues)}"
    if step.for_each not in {None, *LISTS}:
        yield ("for_each",), f"{step.for_each!r} is no list{_nearest(str(step.for_each), LISTS)}"
    yield from _form_errors(step)


def _slot_errors(step: TemplateStep) -> Iterator[tuple[KeyPath, str]]:
    """Yield (keys, cause) for every slot that does not exist, and for a slot in a name that may be empty."""
    item = frozenset(("brief", "item", "n")) if step.for_each else frozenset[str]()
    for name in SLOT.findall(step.name):
        if name not in FILLED_SLOTS | item:
            yield ("name",), f"the slot {{{name}}} may be empty; a name takes {', '.join(sorted(FILLED_SLOTS | item))}"
    known = FILLED_SLOTS | OPTIONAL_SLOTS | item
    for number, part in enumerate(step.description):
        for name in SLOT.findall(part if isinstance(part, str) else " ".join(part)):
            if name not in known:
                yield ("description", number), f"there is no slot {{{name}}}{_nearest(name, known)}"


def _form_errors(step: TemplateStep) -> Iterator[tuple[KeyPath, str]]:
    """Yield (keys, cause) for every sentence that some values of its slots would make ungrammatical."""
    parts: list[tuple[KeyPath, str]] = [(("name",), step.name)]
    for number, part in enumerate(step.description):
        parts += [(("description", number), sentence) for sentence in ([part] if isinstance(part, str) else part)]
    for keys, sentence in parts:
        if name := misplaced(sentence, step.for_each):
            yield keys, f"{_MISPLACED.replace('X', name)}: {sentence}"


def _nearest(name: str, known: Any) -> str:
    hint = near(name, known)
    return f"; {hint}" if hint else ""
