"""From a template to the plan of one problem: which steps stay, how often, and what they say.

An omitted step leaves no hole: what depended on it depends on what it depended on, and what only it would have made is
asked for nowhere. A token or a dependency with `{n}` in it stands for all items of a repeated step, or, within a step
that is repeated itself, for the same item.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.rules.reading import Reading, facts_of, kind_of
from actors.rules.slots import LIMITS, fill, first, item_slots, lists_of, numbered, slots_of
from actors.rules.strategy import ranked
from actors.rules.tables import RESERVED, Rules, Template, TemplateStep
from actors.rules.text import shorten

MORE_AFTER_CRITIQUE = 2  # repetitions of a step beyond the usual ones
SLUG_LENGTH_MAX = 48
NUMBER = "{n}"

_NOT_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Choice:
    """What decides about a template's steps: cues of the text, the lists, and whether optional steps and loops are in.

    Where loops are out, a failure that would go back is handed to a person instead.
    """

    cues: frozenset[str]
    lists: Mapping[str, Sequence[str]]
    optional: bool = True
    loops: bool = True

    def items(self, step: TemplateStep) -> Sequence[str]:
        """Return the items that the step is repeated for; one empty item for a step that is not repeated."""
        return self.lists[step.for_each] if step.for_each else ("",)

    def keeps(self, step: TemplateStep) -> bool:
        """Whether the step is in the plan."""
        asked_for = step.only_if is None or step.only_if in self.cues
        return asked_for and bool(self.items(step)) and (self.optional or not step.optional)


def plan_artifact(reading: Reading, rules: Rules) -> dict[str, Any]:
    """Return the plan for the request's problem.

    Each rejection makes the next plan smaller: the optional steps go first, then the loops. A critique that was
    accepted lets more items through, and its points stand in the step that reviews the result.
    """
    facts = facts_of(reading)
    points = _critique_points(reading)
    lists = lists_of(facts, rules, MORE_AFTER_CRITIQUE if points else 0)
    said = reading.dependency("strategy").get("strategy_id")
    strategy = rules.strategies.get(said) if isinstance(said, str) else None
    strategy = strategy or rules.strategies[ranked(reading, rules)[0]]
    kind = strategy.template or kind_of(reading, rules)
    cues = reading.classification.cues | (frozenset() if strategy.template else frozenset({"investigate"}))
    slots = slots_of(reading, facts, rules)
    steps: list[dict[str, Any]] = []
    for cut in range(min(reading.retries, 2), 3):
        choice = Choice(cues, lists, optional=cut < 1, loops=cut < 2 and not reading.strong)
        steps = list(_steps(rules.templates[kind], choice, slots))
        if _budget(steps) <= reading.r_max:
            break
    if points:
        steps[-1]["description"] += " " + rules.phrases.critique_point.replace("{points}", numbered(points))
    plan = _plan(rules.templates[kind], steps, slots, lists, reading.r_max)
    if "analysis" not in reading.dependencies and (questions := reading.questions(rules)):
        plan["open_questions"] = questions
    return plan


def template_plan(template: Template, reading: Reading, rules: Rules) -> dict[str, Any]:
    """Return a template's plan with no repetition: what a template selector hands to whoever refines it."""
    facts = facts_of(reading)
    lists, slots = lists_of(facts, rules, -max(LIMITS.values())), slots_of(reading, facts, rules)
    steps = list(_steps(template, Choice(frozenset(), lists), slots))
    return _plan(template, steps, slots, lists, reading.r_max)


def _plan(
    template: Template,
    steps: list[dict[str, Any]],
    slots: Mapping[str, str],
    lists: Mapping[str, Sequence[str]],
    r_max: int,
) -> dict[str, Any]:
    made = {token for step in steps for token in (*step["effects"], *step["failure_effects"])}
    most = max(map(len, lists.values()))
    goal = [token for pattern in template.goal_state for token in _numbered(pattern, most) if token in made]
    budget = _fit(steps, r_max)
    return {
        "plan_id": _slug(template.kind, slots["title"]),
        "goal": fill(template.goal, slots),
        "initial_state": list(template.initial_state),
        "goal_state": goal,
        "total_retry_budget": max(budget, min(2 * budget, r_max)),
        "steps": steps,
    }


