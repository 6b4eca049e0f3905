"""The page of an attempt: its prompt, replies and outputs, another attempt beside it, and the form that forks here."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import trio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from actors.run.ids import node_of, step_of
from actors.run.views import calls_of
from actors.run.words import in_words
from replan.runs.orders import DEFAULT
from replan.runs.workspaces import EXECUTION
from replan.service.access import Principal
from replan.views.annotated_json import annotate, side_by_side
from replan.views.errors import line_of_error
from replan.views.records import last_replies, replies, tool_outputs
from replan.web.requests import page
from replan.web.site import Site
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem

if TYPE_CHECKING:
    from replan.runs.loaded import Loaded

SAME = "that of the run"
"""The text of the choice that keeps the run's own model, workflow or policy."""
OTHERS_MAX = 200
"""Attempts of each run that the page offers for a comparison: the last ones."""


async def show_attempt(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of one attempt: the prompt that was sent, the replies, and the output of tools."""
    run, node = request.path_params["run"], request.path_params["node"]
    loaded, near = await site.reader.read_marked(run)
    sent, trouble = None, ""
    try:
        if loaded.kind.views.prompt is not None:
            sent = loaded.kind.views.prompt(loaded.records, node, near)
    except UsageProblem as error:
        trouble = line_of_error(error)
    found = replies(loaded.records, node)
    findings = [item for of, some in map(loaded.kind.views.findings, _events(loaded)) if of == node for item in some]
    for reply in found:
        reply["words"] = in_words(reply["request_id"])
        reply["lines"] = annotate(reply["content"], findings if reply is found[-1] else ())
    outputs = [output for output in tool_outputs(loaded.records) if output.node == node]
    if sent is None and not found and not outputs:
        raise HTTPException(404, trouble or "a run of this kind shows no prompts")
    live = site.engine.replies.of(run).items()
    values = {
        "run": run,
        "title": (await site.engine.journal.row(run)).title,
        "node": node,
        "words": in_words(node),
        "sent": sent,
        "sent_words": "" if sent is None else in_words(sent.request_id),
        "trouble": trouble,
        "replies": found,
        "live_replies": [(in_words(name), reply) for name, reply in live if node_of(name) == node],
        "outputs": outputs,
        "here": "runs",
    }
    compared = await _compare(site, loaded, node, request.query_params.get("beside", ""))
    return page(site, who, "attempt.html", values | compared | _fork_form(site, loaded))


def _events(loaded: "Loaded") -> Iterator[Any]:
    return (record.event for record in loaded.records)


def _fork_form(site: Site, loaded: "Loaded") -> dict[str, Any]:
    """Return the fields of the form that forks the run, each choice with its value and its text.

    There are no fields where this server forks no executions.
    """
    offer, fields = site.offer, list[tuple[str, str, Sequence[tuple[str, str]]]]()
    if loaded.kind.takes_other_rules:
        for name, label, choices in (("workflow", "Workflow", offer.workflows), ("policy", "Policy", offer.policies)):
            fields.append((name, label, [("", SAME), *((choice, choice) for choice in choices)]))
    if loaded.kind.name != EXECUTION or site.allow_execute:
        models = [(model, SAME if model == DEFAULT else model) for model in offer.models]
        fields.append(("model", "Model", models))
    return {"fork_fields": fields, "takes_values": loaded.kind.takes_values, "key": secrets.token_urlsafe()}


@dataclass(frozen=True, slots=True)
class OtherAttempt:
    """An attempt that can be shown beside another one."""

    loaded: "Loaded"
    """Its run."""
    run: str
    """The id of its run."""
    node: str
    key: str
    """Its name in the address of the page that compares: the node, after the id of the run where that is another."""
    words: str
    """Its name for people."""


async def _compare(site: Site, loaded: "Loaded", node: str, beside: str) -> dict[str, Any]:
    """Return the attempts that this one can be compared with; and the comparison, where `beside` names one of them.

    Raises `HTTPException` where `beside` names another attempt.
    """
    others = {other.key: other for other in await _others(site, loaded, node)}
    shown = others.get(beside)
    if beside and shown is None:
        raise HTTPException(404, "no such attempt of this step")
    pairs = []
    if shown is not None:
        pairs = await trio.to_thread.run_sync(side_by_side, _text(loaded, node), _text(shown.loaded, shown.node))
    return {"others": [*others.values()], "beside": shown, "pairs": pairs}


async def _others(site: Site, loaded: "Loaded", node: str) -> list[OtherAttempt]:
    """Return the other attempts of the step; in a fork also those of the other run after the shared records."""
    step, run = step_of(node), loaded.records[0].run
    nodes = [call.node for _, call in calls_of(loaded.records) if call.step == step]
    own = dict.fromkeys([*nodes, *_ended_attempts(loaded, step)])
    others = [OtherAttempt(loaded, run, item, item, in_words(item)) for item in own if item != node][-OTHERS_MAX:]
    common = loaded.kind.run_state(loaded.state)
    if common is None or common.fork is None:
        return others
    fork = common.fork
    try:
        origin = await site.reader.read(fork.origin)
    except (JournalDamaged, KindUnknown, RunNotFound, UsageProblem):
        return others  # The other run may be deleted or damaged; the fork does not need it.
    later = [attempt for attempt, seq in _ended_attempts(origin, step).items() if seq > fork.seq][-OTHERS_MAX:]
    named = [(item, f"{fork.origin}:{item}", f"{in_words(item)}, of run {fork.origin}") for item in later]
    return [*(OtherAttempt(origin, fork.origin, *item) for item in named), *others]


def _ended_attempts(loaded: "Loaded", step: str) -> dict[str, int]:
    """Return the attempts of a step that have a reply or an output, each with the number of the record of the last."""
    ended = last_replies(loaded.records) | {output.node: output.seq for output in tool_outputs(loaded.records)}
    return {node: seq for node, seq in ended.items() if step_of(node) == step}


def _text(loaded: "Loaded", node: str) -> str:
    """Return the last reply of an attempt, or else the last output; empty where there is none."""
    contents = [reply["content"] for reply in replies(loaded.records, node) if not reply["fault"]]
    outputs = [output.output for output in tool_outputs(loaded.records) if output.node == node]
    return (contents[-1] if contents else "") or (outputs[-1] if outputs else "")
