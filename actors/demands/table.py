"""The table of demands, which says how a plan treats each demand of the user's text. Pure.

The program finds demands, and a model states requirements. A requirement belongs to a demand if their quotes overlap in
the text. No requirement belongs to several demands, even if it quotes the whole text. Some requirements belong to no
demand, such as a goal that a model derives from a reported failure. The plan states which steps satisfy a requirement,
and nothing checks that the steps really do.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple, assert_never

from actors.demands.user_texts import (
    READING,
    Demands,
    Passages,
    StatedDemand,
    UserTexts,
    demands_of,
    is_settled,
    open_value,
    words_of,
)
from actors.plans.coverage import CheckedRequirement, RequirementStanding, TokenChanges, check_requirements
from actors.plans.nominal import orphans
from actors.plans.plan import Plan
from actors.values.format import format_count, shorten
from actors.values.lines import Line, Style, html_of, indent_line, line, markdown_of
from actors.values.question_form import one_line
from actors.values.requirements import POLICY, Requirement, RequirementKind, RequirementSource

SHARE_LEAST = 0.25
"""A requirement belongs to a demand only if it quotes at least this share of the demand's words."""
WORDS_LEAST = 2
"""A requirement belongs to a demand only if it quotes at least this many of the demand's words. For a demand of one
word, one word is enough."""
COVERED_GUARD = "requirements_covered"
"""The name of the guard that compares the tools and tokens of requirements with the steps of a plan."""


class DemandStanding(StrEnum):
    """How a plan treats a demand."""

    IN_STEP = "in_step"  # a step that contributes to the goal satisfies it
    CHECKED = "checked"  # a guard or the program compares the demand with what the steps use and change
    DECLARED = "declared"  # it is stated as a requirement, but nothing checks it
    IN_NO_STEP = "in_no_step"  # the plan ignores it


