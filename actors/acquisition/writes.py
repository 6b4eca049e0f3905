"""What a node writes when the run leaves it: changes to the planner's state, which its event stores. Pure."""

from collections.abc import Mapping

from actors.acquisition.decision import Origin, PlannerDecision, Status
from actors.acquisition.planner_state import (
    Calculation,
    PlannerState,
    Reflection,
    Rejection,
    SearchMade,
)
from actors.acquisition.profile import Decomposition
from actors.acquisition.values import FieldValue, Values, merged
from runtime.core.copies import changed
from runtime.core.events import Value


class Writes(Value):
    """Changes to the planner's state; a field that is None or empty is not written. Names are those of the state."""

    iterations: int | None = None
    """The passes through the graph from now on."""
    status: Status | None = None
    """The status from now on."""
    decision: PlannerDecision | None = None
    """The decision from now on."""
    decision_origin: Origin | None = None
    """Who has made it."""
    values: Mapping[str, tuple[FieldValue, ...]] = {}
    """Values by path, which are added to those that the fields have."""
    composed: Mapping[str, tuple[FieldValue, ...]] = {}
    """Values by path that take the place of computed and assumed ones, or empty where there are none any more."""
    decompositions: Mapping[str, Decomposition | None] = {}
    """Decompositions by path; None for a path for which none could be used."""
    searches: tuple[SearchMade, ...] = ()
    """Searches that were made."""
    asked: tuple[str, ...] = ()
    """Fields that the user was asked for."""
    refused: tuple[str, ...] = ()
    """Fields about which the user will not answer."""
    rejections: tuple[Rejection, ...] = ()
    """Values that were observed and not taken."""
    calculation: Calculation | None = None
    """The latest calculation from now on."""
    reflections: tuple[Reflection, ...] = ()
    """Reviews that were made."""


NOTHING = Writes()
"""No change."""

STATE_FIELD: Mapping[str, str] = {"composed": "values"}
"""The field of the state that a field of `Writes` changes, where its name is another one."""

REJECTIONS_MAX = 200
"""Observed values that were not taken and are kept; older ones are only in the journal."""


def written(writes: Writes) -> frozenset[str]:
    """Return the names of the fields of the state that the writes change."""
    names = (name for name in type(writes).model_fields if getattr(writes, name) != getattr(NOTHING, name))
    return frozenset(STATE_FIELD.get(name, name) for name in names)


def apply(planner: PlannerState, writes: Writes) -> PlannerState:
    """Return the state after the writes."""
    changes: dict[str, object] = {
        name: value
        for name in ("iterations", "status", "decision", "decision_origin", "calculation")
        if (value := getattr(writes, name)) is not None
    }
    for name in ("searches", "asked", "refused", "reflections"):
        if getattr(writes, name):
            changes[name] = (*getattr(planner, name), *getattr(writes, name))
    if writes.rejections:
        changes["rejections"] = _with_rejections(planner.rejections, writes.rejections)
    if writes.decompositions:
        changes["decompositions"] = {**planner.decompositions, **writes.decompositions}
    if writes.values or writes.composed:
        changes["values"] = _with_values(planner.values, writes)
    return changed(planner, **changes) if changes else planner


def _with_rejections(kept: tuple[Rejection, ...], more: tuple[Rejection, ...]) -> tuple[Rejection, ...]:
    """Return the rejections with others added; the same one again is counted, and not listed again."""
    counts: dict[Rejection, int] = {}
    for each in (*kept, *more):
        same = each.model_copy(update={"count": 1})
        counts[same] = counts.get(same, 0) + each.count
    listed = [same.model_copy(update={"count": count}) for same, count in counts.items()]
    return tuple(listed[-REJECTIONS_MAX:])


def _with_values(values: Mapping[str, Values], writes: Writes) -> Mapping[str, Values]:
    after = dict(values)
    for path, more in writes.values.items():
        after[path] = merged(after.get(path, ()), more)
    for path, instead in writes.composed.items():
        kept = tuple(each for each in after.get(path, ()) if each.via not in ("computed", "default"))
        after[path] = (*kept, *instead)
        if not after[path]:
            del after[path]
    return after
