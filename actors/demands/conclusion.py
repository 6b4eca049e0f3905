"""What may be said of a plan that its guards have accepted: proved, or consistent and why not more. Pure.

"Proved" needs the guard's proof, an author that reads the text, texts that the program has read whole, and no demand
that is in no step.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actors.demands.table import DemandTable
from actors.values.format import counted

ESCALATIONS_MAX = 8
"""Steps that may hand over to a person and are named."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What the guard of an accepted plan has measured."""

    level: str = ""
    """The level at which it is proved: `minimal`, `medium` or `expansive`; empty for a guard that states none."""
    assurance: str = ""
    """How sure success is over all failures, such as `strong`; empty below `expansive`."""
    escalations: tuple[str, ...] = ()
    """The steps that may hand over to a person."""
    undoes: tuple[str, ...] = ()
    """The steps whose failure ends the plan with everything undone."""
    irreversible: tuple[str, ...] = ()
    """The steps that may have run then and cannot be undone."""


def proof_of(facts: Mapping[str, Any]) -> Proof:
    """Return the proof in the facts of a verdict; a guard of the user may state anything there."""
    stated = [facts.get(name) for name in ("escalations", "undoes", "irreversible")]
    named = [tuple(map(str, each)) if isinstance(each, list | tuple) else () for each in stated]
    return Proof(str(facts.get("level") or ""), str(facts.get("assurance") or ""), *named)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Whether an accepted plan is proved, and the words that say so."""

    proved: bool
    """Whether it is proved, and does something about each demand."""
    text: str
    """The same in words, without a full stop."""


def conclusion(proof: Proof, table: DemandTable | None, *, reads_text: bool = True, guard: str = "") -> Conclusion:
    """Return what may be said of a plan.

    `proof` is that of the verdict that accepted it, `table` the demands of the user, or None where another run
    compares them; `reads_text` says whether the author reads the text, and `guard` names what accepted the plan where
    its proof states no level.
    """
    words = f"level {proof.level}" if proof.level else f"accepted by {guard or 'its guard'}"
    if proof.assurance:
        words += f", assurance {proof.assurance}"
    if proof.escalations:
        words += f"; {', '.join(proof.escalations[:ESCALATIONS_MAX])} may hand over to a person"
    if proof.undoes:
        words += f"; a failure of {', '.join(proof.undoes[:ESCALATIONS_MAX])} undoes everything"
    if proof.irreversible:
        words += f", but {', '.join(proof.irreversible[:ESCALATIONS_MAX])} cannot be undone"
    assumed = 0 if table is None else sum(bool(row.assumed) for row in table.rows)
    if assumed:
        words += f"; what {counted(assumed, 'demand')} {'means' if assumed == 1 else 'mean'} is assumed"
    reason = _reason(table, reads_text=reads_text)
    if reason:
        return Conclusion(False, f"Consistent, but {reason} ({words})")
    if not proof.level:
        return Conclusion(False, f"{words[0].upper()}{words[1:]}")
    return Conclusion(True, f"Proved at {words}") if table is not None else Conclusion(False, f"Consistent at {words}")


def _reason(table: DemandTable | None, *, reads_text: bool) -> str:
    """Return why a plan is no more than consistent; empty where nothing is against more."""
    missing = 0 if table is None else len(table.in_no_step)
    if missing:
        return f"{counted(missing, 'demand')} {'is' if missing == 1 else 'are'} in no step"
    if table is not None and table.unread:
        return "a part of the text was not read"
    return "" if reads_text else "its author fills templates and does not read the text"
