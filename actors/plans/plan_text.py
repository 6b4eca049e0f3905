"""A plan as text: terminal lines in full or short, a Markdown document, a GitHub task list, a notebook, or YAML. Pure.

Texts of models are escaped.
"""

import copy
import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from actors.plans.graph import contingent_steps, order_of
from actors.plans.plan import (
    CONTINUE,
    ESCALATE,
    IRREVERSIBLE,
    NEVER,
    NOTHING,
    PLAN_ID_DEFAULT,
    UNDO,
    Invariant,
    Plan,
    Step,
)
from actors.plans.reader import read_draft, read_plan
from actors.values.flow import Checklist, ChecklistItem, NodeState
from actors.values.format import format_count
from actors.values.lines import BLANK, Line, StyledSpan, html_of, indent_line, line
from runtime.core.errors import UsageProblem
from runtime.logs.terminal_text import clean

GO_BACK = ""
"""The key, in the mappings below, of the text before a step's id. After a failure, the plan goes back to this step."""
_UNDO_WORDS = {NOTHING: "it changes nothing", IRREVERSIBLE: "it cannot be undone"}
_ON_FAILURE = {CONTINUE: "go on without it", UNDO: "undo everything and end", GO_BACK: "go back to "}
_IN_LINES = {**_ON_FAILURE, ESCALATE: "hand over to a person or the replanner", NEVER: "cannot fail"}
_IN_MARKDOWN = {**_ON_FAILURE, ESCALATE: "a person takes over", NEVER: "it cannot fail"}
_IN_SUMMARY = {
    ESCALATE: "",  # It is the usual end.
    NEVER: "cannot fail",
    CONTINUE: "if it fails: go on",
    UNDO: "if it fails: undo all",
    GO_BACK: "if it fails: back to ",
}
_IN_CHECKLIST = {
    ESCALATE: "",
    NEVER: "",
    CONTINUE: "; if it fails: go on without it",
    UNDO: "; if it fails: undo everything",
    GO_BACK: "; if it fails: back to ",
}
_CONTINGENT = Line((StyledSpan("  (only after a failure)", "yellow"),))
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")
_LEADING = re.compile(r"^([-+=]|\d+[.)])")


def failure_text(step: Step, words: Mapping[str, str], named: Callable[[str], str] = str) -> str:
    """Return the text for a step's `on_failure`.

    If execution goes back to a step after a failure, the text names that step.

    `words` maps the values of `on_failure`, and `GO_BACK`, to texts. `named` formats the id of a step.
    """
    back = step.goes_back_to
    return words[step.on_failure] if back is None else words[GO_BACK] + named(back)


def plan_lines(value: Any) -> list[Line]:
    """Return the plan as lines. A value that is not a plan is shown as JSON."""
    if (ordered := _order_steps(value)) is None:
        return value_lines(value)
    plan, steps = ordered
    later = contingent_steps(plan)
    lines = [*_head(plan), field_line("start", _names(plan.initial_state)), field_line("goal", _names(plan.goal_state))]
    for number, step in enumerate(steps, 1):
        lines += [BLANK, *_step(number, step, contingent=step.step_id in later)]
    if plan.invariants:
        lines += [BLANK, line("Always", "bold")]
    return [*lines, *(indent_line(_rule(invariant, "while", _names)) for invariant in plan.invariants)]


def plan_summary(value: Any) -> list[Line]:
    """Return the plan with one line for each step, in order. A value that is not a plan is shown as JSON."""
    if (ordered := _order_steps(value)) is None:
        return value_lines(value)
    plan, steps = ordered
    later, width = contingent_steps(plan), len(str(len(steps)))
    rows = (_row(f"{number:>{width}}. ", step, step.step_id in later) for number, step in enumerate(steps, 1))
    return [*_head(plan), *rows]


def value_lines(value: Any) -> list[Line]:
    """Return a JSON value as lines. A string is shown without quotes."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return [Line((StyledSpan(row),)) for row in clean(text).rstrip("\n").split("\n")]


def plan_title(plan: Plan) -> Line:
    """Return the name of a plan, and its goal in words."""
    return line(f"Plan {plan.plan_id}{f': {plan.goal}' if plan.goal else ''}", "bold")


def step_title(number: str, step: Step) -> Line:
    """Return the number, the id and the name of a step."""
    title = Line((StyledSpan(number), *line(step.step_id, "bold").spans), len(number))
    if step.name and step.name != step.step_id:
        title += Line((StyledSpan("  "), *line(step.name).spans))
    return title


def field_line(name: str, text: str, width: int = 7) -> Line:
    """Return the line of a step's field: the field's name, padded to `width` characters, and the field's text."""
    return Line((StyledSpan("   "), StyledSpan(f"{name:<{width}}", "cyan"), *line(text).spans), 3 + width)


