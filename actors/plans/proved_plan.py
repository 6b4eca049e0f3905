"""A plan that the guards of a run have accepted: typed, and as the JSON object that its author wrote."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from actors.plans.plan import PLAN_ID_DEFAULT, Plan
from actors.plans.reader import read_draft
from actors.values.format import format_count
from actors.values.lines import BLANK, html_of, line
from runtime.core.errors import UsageProblem


@dataclass(frozen=True, slots=True, repr=False)
class ProvedPlan(Plan):
    """A plan as a run returns it. Two are equal if their typed fields are."""

    source: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The JSON object, with the keys that this version does not know."""

    conclusion: str = field(default="", repr=False, compare=False)
    """What the run says of it, such as `Proved at level medium`; empty where no run has accepted it."""
    demands: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """What it does about each demand of the user, a line each."""

    def __repr__(self) -> str:
        return f"<ProvedPlan {self.plan_id}: {format_count(len(self.steps), 'step')}>"

    def _repr_html_(self) -> str:
        from actors.plans.plan_text import plan_lines  # noqa: PLC0415 -- most callers take the plan as data

        note = [line(f"{self.conclusion}.", "bold"), *map(line, self.demands)] if self.conclusion else []
        return html_of([*plan_lines(self.source), BLANK, *note])

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def to_dict(self) -> dict[str, Any]:
        """Return a copy of the JSON object, as its author wrote it; `replan.check` and `replan check` read it."""
        return copy.deepcopy(dict(self.source))

    def to_markdown(self) -> str:
        """Return the Markdown document that `replan export` writes; the author's texts are escaped.

        Raises `UsageProblem` for an object that only a guard of the user's own takes for a plan.
        """
        from actors.plans.plan_text import plan_markdown  # noqa: PLC0415 -- most callers take the plan as data

        try:
            return plan_markdown(dict(self.source), f"{self.conclusion}." if self.conclusion else "", self.demands)
        except UsageProblem as problem:
            raise UsageProblem(problem.cause, place="plan", hint="to_dict() returns it as it is") from None


def read_proved_plan(value: Mapping[str, Any], conclusion: str = "", demands: tuple[str, ...] = ()) -> ProvedPlan:
    """Return the plan in a JSON object; a field of another type, which a guard of the user may allow, has its default.

    `conclusion` and `demands` are what its run says of it. Never raises.
    """
    draft, _ = read_draft(dict(value))
    plan = Plan(PLAN_ID_DEFAULT, ()) if draft is None else draft
    typed = {item.name: getattr(plan, item.name) for item in fields(Plan)}
    return ProvedPlan(**typed, source=value, conclusion=conclusion, demands=demands)