@dataclass(frozen=True, slots=True)
class TableRow:
    """One demand, and how the plan treats it."""

    id: str
    kind: str
    """A `RequirementKind` as text."""
    quote: str
    source: str
    """A `RequirementSource` as text."""
    standing: DemandStanding
    steps: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    """The guards that compare the demand with the plan. If no guard does, the guards of the steps that satisfy the
    demand.
    """
    requirement: str | None = None
    assumed: str = ""
    """The meaning that the plan assumes for the demand's unclear words; empty if no words are unclear."""
    end: str = ""
    """Whether an execution of the plan has fulfilled the demand: `met`, `kept` or `not met`; empty until this is known.
    """

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain data."""
        value: dict[str, Any] = {
            "id": self.id,
            "kind": self.kind,
            "quote": self.quote,
            "source": self.source,
            "standing": str(self.standing),
            "steps": list(self.steps),
            "guards": list(self.guards),
        }
        value |= {} if self.requirement is None else {"requirement": self.requirement}
        return value | {"assumed": self.assumed} if self.assumed else value


@dataclass(frozen=True, slots=True, repr=False)
class DemandTable:
    """All demands of the user's texts, and how a plan treats each demand."""

    rows: tuple[TableRow, ...] = ()
    """One row for each demand, in the order of the texts; then rows for requirements that belong to no demand."""
    unread: tuple[str, ...] = ()
    """Sentences that say which parts of the texts were not read. Demands in these parts have no rows."""

    def __repr__(self) -> str:
        return f"<DemandTable: {format_count(len(self.rows), 'demand')}, {len(self.in_no_step)} in no step>"

    def _repr_html_(self) -> str:
        return html_of(table_lines(self))

    def _repr_markdown_(self) -> str:
        return markdown_of(table_lines(self))

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain data: an object with the keys `demands` and `unread`."""
        return {"demands": [row.to_json() for row in self.rows], "unread": list(self.unread)}

    @property
    def in_no_step(self) -> tuple[TableRow, ...]:
        """The rows with the standing `IN_NO_STEP`: demands that the plan ignores."""
        return tuple(row for row in self.rows if row.standing is DemandStanding.IN_NO_STEP)

    @property
    def worst_first(self) -> tuple[TableRow, ...]:
        """The rows in another order: first demands in no step, then demands that nothing checks, then all others."""
        return tuple(sorted(self.rows, key=lambda row: -_BEST.index(row.standing)))

    @property
    def complete(self) -> bool:
        """Whether all texts were read and no demand is `in_no_step`."""
        return not self.unread and not self.in_no_step


def demand_table(user: UserTexts, plan: Plan, *, paths_compared_by: str = "") -> DemandTable:
    """Return the table of a plan. The plan must already include the requirements of recon.

    A requirement that belongs to no demand gets a row in three cases: It was stated after the start of the run, the
    plan assumes one of its readings, or its text was not read. `paths_compared_by` names the checker of the files that
    a requirement protects, such as an execution; empty if nothing checks these files.
    """
    demands = demands_of(user)
    judged = _Judged(plan, paths_compared_by)
    standing_for = _match_requirements(user, demands, plan.requirements)
    rows = [judged.row(demand, standing_for.get(demand.demand.id, ())) for demand in demands.holding]
    assumed = _assumptions_by_id(user, demands, plan.requirements)
    matched = {item.id for items in standing_for.values() for item in items}
    unmatched = [item for item in plan.requirements if item.id not in matched]
    read = [_normalize(text) for _, text in user.texts] if unmatched and not demands.unread else []
    rows += [
        judged.own_row(item)
        for item in unmatched
        if item.source == RequirementSource.USER
        or item.id in assumed
        or not any(_normalize(item.quote) in text for text in read)
    ]
    marked = (replace(row, assumed=assumed.get(row.id) or assumed.get(row.requirement or "", "")) for row in rows)
    return DemandTable(tuple(marked), demands.unread)


def _assumptions_by_id(user: UserTexts, demands: Demands, stated: Sequence[Requirement]) -> dict[str, str]:
    """Return a mapping from ids of demands and requirements to notes about their unclear words.

    The note of an unclear requirement is the meaning that the plan assumes. The note of a demand says that a value is
    still open.
    """
    notes = {
        item.id: one_line(item.text)
        for item in stated
        if item.ambiguous and not is_settled(user.clarified, READING, item.quote)
    }
    for stated_demand in demands.holding:
        demand = stated_demand.demand
        words = open_value(demand)
        if words and not is_settled(user.clarified, demand.quote):
            notes.setdefault(demand.id, f"'{words}' stays open")
    return notes


def _match_requirements(
    user: UserTexts, demands: Demands, stated: Sequence[Requirement]
) -> Mapping[str, list[Requirement]]:
    """Return a mapping from the ids of demands to the requirements that belong to the demand.

    Pairs of a demand and a requirement are tried in order, and the pair whose quotes agree best comes first. The first
    pass gives each demand at most one requirement. The second pass adds each remaining requirement to the demand whose
    quote agrees best.
    """
    all_demands = (*demands.holding, *demands.dropped)
    by_id = {item.id: item for item in stated}
    pairs = sorted(_overlaps(user, all_demands, stated), reverse=True, key=lambda pair: pair[0])
    found: dict[str, list[Requirement]] = defaultdict(list)
    used: set[str] = set()
    for further in (False, True):
        for _, demand, requirement in pairs:
            if requirement not in used and (further or demand not in found):
                used.add(requirement)
                found[demand].append(by_id[requirement])
    return found


def _overlaps(
    user: UserTexts, said: Iterable[StatedDemand], stated: Sequence[Requirement]
) -> Iterator[tuple[float, str, str]]:
    by_text: dict[int, list[StatedDemand]] = defaultdict(list)
    for entry in said:
        by_text[entry.text].append(entry)
    known = {item.id for item in stated}
    for number, here in by_text.items():
        passages = Passages(user.texts[number][1])
        places = {item.id: list(passages.find(item.quote)) for item in stated}
        for entry in here:
            demand = entry.demand
            if demand.id in known:
                yield 1.0, demand.id, demand.id
            words = passages.words_between(demand.start, demand.end)
            least = max(min(WORDS_LEAST, len(words)), SHARE_LEAST * len(words))
            for name, ranges in places.items():
                best = max((_agreement(words, place, least) for place in ranges), default=0.0)
                if best > 0 and name != demand.id:
                    yield best, demand.id, name


def _agreement(words: range, place: range, least: float) -> float:
    both = min(words.stop, place.stop) - max(words.start, place.start)
    return 0.0 if both < max(1, least) else both / (len(words) + len(place) - both)


class _Judged:
    """Makes the rows of a plan's demands and requirements."""

    def __init__(self, plan: Plan, paths_compared_by: str) -> None:
        self._paths = paths_compared_by
        self._checked = {requirement.requirement.id: requirement for requirement in check_requirements(plan)}
        self._changes = TokenChanges.of(plan)
        self._guards = {step.step_id: step.guard for step in plan.steps}
        idle = {step.step_id for step in orphans(plan)}
        self._satisfying: dict[str, list[str]] = defaultdict(list)
        for step in plan.steps:
            for name in step.satisfies if step.step_id not in idle else ():
                self._satisfying[name].append(step.step_id)

    def row(self, said: StatedDemand, items: Sequence[Requirement]) -> TableRow:
        demand = said.demand
        first_fields = _About(demand.id, str(demand.kind), demand.quote, str(demand.source))
        rows = [self._row_of_requirement(item, first_fields) for item in items]
        in_no_step = TableRow(*first_fields, DemandStanding.IN_NO_STEP)
        return min(rows, key=lambda row: _BEST.index(row.standing), default=in_no_step)

    def own_row(self, item: Requirement) -> TableRow:
        first_fields = _About(item.id, item.kind, " ".join(item.quote.split()), item.source)
        return self._row_of_requirement(item, first_fields)

    def _row_of_requirement(self, item: Requirement, about: "_About") -> TableRow:
        known = self._checked[item.id]
        wants_step = RequirementKind.GOAL in (item.kind, about.kind)
        steps = known.steps if item.kind == RequirementKind.GOAL else tuple(sorted(self._satisfying[item.id]))
        compared = self._find_comparison(item, known, about.quote)
        if known.standing in (RequirementStanding.UNCOVERED, RequirementStanding.VIOLATED):
            return TableRow(*about, DemandStanding.IN_NO_STEP, requirement=item.id)
        if compared and not wants_step:
            return TableRow(*about, DemandStanding.CHECKED, steps, compared, item.id)
        if steps:
            guards = dict.fromkeys(guard for step in steps if (guard := self._guards[step]))
            return TableRow(*about, DemandStanding.IN_STEP, steps, tuple(guards), item.id)
        return TableRow(
            *about, DemandStanding.IN_NO_STEP if wants_step else DemandStanding.DECLARED, requirement=item.id
        )

    def _find_comparison(self, item: Requirement, known: CheckedRequirement, quote: str) -> tuple[str, ...]:
        """Return the names of the guards or programs that check a requirement.

        The check of a forbidden tool counts only if the quote names the tool.
        """
        named = all(_normalize(tool) in _normalize(quote) for tool in item.tools)
        if known.standing is RequirementStanding.KEPT and named:
            return (COVERED_GUARD,)
        only_paths = bool(item.paths) and not item.tokens and not item.tools
        return (self._paths,) if only_paths and self._paths else ()