def _head(plan: Plan) -> list[Line]:
    return [*([line(plan.basis, "yellow"), BLANK] if plan.basis else []), plan_title(plan)]


def plan_items(value: Any) -> Checklist | None:
    """Return the plan as a checklist on which no step has begun; None if the value is not a plan."""
    if (ordered := _order_steps(value)) is None:
        return None
    plan, steps = ordered
    later = contingent_steps(plan)
    items = []
    for step in steps:
        facts = ["only after a failure"] if step.step_id in later else []
        facts += [f"tells {one_of(step)}"] if step.outcomes else []
        guard = f"checked by {step.guard}" if step.guard else ""
        name, text = step.name or step.step_id, tuple(_details(step))
        items.append(ChecklistItem(step.step_id, name, NodeState.OPEN, guard, tuple(facts), details=text))
    notes = [field_line("start", _names(plan.initial_state)), field_line("goal", _names(plan.goal_state))]
    notes += [indent_line(_rule(invariant, "while", _names)) for invariant in plan.invariants]
    title = clean(plan.goal or plan.plan_id, one_line=True)
    return Checklist(title, tuple(items), notes=tuple(notes), basis=basis_of(value), executed=False)


def basis_of(value: Any) -> str:
    """Return the text in a plan's field `basis`, which says where the plan comes from.

    The text is empty if the plan has no such field, or if the value is not a plan.
    """
    basis = value.get("basis") if isinstance(value, Mapping) else None
    return clean(basis, one_line=True) if isinstance(basis, str) else ""


def step_details(value: Any) -> dict[str, tuple[Line, ...]]:
    """Return a mapping from step ids to the lines below the step's title; empty if the value is not a plan."""
    ordered = _order_steps(value)
    return {} if ordered is None else {step.step_id: tuple(_details(step)) for step in ordered[1]}


def _step(number: int, step: Step, *, contingent: bool) -> Iterator[Line]:
    yield step_title(f"{number}. ", step) + (_CONTINGENT if contingent else BLANK)
    yield from _details(step)


def _details(step: Step) -> Iterator[Line]:
    if step.description and step.description != step.name:
        yield indent_line(step.description, "dim")
    for name, tokens in (
        ("after", step.dependencies),
        ("needs", step.preconditions),
        ("makes", step.effects),
        ("ends", step.delete_effects),
    ):
        if tokens:
            yield field_line(name, _names(tokens))
    for outcome in step.outcomes:
        ended = f", ending {_names(outcome.delete_effects)}" if outcome.delete_effects else ""
        yield field_line("either", f"{outcome.name}: {_names(outcome.effects)}{ended}")
    yield field_line("guard", f"{f'{step.guard}, ' if step.guard else ''}{_tries(step)}")
    yield field_line("fails", failure_text(step, _IN_LINES) + _failure_effects_text(step, _names))
    if step.undo:
        yield field_line("undo", _UNDO_WORDS.get(step.undo, step.undo))


def _row(number: str, step: Step, contingent: bool) -> Line:
    """Return a step in one line. `on_failure` is not shown if it is `escalate`, the usual value."""
    row = step_title(number, step)
    if step.guard:
        row += Line((StyledSpan("  "), *line(f"[{step.guard}]", "cyan").spans))
    row += _CONTINGENT if contingent else BLANK
    if step.outcomes:
        row += Line((StyledSpan("  "), *line(f"tells {one_of(step)}").spans))
    if failure := failure_text(step, _IN_SUMMARY):
        row += Line((StyledSpan("  "), *line(failure, "dim").spans))
    return row


def one_of(step: Step) -> str:
    """Return the names of a step's outcomes, such as `red, green or black`."""
    *names, last = [outcome.name for outcome in step.outcomes]
    return f"{', '.join(names)} or {last}" if names else last


def _tries(step: Step) -> str:
    return f"{format_count(step.retry_budget, 'attempt')}{', may run again' if step.repeatable else ''}"


def _failure_effects_text(step: Step, shown: Callable[[Iterable[str]], str]) -> str:
    left = f", leaving {shown(step.failure_effects)}" if step.failure_effects else ""
    return left + (f", ending {shown(step.failure_delete_effects)}" if step.failure_delete_effects else "")


def _rule(invariant: Invariant, when: str, shown: Callable[[Iterable[str]], str]) -> str:
    rules = [f"{shown(invariant.must)} must hold"] if invariant.must else []
    rules += [f"never {shown(invariant.must_not)}"] if invariant.must_not else []
    return f"{f'{when} {shown(invariant.when)}: ' if invariant.when else ''}{'; '.join(rules)}"


