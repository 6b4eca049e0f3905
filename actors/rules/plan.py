"""Writes plans from templates: selects the steps, repeats them for the items of lists, and fills in their slots.

If a step is left out, its dependents take over its dependencies, and tokens that only it produces are removed from
preconditions and goal. A token or dependency with `{n}` stands for all repetitions of a step; within a repeated step it
stands for the repetition with the same number.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from actors.plans.coverage import contributions
from actors.plans.reader import read_draft
from actors.rules.continued import continued, executable, unbound
from actors.rules.facts import Facts
from actors.rules.parsed_request import ParsedRequest, facts_of, parse_request, requirements_of, template_kind
from actors.rules.slots import (
    LIMITS,
    Item,
    failing_tests,
    fill,
    first,
    in_full,
    item_slots,
    lists_of,
    numbered,
    slots_of,
    titled,
)
from actors.rules.strategy import ranked, select_strategy
from actors.rules.tables import RESERVED, PlanTemplate, RulesTables, Strategy, TemplateStep
from actors.rules.text import READ_LENGTH_MAX, READ_LINES_MAX, shorten
from actors.rules.understanding import basis
from actors.values.open_questions import NOT_UNDERSTOOD
from actors.values.requirements import Requirement, RequirementKind, requirement_to_json
from actors.values.strategies import key_steps_in

MORE_AFTER_CRITIQUE = 2
"""Additional repetitions of a step after an accepted critique."""
SLUG_LENGTH_MAX = 48
"""Characters of the title in a plan's id."""
NUMBER = "{n}"
"""The slot of a repetition's number."""

_NOT_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class TemplateChoice:
    """The parameters by which a template's steps are selected."""

    cues: frozenset[str]
    """The names of the cues in the text, on which some steps depend (`only_if`)."""
    lists: Mapping[str, Sequence[Item]]
    """The lists that steps are repeated for."""
    requirements: Sequence[Requirement] = ()
    """The requirements that steps may take up."""
    implements: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The ids of the strategy's key steps that a template's step carries out, by the step's id."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The facts that the run is given, with the names that its tools implement."""
    optional: bool = True
    """Whether steps that the template marks as optional are included."""
    loops: bool = True
    """Whether a failure may go back to an earlier step; if not, it escalates to a person."""

    def items(self, step: TemplateStep) -> Sequence[Item]:
        """Return the items that the step is repeated for; one empty item for a step that is not repeated."""
        return self.lists[step.for_each] if step.for_each else (Item(""),)

    def includes(self, step: TemplateStep) -> bool:
        """Return whether the step is part of the plan."""
        applies = (step.only_if is None or step.only_if in self.cues) and step.unless not in self.cues
        applies = applies and (step.needed or executable(step, self.given))
        return applies and bool(self.items(step)) and (self.optional or not step.optional)


def plan_artifact(request: ParsedRequest, rules: RulesTables) -> dict[str, Any]:
    """Return the plan for the request's problem.

    The first rejection removes the optional steps, the second one the loops. An accepted critique allows more
    repetitions, and its points are added to the description of the last step. Given facts take the place of the
    template's (`continued`).
    """
    doubts = {} if request.dependencies.keys() & {"analysis", "strategy"} else request.doubts()
    if doubts and not doubts["open_questions"]:
        return {"plan_id": NOT_UNDERSTOOD, "steps": [], **doubts}
    facts = facts_of(request)
    points = _critique_points(request)
    strategy_id = request.dependency("strategy").get("strategy_id")
    strategy = rules.strategies.get(strategy_id) if isinstance(strategy_id, str) else None
    strategy = strategy or rules.strategies[ranked(request, rules)[0]]
    kind = strategy.template or template_kind(request, rules)
    lists = lists_of(request, facts, rules, MORE_AFTER_CRITIQUE if points else 0)
    requirements = requirements_of(request)
    cues = _cues(request, facts, strategy)
    slots = slots_of(request, facts, rules)
    steps: list[dict[str, Any]] = []
    for cut in range(min(request.retries, 2), 3):
        loops = cut < 2 and not request.strong
        implemented = _implemented(strategy, request)
        choice = TemplateChoice(cues, lists, requirements, implemented, request.given, optional=cut < 1, loops=loops)
        steps = list(_steps(rules.templates[kind], choice, slots, rules))
        if _budget(steps) <= request.r_max:
            break
    if points:
        steps[-1]["description"] += " " + rules.phrases.critique_point.replace("{points}", numbered(points))
    plan = _plan(rules.templates[kind], steps, slots, lists, request.r_max)
    if requirements:
        plan["requirements"] = [requirement_to_json(item) for item in _with_tokens(plan, requirements)]
    return continued(plan, request.given) | {"basis": _basis(request, rules)} | doubts