class _About(NamedTuple):
    """The first fields of a row: the quote, with its id, kind and source."""

    id: str
    kind: str
    quote: str
    source: str


_BEST = (DemandStanding.CHECKED, DemandStanding.IN_STEP, DemandStanding.DECLARED, DemandStanding.IN_NO_STEP)
"""The standings of a demand in a plan, from the best to the worst."""


def _normalize(text: str) -> str:
    return "".join(words_of(text)).replace("_", "")


def standing_text(row: TableRow, *, full: bool = True) -> str:
    """Return, in words, whether an execution fulfilled a demand, if this is known, and how the plan treats the demand.

    Without `full`, the second part is omitted if the first part is known.
    """
    if row.end:
        return f"{row.end}, {_plan_text(row)}" if full else row.end
    return _plan_text(row)


def _plan_text(row: TableRow) -> str:
    match row.standing:
        case DemandStanding.IN_STEP:
            return f"in step{'s' if len(row.steps) > 1 else ''} {', '.join(row.steps)}"
        case DemandStanding.CHECKED:
            return f"checked by {', '.join(row.guards)}"
        case DemandStanding.DECLARED:
            return "declared, not checked"
        case DemandStanding.IN_NO_STEP:
            return "in no step"
        case _:
            assert_never(row.standing)