def _names(tokens: Iterable[str]) -> str:
    return ", ".join(sorted(tokens)) or "nothing"


def _order_steps(value: Any) -> tuple[Plan, tuple[Step, ...]] | None:
    plan, _ = read_plan(value)
    order = None if plan is None else order_of(plan, as_listed=True)
    return None if plan is None or order is None else (plan, tuple(order.steps))


def plan_markdown(value: Any, note: str = "", demands: Sequence[str] = ()) -> str:
    """Return a plan as a Markdown document.

    The plan's basis and `note` follow the title. `demands` are lines at the end. Raises `UsageProblem` if the value is
    not a plan.
    """
    plan, steps = _read_ordered_plan(value)
    lines = [f"# {escape_markdown(plan.goal or plan.plan_id)}", ""]
    lines += _remarks(plan, note)
    lines += [f"- Start: {_codes(plan.initial_state)}", f"- Goal: {_codes(plan.goal_state)}"]
    later = contingent_steps(plan)
    for number, step in enumerate(steps, 1):
        only = " (only after a failure)" if step.step_id in later else ""
        lines += ["", f"## {number}. {escape_markdown(step.name or step.step_id)}{only}", ""]
        if step.description and step.description != step.name:
            lines += [escape_markdown(step.description), ""]
        lines += [f"- {name}: {text}" for name, text in _facts(step)]
    if plan.invariants:
        lines += ["", "## Always", "", *(f"- {_rule(invariant, 'While', _codes)}" for invariant in plan.invariants)]
    if demands:
        lines += ["", "## Demands of the text", "", *(f"- {escape_markdown(text)}" for text in demands)]
    return "\n".join(lines) + "\n"


def plan_checklist(value: Any, note: str = "", demands: Sequence[str] = ()) -> str:
    """Return a plan as a GitHub task list: the steps to do, then the steps that run only after a failure.

    The plan's basis and `note` follow the title. `demands` are lines at the end. Raises `UsageProblem` if the value is
    not a plan.
    """
    plan, steps = _read_ordered_plan(value)
    later = contingent_steps(plan)
    lines = [f"## {_for_github(escape_markdown(plan.goal or plan.plan_id))}", ""]
    lines += map(_for_github, _remarks(plan, note))
    nominal = [step for step in steps if step.step_id not in later]
    names = {step.step_id: step.name or step.step_id for step in steps}
    lines += [_task(step, names) for step in nominal]
    if len(nominal) < len(steps):
        lines += ["", "Only after a failure:", ""]
        lines += [_task(step, names) for step in steps if step.step_id in later]
    if demands:
        lines += ["", "Demands of the text:", "", *(f"- {_for_github(escape_markdown(text))}" for text in demands)]
    return "\n".join(lines) + "\n"


def _remarks(plan: Plan, note: str) -> list[str]:
    return [part for text in (plan.basis, note) if text for part in (escape_markdown(text), "")]


def _task(step: Step, names: Mapping[str, str]) -> str:
    def quoted(name: str) -> str:
        return f'"{_for_github(escape_markdown(names.get(name, name)))}"'

    checked = f" (checked by {_code(step.guard)})" if step.guard else ""
    either = f"; it tells {escape_markdown(one_of(step))}" if step.outcomes else ""
    failure = failure_text(step, _IN_CHECKLIST, quoted)
    return f"- [ ] {_for_github(escape_markdown(names[step.step_id]))}{checked}{_for_github(either)}{failure}"


def _facts(step: Step) -> Iterator[tuple[str, str]]:
    yield "Id", _code(step.step_id)
    for name, values in (
        ("After", step.dependencies),
        ("Needs", step.preconditions),
        ("Makes", step.effects),
        ("Ends", step.delete_effects),
    ):
        if values:
            yield name, _codes(values)
    for outcome in step.outcomes:
        ended = f", ending {_codes(outcome.delete_effects)}" if outcome.delete_effects else ""
        yield "Either", f"{_code(outcome.name)}, making {_codes(outcome.effects)}{ended}"
    yield "Guard", f"{_code(step.guard)}, {_tries(step)}"
    yield "If it fails", failure_text(step, _IN_MARKDOWN, _code) + _failure_effects_text(step, _codes)
    if step.undo:
        yield "Undone by", _UNDO_WORDS.get(step.undo) or _code(step.undo)


def escape_markdown(text: str) -> str:
    """Return a text on one line, with the special characters of Markdown escaped."""
    shown = _SPECIAL.sub(r"\\\1", clean(text, one_line=True).strip())
    return _LEADING.sub(lambda match: f"{match[1][:-1]}\\{match[1][-1]}", shown)


def _for_github(text: str) -> str:
    """Change a text so that GitHub finds no mention of a user in it, because GitHub would notify the user."""
    return text.replace("@", "@<!-- -->")