def _cues(request: ParsedRequest, facts: Facts, strategy: Strategy) -> frozenset[str]:
    """Return the cues of the text, and those that no phrase shows (`COMPUTED_CUES`)."""
    cues = request.classification.cues
    if not strategy.template:
        cues |= {"investigate"}
    return cues | {"failing_test"} if failing_tests(request, facts) else cues


def _implemented(strategy: Strategy, request: ParsedRequest) -> dict[str, list[str]]:
    """Return the key steps of the accepted strategy that each step of a template carries out, by the step's id."""
    accepted = {step.id for step in key_steps_in(request.dependency("strategy")) if step.id}
    implemented: dict[str, list[str]] = {}
    for key_step in strategy.key_steps:
        for step in key_step.steps if key_step.id in accepted else ():
            implemented.setdefault(step, []).append(key_step.id)
    return implemented


def _with_tokens(plan: Mapping[str, Any], requirements: Sequence[Requirement]) -> Iterator[Requirement]:
    """Yield the requirements, each goal with the goal tokens that the steps which satisfy it make, or else lead to."""
    draft, _ = read_draft(dict(plan))
    assert draft is not None
    leads_to = contributions(draft, {token: (token,) for token in plan["goal_state"]})
    for item in requirements:
        if item.kind != RequirementKind.GOAL:
            yield item
            continue
        satisfying = [step for step in draft.steps if item.id in step.satisfies]
        made: frozenset[str] = frozenset().union(*(draft.goal_state & step.effects for step in satisfying))
        tokens = made or frozenset().union(*(leads_to.get(step.step_id, ()) for step in satisfying))
        yield item._replace(tokens=tuple(token for token in plan["goal_state"] if token in tokens))


def _basis(request: ParsedRequest, rules: RulesTables) -> str:
    """Return what stands above the plan: what the text was taken for, and that the plan is a template."""
    kind = template_kind(request, rules)
    text = basis(request.understanding, request.classification, rules, kind, request.stated)
    cut = (
        rules.phrases.basis["cut"].replace("{count}", f"{READ_LENGTH_MAX:,}").replace("{lines}", f"{READ_LINES_MAX:,}")
    )
    return f"{text} {cut}" if request.cut else text


def template_plan(template: PlanTemplate, request: ParsedRequest, rules: RulesTables) -> dict[str, Any]:
    """Return a template's plan with one repetition of each repeated step, for a later step to refine."""
    facts = facts_of(request)
    lists = lists_of(request, facts, rules, -max(LIMITS.values()))
    slots = slots_of(request, facts, rules)
    steps = list(_steps(template, TemplateChoice(frozenset(), lists), slots, rules))
    return _plan(template, steps, slots, lists, request.r_max)


def _plan(
    template: PlanTemplate,
    steps: list[dict[str, Any]],
    slots: Mapping[str, str],
    lists: Mapping[str, Sequence[Item]],
    r_max: int,
) -> dict[str, Any]:
    effects = {token for step in steps for token in (*step["effects"], *step["failure_effects"])}
    most = max(map(len, lists.values()))
    goal = [token for pattern in template.goal_state for token in _numbered(pattern, most) if token in effects]
    budget = _fit(steps, r_max)
    return {
        "plan_id": _slug(template.kind, slots["title"]),
        "goal": fill(template.goal, slots),
        "initial_state": list(template.initial_state),
        "goal_state": goal,
        "total_retry_budget": max(budget, min(2 * budget, r_max)),
        "steps": steps,
    }