def _steps(template: Template, choice: Choice, slots: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the steps of the plan."""
    kept = {step.step_id: step for step in template.steps if choice.keeps(step)}
    omitted = {step.step_id: step for step in template.steps if step.step_id not in kept}
    count = {name: len(choice.items(step)) for name, step in kept.items()}
    made = {token: count[step.step_id] for step in kept.values() for token in (*step.effects, *step.failure_effects)}
    known = {*made, *template.initial_state}

    def tokens(patterns: Iterable[str], number: int | None) -> list[str]:
        """Return the tokens that some step of this plan makes, or that hold at the start."""
        there = (pattern for pattern in patterns if pattern in known)
        return [token for pattern in there for token in _numbered(pattern, made.get(pattern, 1), number)]

    def depends(names: Iterable[str], number: int | None) -> list[str]:
        found: dict[str, None] = {}
        for name in names:
            plain = name.removesuffix(f"_{NUMBER}")
            if plain in omitted:
                found |= dict.fromkeys(depends(omitted[plain].dependencies, number))
            elif kept[plain].for_each:
                last = count[plain] if kept[plain].in_order else None  # the others come before it
                same = number if plain != name else last
                found |= dict.fromkeys(_numbered(f"{plain}_{NUMBER}", count[plain], same))
            else:
                found[plain] = None
        return list(found)

    for step in kept.values():
        for number, item in enumerate(choice.items(step), 1):
            mine = number if step.for_each else None
            chained = step.in_order and number > 1
            own = {**slots, **item_slots(item, number)} if step.for_each else slots
            needs = [*tokens(step.preconditions, mine), *(tokens(step.effects, number - 1) if chained else [])]
            back = step.on_failure not in RESERVED
            loop = back and choice.loops
            yield {
                "step_id": f"{step.step_id}_{number}" if step.for_each else step.step_id,
                "name": fill(step.name, own),
                "description": _description(step, own),
                "generator": step.generator,
                "guard": step.guard,
                "retry_budget": step.retry_budget,
                "dependencies": [f"{step.step_id}_{number - 1}"] if chained else depends(step.dependencies, mine),
                "preconditions": needs,
                "effects": tokens(step.effects, mine),
                "delete_effects": tokens(step.delete_effects, mine),
                "on_failure": step.on_failure if loop or not back else "escalate",
                "failure_effects": tokens(step.failure_effects, mine),
                "failure_delete_effects": tokens(step.failure_delete_effects, mine) if loop or not back else [],
            }


def _numbered(pattern: str, count: int, number: int | None = None) -> list[str]:
    """Return the pattern for this number, or for every number up to `count`."""
    if NUMBER not in pattern:
        return [pattern]
    return [pattern.replace(NUMBER, str(place)) for place in ([number] if number else range(1, count + 1))]


def _description(step: TemplateStep, slots: Mapping[str, str]) -> str:
    said = (first((part,) if isinstance(part, str) else part, slots) for part in step.description)
    return " ".join(sentence for sentence in said if sentence)


def _slug(kind: str, title: str) -> str:
    """Return a plan's id: the kind and the first words of the title."""
    words = shorten(_NOT_NAME.sub(" ", title.lower()).strip(), SLUG_LENGTH_MAX).split()
    return "_".join((kind, *words))


def _fit(steps: list[dict[str, Any]], r_max: int) -> int:
    """Lower retry budgets, the largest first, until they fit under `r_max`; return their sum."""
    while (budget := _budget(steps)) > r_max:
        largest = max(steps, key=lambda step: step["retry_budget"])
        if largest["retry_budget"] == 1:
            break
        largest["retry_budget"] -= 1
    return budget


def _budget(steps: list[dict[str, Any]]) -> int:
    return sum(int(step["retry_budget"]) for step in steps)


def _critique_points(reading: Reading) -> list[str]:
    critique = reading.dependency("critique")
    if not critique or critique.get("overall_assessment") == "good":
        return []
    lists = (critique.get(key) for key in ("missing_steps", "ordering_issues", "specific_suggestions"))
    return [
        item for value in lists if isinstance(value, list) for item in value if isinstance(item, str) and item.strip()
    ]