MET, KEPT, NOT_MET = "met", "kept", "not met"
"""The three results of an execution for a demand: its goal is reached, its limit is respected, or neither is true."""
HEADING = "Demands of the text"
NONE_FOUND = "No demand was found in the text."
ROWS_BRIEF = 12
"""The largest number of rows that the short form of the table shows, not counting rows for demands in no step. The
short form shows all rows for demands in no step.
"""
QUOTE_MAX = 200
"""The largest number of characters of a demand's quote that one line of the table shows."""

_STYLES: dict[DemandStanding, Style] = {
    DemandStanding.IN_STEP: "",
    DemandStanding.CHECKED: "",
    DemandStanding.DECLARED: "dim",
    DemandStanding.IN_NO_STEP: "yellow",
}
_END_STYLES: Mapping[str, Style] = {MET: "green", KEPT: "green", NOT_MET: "red"}
_OPEN = {DemandStanding.IN_NO_STEP: "in no step", DemandStanding.DECLARED: "not checked"}
"""For each standing that the table's heading counts: the words in the heading."""


def demand_line(row: TableRow, *, full: bool = True) -> str:
    """Return a demand, and how the plan treats it, as one line of text."""
    quote = shorten(row.quote, QUOTE_MAX)
    return f"{standing_text(row, full=full)}: {quote}{f' (assumed: {row.assumed})' if row.assumed else ''}"


def table_texts(table: DemandTable) -> tuple[str, ...]:
    """Return the whole table as lines of text. The last lines name the parts that were not read."""
    rows = tuple(demand_line(row) for row in table.worst_first)
    return (*(rows or (NONE_FOUND,)), *table.unread)


def counts_text(table: DemandTable) -> str:
    """Return the number of demands, and how many are in no step, not checked or not met; or `all met`."""
    counts = Counter(row.standing for row in table.rows)
    open_ones = [f"{counts[item]} {words}" for item, words in _OPEN.items() if counts[item]]
    ends = Counter(row.end for row in table.rows)
    if ends[NOT_MET]:
        open_ones.append(f"{ends[NOT_MET]} not met")
    if ends[MET] + ends[KEPT] == len(table.rows):
        open_ones = ["all met"]
    return ", ".join((str(len(table.rows)), *open_ones))


def table_lines(table: DemandTable, *, full: bool = True) -> list[Line]:
    """Return the table as lines.

    Without `full`, lines are short, and rows after the first `ROWS_BRIEF` are only counted.
    """
    if not table.rows:
        return [line(NONE_FOUND, "dim"), *(line(text, "yellow") for text in table.unread)]
    lines, left, hidden = [line(f"{HEADING}: {counts_text(table)}", "bold")], ROWS_BRIEF, 0
    for row in table.worst_first:
        if not full and row.standing is not DemandStanding.IN_NO_STEP:
            left -= 1
            if left < 0:
                hidden += 1
                continue
        lines.append(indent_line(demand_line(row, full=full), _END_STYLES.get(row.end, _STYLES[row.standing])))
    if hidden:
        lines.append(indent_line(f"{format_count(hidden, 'more demand')}: in a step, checked or declared", "dim"))
    return [*lines, *(indent_line(text, "yellow") for text in table.unread)]


