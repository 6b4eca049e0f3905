"""How the files of `configs/templates/` are read, and every reference in them that leads nowhere.

`load_templates` gives plain data, which a run may pin and hash; `rules_of` gives the typed form that the modules use.
"""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from actors.guards.plan_settings import GUARD_CATALOG
from actors.rules.tables import KINDS, LISTS, RESERVED, SLOT, SLOTS_MAYBE, SLOTS_SURE, Rules, Template, TemplateStep
from runtime.errors import UsageProblem

PHRASES = frozenset(
    [
        "match_yes",
        "match_no",
        "unnamed",
        "no_constraint_step",
        "no_test_step",
        "no_review_step",
        "no_recovery",
        "orphan",
        "duplicate_id",
        "unknown_dependency",
        "unknown_guard",
        "budget_over",
        "not_a_plan",
        "fine",
    ]
)
"""The sentences that a critique needs."""
TABLES = ("signals", "languages", "phrases", "strategies")


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
    for kind in KINDS:
        if kind not in rules.signals.types:
            raise UsageProblem(f"has no signals for {kind!r}", place=f"{place / 'signals.yaml'}: types")
    for said in PHRASES - rules.phrases.critique.keys():
        raise UsageProblem(f"has no sentence {said!r}", place=f"{place / 'phrases.yaml'}: critique")
    for stem, template in rules.templates.items():
        if template.kind != stem:
            raise UsageProblem(f"must be {stem!r}, as the file is called", place=f"{place / f'{stem}.yaml'}: kind")
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
        yield from _slot_faults(place, step)
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


def _slot_faults(place: str, step: TemplateStep) -> Iterator[tuple[str, str]]:
    """Yield (key, cause) for every slot that does not exist, or that may be empty where a text is needed."""
    item = frozenset(("brief", "item", "n")) if step.for_each else frozenset[str]()
    for name in SLOT.findall(step.name):
        if name not in SLOTS_SURE | item:
            yield (
                f"{place}.name",
                f"the slot {{{name}}} may be empty; a name takes {', '.join(sorted(SLOTS_SURE | item))}",
            )
    for number, part in enumerate(step.description):
        for name in SLOT.findall(part if isinstance(part, str) else " ".join(part)):
            if name not in SLOTS_SURE | SLOTS_MAYBE | item:
                known = SLOTS_SURE | SLOTS_MAYBE | item
                yield f"{place}.description[{number}]", f"there is no slot {{{name}}}{_nearest(name, known)}"


def _nearest(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _path(keys: list[int | str]) -> str:
    """Return a JSON path such as `steps[3].guard`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".") or "the whole file"