def _steps(
    template: PlanTemplate, choice: TemplateChoice, slots: Mapping[str, str], rules: RulesTables
) -> Iterator[dict[str, Any]]:
    """Yield the steps of the plan."""
    kept = {step.step_id: step for step in template.steps if choice.includes(step)}
    omitted = {step.step_id: step for step in template.steps if step.step_id not in kept}
    count = {name: len(choice.items(step)) for name, step in kept.items()}
    effects = {token: count[step.step_id] for step in kept.values() for token in (*step.effects, *step.failure_effects)}
    known = {*effects, *template.initial_state}
    needs = {token for step in kept.values() for token in step.preconditions}

    def tokens(patterns: Iterable[str], number: int | None) -> list[str]:
        """Return the tokens of the patterns; without tokens that no step produces and that do not hold at the start."""
        known_patterns = (pattern for pattern in patterns if pattern in known)
        return [token for pattern in known_patterns for token in _numbered(pattern, effects.get(pattern, 1), number)]

    def dependencies(names: Iterable[str], number: int | None) -> list[str]:
        """Return the ids of the steps that these names stand for."""
        ids: dict[str, None] = {}
        for name in names:
            plain = name.removesuffix(f"_{NUMBER}")
            if plain in omitted:
                ids |= dict.fromkeys(dependencies(omitted[plain].dependencies, number))
            elif kept[plain].for_each:
                last = count[plain] if kept[plain].in_order else None  # It depends on the others.
                repetition = number if plain != name else last
                ids |= dict.fromkeys(_numbered(f"{plain}_{NUMBER}", count[plain], repetition))
            else:
                ids[plain] = None
        return list(ids)

    for step in kept.values():
        for number, item in enumerate(choice.items(step), 1):
            repetition = number if step.for_each else None
            chained = step.in_order and number > 1
            step_slots = {**slots, **item_slots(item.text, number)} if step.for_each else slots
            taken = (
                titled(choice.requirements, slots["title"])
                if step.takes_up == "title"
                else [item for item in choice.requirements if item.kind == step.takes_up]
            )
            before = tokens(step.effects, number - 1) if chained else []
            # A failure that no step of the plan takes up, or that would go back to a step left out, is handed over.
            goes_back = step.on_failure not in RESERVED
            taken_up = needs.intersection(step.failure_effects) or step.on_failure != "continue"
            keeps_failure = taken_up and (not goes_back or (choice.loops and step.on_failure in kept))
            yield {
                "step_id": f"{step.step_id}_{number}" if step.for_each else step.step_id,
                "name": fill(step.name, step_slots),
                "description": _description(step, step_slots, taken, rules),
                "generator": step.generator,
                "guard": step.guard,
                "retry_budget": step.retry_budget,
                "dependencies": (
                    [f"{step.step_id}_{number - 1}"] if chained else dependencies(step.dependencies, repetition)
                ),
                "preconditions": [*tokens(step.preconditions, repetition), *before],
                "effects": tokens(step.effects, repetition),
                "delete_effects": tokens(step.delete_effects, repetition),
                "on_failure": step.on_failure if keeps_failure else "escalate",
                "failure_effects": tokens(step.failure_effects, repetition) if keeps_failure else [],
                "failure_delete_effects": tokens(step.failure_delete_effects, repetition) if keeps_failure else [],
                **_marks("satisfies", (*item.satisfies, *(requirement.id for requirement in taken))),
                **_marks("implements", choice.implements.get(step.step_id, ())),
            }


def _marks(name: str, ids: Sequence[str]) -> dict[str, list[str]]:
    return {name: list(ids)} if ids else {}