def _codes(values: Iterable[str]) -> str:
    return ", ".join(_code(value) for value in sorted(values)) or "nothing"


def _code(value: str) -> str:
    return f"`{clean(value, one_line=True).replace('`', '')}`"


def _read_ordered_plan(value: Any) -> tuple[Plan, tuple[Step, ...]]:
    if (ordered := _order_steps(value)) is None:
        raise UsageProblem("the object is not a valid plan, so it is available only as JSON", hint="use --format json")
    return ordered


@dataclass(frozen=True, slots=True, repr=False)
class ProvedPlan(Plan):
    """A plan that the guards of a run have accepted. Two plans are equal if their typed fields are equal."""

    source: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The JSON object that the model wrote, including keys that this version does not know."""
    conclusion: str = field(default="", repr=False, compare=False)
    """The run's statement about the plan, such as `Proved at level medium`; empty if no run has accepted it."""
    demands: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """A line for each demand of the user, with the steps for it."""

    def __repr__(self) -> str:
        return f"<ProvedPlan {self.plan_id}: {format_count(len(self.steps), 'step')}>"

    def _repr_html_(self) -> str:

        note = [line(f"{self.conclusion}.", "bold"), *map(line, self.demands)] if self.conclusion else []
        return html_of([*plan_lines(self.source), BLANK, *note])

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def to_dict(self) -> dict[str, Any]:
        """Return a copy of the JSON object in the form that models write.

        `replan.check` and `replan check` can read the copy.
        """
        return copy.deepcopy(dict(self.source))

    def to_markdown(self) -> str:
        """Return the Markdown document that `replan export` writes, with the model's texts escaped.

        Raises `UsageProblem` if the object is not a plan. (A user's own guard can accept other objects.)
        """
        try:
            return plan_markdown(dict(self.source), f"{self.conclusion}." if self.conclusion else "", self.demands)
        except UsageProblem as problem:
            raise UsageProblem(problem.cause, place="plan", hint="use to_dict()") from None


def read_proved_plan(value: Mapping[str, Any], conclusion: str = "", demands: tuple[str, ...] = ()) -> ProvedPlan:
    """Return the plan in a JSON object, with the `conclusion` and the `demands` of its run. Never raises.

    If a field has a wrong type (a user's own guard may allow this), the field gets its default.
    """
    draft, _ = read_draft(dict(value))
    plan = Plan(PLAN_ID_DEFAULT, ()) if draft is None else draft
    typed = {item.name: getattr(plan, item.name) for item in fields(Plan)}
    return ProvedPlan(**typed, source=value, conclusion=conclusion, demands=demands)


_PLAN = ("plan_id", "goal", "initial_state", "goal_state", "total_retry_budget")
_STEP = (
    "step_id",
    "name",
    "description",
    "generator",
    "guard",
    "retry_budget",
    "dependencies",
    "preconditions",
    "effects",
)
LINES_MAX = 400
"""The largest number of lines that are shown of the difference between two plans."""


def plan_as_yaml(value: Mapping[str, Any], comments: Iterable[str] = ()) -> str:
    """Return a plan (a JSON object) as YAML, with `comments` above it. Reading the YAML ignores the comments."""
    import yaml  # noqa: PLC0415 -- slow to load, and `show` needs no YAML

    head = "".join(f"# {row}".rstrip() + "\n" for comment in comments for row in comment.splitlines() or [""])
    steps = [_in_order(step, _STEP) if isinstance(step, Mapping) else step for step in value.get("steps", ())]
    return head + yaml.safe_dump(
        _in_order({**value, "steps": steps}, _PLAN), sort_keys=False, allow_unicode=True, width=110
    )


def _in_order(value: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return a mapping in a new order: first the keys in `keys`, then all other keys, and `steps` last."""
    rest = [key for key in value if key not in keys and key != "steps"]
    return {key: value[key] for key in (*keys, *rest, "steps") if key in value}


def read_plan_yaml(text: str, source: str) -> dict[str, Any]:
    """Return the plan in a YAML text as a JSON object. Raises `UsageProblem`; its place begins with `source`."""
    from actors.files.yaml_document import parse_document  # noqa: PLC0415 -- as above

    return dict(parse_document(text, source).value)


def plan_diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the lines of a YAML diff of two plans, which begin with `+`, `-` or a space; empty for equal plans."""
    old, new = (plan_as_yaml(value).splitlines() for value in (before, after))
    rows = list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]
    shown = [row for row in rows if not row.startswith("@@")]
    more = [f"  and {len(shown) - LINES_MAX:,} more lines"] if len(shown) > LINES_MAX else []
    return [*shown[:LINES_MAX], *more]
