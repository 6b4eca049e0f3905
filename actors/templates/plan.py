"""Reads the facts for a template from a request, and fills the template with them to make a plan. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from actors.demands.patterns import requirement_kind
from actors.demands.reader import read_demands
from actors.guards.fields import fold_space
from actors.templates.template_files import PlanTemplate, TemplateStep
from actors.values.format import shorten, title_of
from actors.values.open_questions import NOT_UNDERSTOOD
from actors.values.requirements import (
    Requirement,
    RequirementKind,
    RequirementSource,
    key_steps_in,
    requirement_id,
    requirement_to_json,
    requirements_in,
)

WORDS_MIN = 5
"""The least number of words that the user's texts must have together. If they have fewer words and name no file, the
template asks a question.
"""
FILES_MAX = 20
DEMANDS_MAX = 200
R_MAX = 100
"""The limit of a plan's retry budget if the settings have no limit (`r_max` in docs/reference/workflow.md)."""
QUESTIONS = (
    "What happens now, where does it happen, and what should happen instead?",
    "Which part of the program (a file, a command, a page) should change, and what will show that the work is done?",
)
"""The questions that a template asks if the user's texts are too short, in the order of asking."""
TOO_SHORT = "the text is too short for a plan; say what is wrong or wanted, and where"

_EXTENSIONS = (
    *("c", "cc", "cfg", "cpp", "cs", "css", "csv", "go", "h", "hpp", "html", "ini", "java", "js", "json", "jsx", "kt"),
    *("lua", "md", "php", "pl", "proto", "py", "pyi", "rb", "rs", "scala", "scss", "sh", "sql", "svelte", "swift"),
    *("tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml"),
)
_FILE = re.compile(
    rf"(?<![\w./@:-])(?:[\w.-]{{1,80}}/){{0,12}}[\w-][\w.-]{{0,80}}\.(?:{'|'.join(_EXTENSIONS)})\b(?![\w/])"
)
_UNPRINTED = re.compile(r"[\x00\ud800-\udfff]")  # JSON, the journal and terminals cannot represent these.
_EDGES = " .;,"


@dataclass(frozen=True, slots=True)
class TemplateRequest:
    """The facts with which a template is filled."""

    title: str
    files: tuple[str, ...]
    """The files in recon's accepted artifact; if it has none, the files that the user's texts name."""
    requirements: tuple[Requirement, ...]
    short: bool
    """Whether the user's texts have too few words for a plan."""
    asked: tuple[str, ...]
    """The questions that were answered, declined or expired, with each sequence of white space replaced by one space.
    """
    dependencies: Mapping[str, Any]
    catalogue: tuple[str, ...]
    """The names of guards that a plan may use, in addition to `GUARD_CATALOG`."""
    r_max: int
    strong: bool
    """Whether the plan must reach its goal without going back."""
    given: Mapping[str, Any]

    def dependency(self, role: str) -> Mapping[str, Any]:
        """Return the accepted artifact of a role; an empty mapping if the artifact is missing or is not an object."""
        value = self.dependencies.get(role)
        return value if isinstance(value, Mapping) else {}

    def doubts(self) -> dict[str, Any]:
        """Return the fields that an artifact gets if the user's texts are too short for a plan; empty if they are not.

        These fields ask a question and give the reason.
        """
        if not self.short:
            return {}
        open_ = [text for text in QUESTIONS if not any(fold_space(text) in question for question in self.asked)][:1]
        questions = [{"question": text, "type": "text", "choices": []} for text in open_]
        return {"open_questions": questions, NOT_UNDERSTOOD: TOO_SHORT}


