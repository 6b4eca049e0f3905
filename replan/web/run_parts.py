"""The long parts of a run's page: made once after each record, and shared by all browsers that look at the run."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import trio

from actors.demands.table import DemandTable
from actors.run.views import Tree, calls_of
from actors.values.flow import Checklist, Flow
from actors.values.lines import Line
from replan.runs.cached import AT_ONCE_MAX
from replan.runs.shown import ShownRun
from replan.setup.installation import program
from replan.views.drawing import Drawing, draw
from replan.views.records import ToolOutput, tool_outputs
from replan.views.timeline import Timeline, timeline

RUNS_MAX = 8
"""Runs whose parts are kept; those of the run that was looked at least recently are dropped first."""

_MAKERS = trio.CapacityLimiter(1)
"""Runs whose parts are made in a thread at a time: each takes one processor."""


@dataclass(frozen=True, slots=True)
class RunParts:
    """What is shown of a run at length."""

    tree: Tree
    """Its actions."""
    flow: Flow | None
    """What it makes or goes through; None where there is nothing yet."""
    drawing: Drawing | None
    """The same as a drawing; None for a long one too."""
    checklist: Checklist | None
    """What it carries out; None for a kind without."""
    calls: Sequence[str]
    """The nodes of its calls of models, where the tree names none."""
    timeline: Timeline | None
    """When its calls, tools, waits and questions began and ended; None before the first."""
    outputs: Sequence[ToolOutput]
    """The calls of tools that have ended."""
    lines: Sequence[Line]
    """What it came to, without the table of demands."""
    demands: DemandTable | None
    """What its plan does about each demand of the user; None for a run without a plan."""


class PartsMaker:
    """Makes the parts of runs, and keeps the last ones."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Hashable, RunParts]] = OrderedDict()

    async def parts(self, shown: ShownRun) -> RunParts:
        """Return the parts of a run. They follow from its records, its status and the unread messages of its inbox."""
        if shown.with_inbox is not shown.loaded.state:
            return await _make_aside(shown)
        run, place = shown.row.run, (shown.row.created, shown.loaded.seq, shown.status)
        known = self._kept.get(run)
        if known is None or known[0] != place:
            known = place, await _make_aside(shown)
            self._kept[run] = known
        self._kept.move_to_end(run)
        while len(self._kept) > RUNS_MAX:
            self._kept.popitem(last=False)
        return known[1]


async def _make_aside(shown: ShownRun) -> RunParts:
    """Return the parts of a run; those of a long one are made in a thread, so that others need not wait."""
    if shown.loaded.seq <= AT_ONCE_MAX:
        return _make_parts(shown)
    return await trio.to_thread.run_sync(_make_parts, shown, limiter=_MAKERS)


def _make_parts(shown: ShownRun) -> RunParts:
    loaded, views = shown.loaded, shown.loaded.kind.views
    interrupted = shown.status == "parked"
    tree = views.tree(shown.row.title, loaded.state, loaded.records, interrupted=interrupted, brief=False)
    flow, checklist = views.flow(loaded.state, shown.result), views.checklist(shown.result)
    lines = views.lines(shown.result, program(), full=flow is not None, demands=False)
    named = any(child.key for child in tree.tree.children)
    calls = () if named else tuple(dict.fromkeys(call.node for _, call in calls_of(loaded.records)))
    outstanding = loaded.kind.machine.outstanding(loaded.state) if loaded.started else ()
    bars = timeline(loaded.records, outstanding, price_known=shown.result.cost_usd is not None)
    outputs = tool_outputs(loaded.records)
    return RunParts(tree, flow, draw(flow), checklist, calls, bars, outputs, lines, shown.result.demands)
