"""The table of the API's operations, from which both its routes and its OpenAPI document are made."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from replan.service import bodies
from replan.service.access import Principal
from replan.service.store import Scope
from replan.web import api_reads as reads
from replan.web import api_writes as writes
from replan.web.site import Site

Handler = Callable[[Site, Request, Principal, Any], Awaitable[Response]]
"""Answers a request of a program; the last argument is its body, None for a GET."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address."""

    method: str
    """`GET` or `POST`."""
    path: str
    """The address, with the names of its parts in braces."""
    scope: Scope
    """What the token must allow."""
    summary: str
    """What it does, in one sentence."""
    handler: Handler
    """Answers it."""
    answer: type[BaseModel] | str
    """The model of the answer, or the type of one that is no JSON."""
    body: type[BaseModel] | None = None
    """The model of the body that is sent."""
    query: tuple[tuple[str, str], ...] = ()
    """The names and meanings of the parts of the query."""


RUN = "/api/runs/{run}"
PAGE = ("page", "The number of the page, from 0.")
AFTER = ("after", "The number of the record after which to begin; 0 for the first.")

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "GET",
        "/api/runs",
        "read",
        "List runs, the newest first.",
        reads.list_runs,
        bodies.RunPage,
        query=(("status", "Only runs with this status."), ("q", "Only runs whose id, title or kind has this."), PAGE),
    ),
    Operation("POST", "/api/runs", "control", "Start a run.", writes.start_run, bodies.Started, bodies.StartRun),
    Operation(
        "POST",
        "/api/acquisitions",
        "control",
        "Start an acquisition, which fills the schema of a profile.",
        writes.start_acquisition,
        bodies.Started,
        bodies.StartAcquisition,
    ),
    Operation(
        "POST",
        "/api/executions",
        "control",
        "Execute a proved plan, where the server was started with `--allow-execute`.",
        writes.start_execution,
        bodies.Started,
        bodies.StartExecution,
    ),
    Operation("GET", RUN, "read", "Read what a run has come to.", reads.read_run, bodies.Result),
    Operation("GET", f"{RUN}/tree", "read", "Read the search of a run.", reads.read_tree, bodies.Tree),
    Operation("GET", f"{RUN}/records", "read", "Read records.", reads.read_records, bodies.RecordPage, query=(AFTER,)),
    Operation(
        "GET",
        f"{RUN}/stream",
        "read",
        "Follow the records as server-sent events; `Last-Event-ID` continues an earlier stream.",
        reads.stream_records,
        "text/event-stream",
        query=(AFTER,),
    ),
    Operation("GET", f"{RUN}/budget", "read", "Read what is used of each limit.", reads.read_budget, bodies.Budget),
    Operation(
        "GET",
        f"{RUN}/attempts/{{node}}",
        "read",
        "Read the prompt and the replies of an attempt, such as g_plan/v1.a1.",
        reads.read_attempt,
        bodies.Attempt,
    ),
    Operation(
        "GET",
        f"{RUN}/export/{{form}}",
        "read",
        "Read the plan as json, markdown, github-checklist or mermaid.",
        reads.export,
        "application/octet-stream",
    ),
    Operation(
        "GET", f"{RUN}/questions", "read", "List the open questions of a run.", reads.list_questions, bodies.Questions
    ),
    Operation("GET", "/api/questions", "read", "List the open questions.", reads.list_questions, bodies.Questions),
    Operation(
        "POST",
        "/api/questions/{run}/{name}",
        "answer",
        "Answer or decline a question. Reviews, and what became of a tool, are for people only.",
        writes.answer,
        bodies.Receipt,
        bodies.Answer,
    ),
    Operation(
        "POST", f"{RUN}/messages", "answer", "Tell a run something.", writes.tell, bodies.Receipt, bodies.Message
    ),
    Operation(
        "POST",
        f"{RUN}/limits",
        "control",
        "Change the limits.",
        writes.change_limits,
        bodies.Receipt,
        bodies.ChangedLimits,
    ),
    Operation(
        "POST",
        f"{RUN}/resume",
        "control",
        "Go on with a run that is parked, or that has ended and may go on.",
        writes.resume,
        bodies.Receipt,
        bodies.Nothing,
    ),
    Operation("POST", f"{RUN}/cancel", "control", "Cancel a run.", writes.cancel, bodies.Cancelled, bodies.Nothing),
    Operation("GET", "/api/offer", "read", "Read the names and ceilings of clients.", reads.read_offer, bodies.Offer),
)
"""All operations."""