def read_request(material: Mapping[str, Any]) -> TemplateRequest:
    """Return the facts in the material of a `ModelRequest`."""
    clarifications = [item for item in _list(material.get("clarifications")) if isinstance(item, Mapping)]
    answers = [_print_value(item.get("answer", "")) for item in clarifications]
    added, notes = ([_print_value(item) for item in _list(material.get(key))] for key in ("requirements", "notes"))
    problem = _print_value(material.get("specification", ""))
    texts = [problem, *answers, *added, *notes]
    words = sum(len(text.split()) for text in texts)
    named = tuple(dict.fromkeys(name for text in texts for name in _FILE.findall(text)))[:FILES_MAX]
    settings, dependencies, given = (material.get(key) for key in ("settings", "dependencies", "given"))
    settings = settings if isinstance(settings, Mapping) else {}
    dependencies = dependencies if isinstance(dependencies, Mapping) else {}
    recon = dependencies.get("recon")
    recon = recon if isinstance(recon, Mapping) else {}
    found = tuple(item for item in _list(recon.get("mentioned_files")) if isinstance(item, str) and item.strip())
    distinct = {item.id: item for item in requirements_in(recon.get("requirements"))}
    for item in _stated_requirements(problem, answers, added):
        distinct.setdefault(item.id, item)
    r_max = settings.get("r_max")
    return TemplateRequest(
        title=title_of(_title_text([problem, *answers])).rstrip(_EDGES) or "The stated problem",
        files=found or named,
        requirements=tuple(distinct.values())[:DEMANDS_MAX],
        short=words < WORDS_MIN and not named,
        asked=tuple(fold_space(str(item.get("question", ""))) for item in clarifications),
        dependencies=dependencies,
        catalogue=tuple(name for name in _list(settings.get("guard_catalog")) if isinstance(name, str)),
        r_max=r_max if isinstance(r_max, int) and r_max > 0 else R_MAX,
        strong=settings.get("assurance") == "strong",
        given=given if isinstance(given, Mapping) else {},
    )


def shorten_line(text: str, length: int) -> str:
    """Return the text on one line, cut to `length` characters."""
    return shorten(fold_space(text), length)


def _title_text(texts: Sequence[str]) -> str:
    return next((text for text in texts if len(text.split()) >= WORDS_MIN), texts[0])


def _stated_requirements(problem: str, answers: Sequence[str], added: Sequence[str]) -> list[Requirement]:
    stated = [
        _requirement(str(requirement_kind(text.lower())), fold_space(text), RequirementSource.USER)
        for text in reversed(added)
        if text.strip()
    ]
    sources = [(problem, RequirementSource.PROBLEM), *((text, RequirementSource.ANSWER) for text in answers)]
    for text, source in sources:
        stated += [_requirement(str(item.kind), item.quote, item.source) for item in read_demands(text, source).demands]
    return stated


def _requirement(kind: str, quote: str, source: str) -> Requirement:
    return Requirement(requirement_id(quote), kind, quote.rstrip(_EDGES) or quote, quote, str(source))


def _print_value(value: Any) -> str:
    return _UNPRINTED.sub(" ", str(value))


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


REPETITIONS_MAX = 6
BRIEF_MAX = 60
"""The largest number of characters that a step's name quotes of a demand."""
FILES_SHOWN = 4
BASIS = (
    "This plan has the shipped steps of {name}. Only its title, files and demands come from your text. "
    "A language model (-m NAME) makes a plan for your problem."
)
"""The text above each plan that a template makes."""

_NOT_NAME = re.compile(r"[^a-z0-9]+")


class Item(NamedTuple):
    """The demands for one repetition of a step."""

    text: str
    ids: tuple[str, ...]


def plan_of(template: PlanTemplate, request: TemplateRequest) -> dict[str, Any]:
    """Return the template's plan for the request. If the request has a given state, the plan begins there.

    If no tool of the run implements a step, the plan does not have the step, unless the template says that it is
    needed.
    """
    steps = [step for step in template.steps if step.needed or not any(_unbound_names(step, request.given))]
    items = {step.id: _items(step, request) for step in steps}
    steps = [step for step in steps if items[step.id]]
    written = list(_steps(template, steps, items, request))
    _limit_budgets(written, request.r_max)
    if points := _critique_points(request.dependency("critique")):
        written[-1]["description"] += f" First answer the critique: {_number_text(points)}"
    budget = sum(step["retry_budget"] for step in written)
    effects_by_step = {step["step_id"]: step["effects"] for step in written}
    inner = {name for step in written for name in step["dependencies"]}
    ends = [step for step in written if step["step_id"] not in inner or step.get("satisfies")]
    words = shorten_line(_NOT_NAME.sub(" ", request.title.lower()), 48).rstrip("…").split()
    plan = {
        "plan_id": "_".join((template.kind, *words)),
        "goal": template.goal.replace("{title}", request.title),
        "initial_state": ["problem_stated"],
        "goal_state": [token for step in ends for token in step["effects"]],
        "total_retry_budget": max(budget, min(2 * budget, request.r_max)),
        "steps": written,
    }
    if request.requirements:
        plan["requirements"] = [
            requirement_to_json(_with_tokens(item, written, effects_by_step)) for item in request.requirements
        ]
    return plan_from_given_state(plan, request.given)


