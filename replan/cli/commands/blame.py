"""`blame`: reads traces of agents that other programs recorded, and says which step most likely made the mistake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actors.values.lines import Line
    from replan.blame.attribution import Blame
    from replan.blame.trace import AgentTrace

_BLAME = examples(
    "replan blame state.json",
    "replan blame spans.jsonl --top 5",
    "replan blame logs/ --json | jq -c '.traces[] | [.file, .steps[0].number]'",
)
EXCERPT = 100
"""Characters of a step that are shown."""


@click.command(epilog=_BLAME)
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@click.option("--weights", metavar="FILE", help="Weights that `tune blame` has written, in place of the shipped ones.")
@click.option(
    "--top", type=click.IntRange(1, 1000), default=3, show_default=True, metavar="N", help="The steps that are named."
)
@json_option
@common
@click.pass_obj
def blame(
    invocation: Invocation,  # noqa: ARG001 -- nothing is written, so it keeps no log
    traces: tuple[str, ...],
    *,
    weights: str | None,
    top: int,
    as_json: bool,
) -> int:
    """Say which step of a failed run of agents most likely made the mistake, with what speaks for it.

    A TRACE is a file or folder, or - for standard input, with JSON or JSON lines: OpenTelemetry spans of generative AI,
    or messages as AutoGen, AG2, LangGraph and Who&When have them. Exactly one step is taken to be the decisive mistake.
    No model is asked.
    """
    from actors.values.lines import line
    from replan.blame.attribution import blame as blame_of
    from replan.blame.trace_reader import read_weights, shipped_weights
    from replan.cli.terminal.console import print_json, show
    from replan.cli.trace_files import read_all

    used = shipped_weights() if weights is None else read_weights(Path(weights))
    shown = list[dict[str, Any]]()
    for file, trace in read_all(traces):
        found = blame_of(trace, used)
        if as_json:
            shown.append(_object(file, trace, found, top))
        else:
            show([line("")] if shown else [])
            show(_lines(file, trace, found, top))
            shown.append({})
    if as_json:
        print_json({"weights": used.name, "traces": shown})
    return Exit.OK


def _lines(file: str, trace: AgentTrace, found: Blame, top: int) -> Iterator[Line]:
    """Yield what is found, for people."""
    from actors.values.format import counted, shortened
    from actors.values.lines import indented, line

    name = f", trace {trace.name}" if trace.name else ""
    yield line(f"{file}{name}: {counted(len(trace.steps), 'step')}, {trace.format}", "bold")
    for each in found.steps[:top]:
        step = trace.steps[each.number]
        marked = ", marked as the mistake" if each.number == trace.mistake else ""
        yield line(f"step {each.number}, {step.agent}: {each.probability:.0%}{marked}")
        if step.text.strip():
            yield indented(shortened(" ".join(step.text.split()), EXCERPT))
        if each.evidence:
            yield indented("; ".join(map(str, each.evidence)), "dim")
    agents = ", ".join(f"{agent} {chance:.0%}" for agent, chance in found.agents[:top])
    yield line(f"agents: {agents}")
    if found.redo is not None:
        redo = found.redo
        calls = f"repeats {counted(redo.calls, 'model call')} ({redo.per_call:.1%} per call)"
        yield line(f"redo from step {redo.number}: includes the mistake with probability {redo.chance:.0%}, {calls}")


def _object(file: str, trace: AgentTrace, found: Blame, top: int) -> dict[str, Any]:
    """Return what `--json` prints of a trace."""
    redo = found.redo
    return {
        "file": file,
        "trace": trace.name,
        "format": trace.format,
        "length": len(trace.steps),
        "steps": [
            {
                "number": each.number,
                "agent": trace.steps[each.number].agent,
                "probability": round(each.probability, 6),
                "evidence": [
                    {"feature": part.feature, "value": part.value, "weight": round(part.weight, 3)}
                    for part in each.evidence
                ],
            }
            for each in found.steps[:top]
        ],
        "agents": [{"agent": agent, "probability": round(chance, 6)} for agent, chance in found.agents],
        "redo": None
        if redo is None
        else {
            "number": redo.number,
            "chance": round(redo.chance, 6),
            "calls": redo.calls,
            "per_call": round(redo.per_call, 6),
        },
        "marked": trace.mistake,
    }