ESCALATIONS_MAX = 8
"""The largest number of steps that a conclusion lists after each reason, such as the steps that cannot be undone."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What the guard of an accepted plan has proved about the plan."""

    level: str = ""
    """The level at which the plan is proved: `minimal`, `medium` or `expansive`; empty if the guard states no level."""
    assurance: str = ""
    """How certain success is if steps fail, such as `strong`; empty if the level is not `expansive`."""
    escalations: tuple[str, ...] = ()
    undoes: tuple[str, ...] = ()
    """The steps whose failure undoes everything and ends the plan."""
    irreversible: tuple[str, ...] = ()
    """The steps that cannot be undone and may have run before a failure that undoes everything."""


def proof_of(facts: Mapping[str, Any]) -> Proof:
    """Return the `facts` of a verdict as a proof.

    Never raises, because the facts of a user's own guard can have any form.
    """
    stated = [facts.get(name) for name in ("escalations", "undoes", "irreversible")]
    named = [tuple(map(str, value)) if isinstance(value, list | tuple) else () for value in stated]
    return Proof(str(facts.get("level") or ""), str(facts.get("assurance") or ""), *named)


class Conclusion(NamedTuple):
    """A statement about whether an accepted plan is proved."""

    proved: bool
    text: str
    """The conclusion and its reason in words, without a full stop."""


def conclusion(proof: Proof, table: DemandTable | None, *, reads_text: bool = True, guard: str = "") -> Conclusion:
    """Return whether a plan is proved, from the facts of its guard and its table of demands.

    `table` is None if another run compares the demands with the plan. `reads_text` says whether the model that made the
    plan reads the text. If the proof has no level, the text names the guard `guard`, which accepted the plan.
    """
    words = f"level {proof.level}" if proof.level else f"accepted by {guard or 'its guard'}"
    if proof.assurance:
        words += f", assurance {proof.assurance}"
    if proof.escalations:
        words += f"; after a failure of {', '.join(proof.escalations[:ESCALATIONS_MAX])}, a person may take over"
    if proof.undoes:
        words += f"; a failure of {', '.join(proof.undoes[:ESCALATIONS_MAX])} undoes everything"
    if proof.irreversible:
        words += f", but {', '.join(proof.irreversible[:ESCALATIONS_MAX])} cannot be undone"
    assumed = 0 if table is None else sum(bool(row.assumed) for row in table.rows)
    if assumed:
        words += f"; the meaning of {format_count(assumed, 'demand')} is assumed"
    reason = _reason(table, reads_text=reads_text)
    if reason:
        return Conclusion(False, f"Consistent, but {reason} ({words})")
    if not proof.level:
        return Conclusion(False, f"{words[0].upper()}{words[1:]}")
    return Conclusion(True, f"Proved at {words}") if table is not None else Conclusion(False, f"Consistent at {words}")


def _reason(table: DemandTable | None, *, reads_text: bool) -> str:
    """Return the reason why a plan is not called proved, as a clause; empty if there is no reason.

    The level of the proof plays no part.
    """
    missing = 0 if table is None else len(table.in_no_step)
    if missing:
        return f"{format_count(missing, 'demand')} {'is' if missing == 1 else 'are'} in no step"
    if table is not None and POLICY in table.unread:
        return "the text is a policy or a manual, and its rules were not compared with the plan"
    if table is not None and table.unread:
        return "a part of the text was not read"
    return "" if reads_text else "the steps come from a template, not from the text"