def _unbound_names(step: TemplateStep, given: Mapping[str, Any]) -> Iterator[str]:
    for name, names, steps in (
        (step.generator, given.get("generators"), given.get("step_generators")),
        (step.guard, given.get("guards"), given.get("step_guards")),
    ):
        if isinstance(names, Sequence) and name not in names and step.id not in (steps or ()):
            yield name


def lacking_names(template: PlanTemplate, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the sorted names of generators and guards that no tool implements, although the template needs them."""
    return tuple(sorted({name for step in template.steps if step.needed for name in _unbound_names(step, given)}))


def tokens_of(template: PlanTemplate) -> frozenset[str]:
    """Return all tokens that plans of the template can make."""
    return frozenset(
        token
        for step in template.steps
        for token in ([f"{step.makes}_{n}" for n in range(1, REPETITIONS_MAX + 1)] if step.each else [step.makes])
    )


def _items(step: TemplateStep, request: TemplateRequest) -> list[Item]:
    """Return one item for each repetition of a step. A step that is not repeated has one item."""
    if not step.each:
        return [Item(request.title, ())]
    demands = [item for item in request.requirements if item.kind in step.each]
    count = min(REPETITIONS_MAX, len(demands))
    groups = [demands[n * len(demands) // count : (n + 1) * len(demands) // count] for n in range(count)]
    items = [Item(_number_text([item.text for item in group]), tuple(item.id for item in group)) for group in groups]
    return items or ([Item(request.title, ())] if RequirementKind.GOAL in step.each else [])


def _critique_points(critique: Mapping[str, Any]) -> list[str]:
    if not critique or critique.get("overall_assessment") == "good":
        return []
    lists = (critique.get(key) for key in ("missing_steps", "ordering_issues", "specific_suggestions"))
    return [item for value in lists if isinstance(value, list) for item in value if isinstance(item, str)]


def _number_text(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else "; ".join(f"({n}) {text}" for n, text in enumerate(texts, 1))


def _steps(
    template: PlanTemplate, steps: Sequence[TemplateStep], items: Mapping[str, list[Item]], request: TemplateRequest
) -> Iterator[dict[str, Any]]:
    """Yield the steps of the plan.

    If the plan does not have a template's step, the steps after it get its dependencies.
    """
    whole = {step.id: step for step in template.steps}
    kept = {step.id for step in steps}
    accepted = {step.id for step in key_steps_in(request.dependency("strategy"))}

    def before(names: Collection[str]) -> list[str]:
        found = (other for name in names for other in ([name] if name in kept else before(whole[name].after)))
        return list(dict.fromkeys(found))

    def tokens(name: str) -> list[str]:
        count = len(items[name])
        return [f"{whole[name].makes}_{n}" for n in range(1, count + 1)] if whole[name].each else [whole[name].makes]

    earlier = {step.id: _find_predecessors(step, whole) & kept for step in steps}
    for step in steps:
        after = before(step.after)
        back = step.back if step.back in kept and not request.strong else ""
        undone = [step for step in steps if back and (step.id == back or back in earlier[step.id])]
        for number, item in enumerate(items[step.id], 1):
            ids = [f"{name}_{len(items[name])}" if whole[name].each else name for name in after]
            needs = [token for name in after for token in tokens(name)]
            if number > 1:
                ids, needs = [f"{step.id}_{number - 1}"], [*needs, *tokens(step.id)[: number - 1]]
            demands = [demand for demand in request.requirements if demand.kind in step.satisfies]
            satisfied = [*item.ids, *(demand.id for demand in demands)]
            missing_tokens = [token for other in undone if other.id in earlier[step.id] for token in tokens(other.id)]
            missing_tokens += tokens(step.id)[: number - 1] if back else []
            target = f"{back}_1" if back and whole[back].each else back
            yield {
                "step_id": f"{step.id}_{number}" if step.each else step.id,
                "name": _fill_text(step.name, request, item, number),
                "description": _description(step, request, item, demands),
                "generator": step.generator,
                "guard": step.guard,
                "retry_budget": step.tries,
                "dependencies": ids,
                "preconditions": needs,
                "effects": [tokens(step.id)[number - 1]],
                "on_failure": target or "escalate",
                "failure_effects": [],
                "failure_delete_effects": missing_tokens,
                **({"satisfies": satisfied} if satisfied else {}),
                **({"implements": [step.id]} if step.id in accepted else {}),
            }


def _find_predecessors(step: TemplateStep, whole: Mapping[str, TemplateStep]) -> set[str]:
    return {name for other in step.after for name in (other, *_find_predecessors(whole[other], whole))}


def _fill_text(text: str, request: TemplateRequest, item: Item, number: int) -> str:
    values = {
        "{title}": request.title,
        "{item}": item.text,
        "{brief}": shorten_line(item.text, BRIEF_MAX),
        "{n}": str(number),
    }
    values["{files}"] = ", ".join(request.files[:FILES_SHOWN])
    return re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], text)


def _description(step: TemplateStep, request: TemplateRequest, item: Item, demands: Sequence[Requirement]) -> str:
    sentences = [_fill_text(text, request, item, 0) for text in step.text if "{files}" not in text or request.files]
    if demands:
        sentences.append(f"The text asks for this: {_number_text([item.text for item in demands])}.")
    return " ".join(sentences)


def _with_tokens(item: Requirement, steps: Sequence[Mapping[str, Any]], made: Mapping[str, list[str]]) -> Requirement:
    """Return the requirement. A goal gets the tokens of the steps that satisfy this goal."""
    if item.kind != RequirementKind.GOAL:
        return item
    tokens = [token for step in steps if item.id in step.get("satisfies", ()) for token in made[step["step_id"]]]
    return item._replace(tokens=tuple(tokens))


def _limit_budgets(steps: list[dict[str, Any]], r_max: int) -> None:
    """Reduce retry budgets, the largest first, until their sum is at most `r_max` or all are 1."""
    while sum(step["retry_budget"] for step in steps) > r_max:
        largest = max(steps, key=lambda step: int(step["retry_budget"]))
        if largest["retry_budget"] == 1:
            break
        largest["retry_budget"] -= 1


def plan_from_given_state(plan: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan that begins at the given state and ends at the given goal, if the run has them.

    First steps are removed if their effects already hold. But a step is kept if it depends on a kept step, if it
    satisfies a demand, or if a failure goes back to it.
    """
    state, goal = given.get("initial_state"), given.get("goal_state")
    if not isinstance(state, Sequence):
        return plan
    steps: list[dict[str, Any]] = plan["steps"]
    targets = {step["on_failure"] for step in steps}
    done: set[str] = set()
    for step in steps:  # A step is listed after the steps that it depends on.
        holds = set(step["effects"]) <= set(state) and done.issuperset(step["dependencies"])
        if holds and not step.get("satisfies") and step["step_id"] not in targets:
            done.add(step["step_id"])
    if len(done) == len(steps):
        done.remove(steps[-1]["step_id"])
    kept = [
        {**step, "dependencies": [name for name in step["dependencies"] if name not in done]}
        for step in steps
        if step["step_id"] not in done
    ]
    ends = list(goal) if isinstance(goal, Sequence) else plan["goal_state"]
    return {**plan, "initial_state": list(state), "goal_state": ends, "steps": kept}