def _numbered(pattern: str, count: int, number: int | None = None) -> list[str]:
    """Return the pattern with this number, or with every number up to `count` if it is None."""
    if NUMBER not in pattern:
        return [pattern]
    return [pattern.replace(NUMBER, str(place)) for place in ([number] if number else range(1, count + 1))]


def _description(step: TemplateStep, slots: Mapping[str, str], taken: Sequence[Requirement], rules: RulesTables) -> str:
    sentences = [first((part,) if isinstance(part, str) else part, slots) for part in step.description]
    if taken:
        items = {"items": in_full([requirement.text for requirement in taken])}
        sentences.append(first((rules.phrases.takes_up[taken[0].kind],), items))
    return " ".join(sentence for sentence in sentences if sentence)


def _slug(kind: str, title: str) -> str:
    """Return a plan's id: the kind and the first words of the title."""
    words = shorten(_NOT_NAME.sub(" ", title.lower()).strip(), SLUG_LENGTH_MAX).split()
    return "_".join((kind, *words))


def _fit(steps: list[dict[str, Any]], r_max: int) -> int:
    """Reduce retry budgets, the largest first, until their sum is at most `r_max` or all are 1; return their sum."""
    while (budget := _budget(steps)) > r_max:
        largest = max(steps, key=lambda step: step["retry_budget"])
        if largest["retry_budget"] == 1:
            break
        largest["retry_budget"] -= 1
    return budget


def _budget(steps: list[dict[str, Any]]) -> int:
    return sum(int(step["retry_budget"]) for step in steps)


def _critique_points(request: ParsedRequest) -> list[str]:
    """Return the points of an accepted critique that wants a revision."""
    critique = request.dependency("critique")
    if not critique or critique.get("overall_assessment") == "good":
        return []
    lists = (critique.get(key) for key in ("missing_steps", "ordering_issues", "specific_suggestions"))
    return [
        item for value in lists if isinstance(value, list) for item in value if isinstance(item, str) and item.strip()
    ]


def lacking(problem: str, given: Mapping[str, Any], rules: RulesTables) -> tuple[str, ...]:
    """Return the generators and guards of needed steps that no tool implements, sorted; none where it asks first.

    `given` has the names that tools implement, as in `actors.values.given`. Steps that not every plan of the template
    has, and those that are left out where no tool does them, do not count.
    """
    request = _request(problem, given, rules)
    if request.doubts():
        return ()
    template = _template(request, select_strategy(request, rules), rules)
    return tuple(sorted({name for step in _always(template) for name in unbound(step, given)}))


def lacking_tokens(
    problem: str, given: Mapping[str, Any], known: Collection[str], rules: RulesTables
) -> tuple[str, ...]:
    """Return the tokens, sorted, that needed steps of its plans need and nothing makes; none where it asks first.

    `known` are the tokens that may hold when the plan begins. There are none if one template of those that it may
    choose can do without them.
    """
    request = _request(problem, given, rules)
    if request.doubts():
        return ()
    found = [_unmade(_template(request, strategy, rules), known) for strategy in ranked(request, rules)]
    return found[0] if found and all(found) else ()


def _request(problem: str, given: Mapping[str, Any], rules: RulesTables) -> ParsedRequest:
    return parse_request({"role": "plan", "specification": problem, "given": dict(given)}, rules)


def _template(request: ParsedRequest, strategy: str, rules: RulesTables) -> PlanTemplate:
    return rules.templates[rules.strategies[strategy].template or template_kind(request, rules)]


def _always(template: PlanTemplate) -> Iterator[TemplateStep]:
    """Yield the steps that every plan of the template has, whatever the tools."""
    yield from (step for step in template.steps if step.needed and not (step.only_if or step.unless or step.for_each))


def _unmade(template: PlanTemplate, known: Collection[str]) -> tuple[str, ...]:
    made = {token for step in template.steps for token in (*step.effects, *step.failure_effects)}
    needed = {token for step in _always(template) for token in step.preconditions}
    return tuple(sorted(needed - made - set(known)))
