"""What programs can do to the runs of a home: one table, from which the HTTP API and the MCP tools are made.

An operation has an address, a tool, or both. Its function is here where both faces carry it out alike; one that belongs
to a face, as a stream or a form does, is found there by the operation's name.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from replan.service import arguments, bodies, read_operations, write_operations
from replan.service.requests import ProgramRequest
from replan.service.store import Scope

Function = Callable[[ProgramRequest], Awaitable[Mapping[str, Any]]]
"""Carries a checked request out; returns the answer as plain data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the HTTP API has an operation."""

    method: str
    """`GET` or `POST`."""
    path: str
    """The address, with the names of its parts in braces."""
    body: type[BaseModel] | None = None
    """The model of the body that is sent."""
    query: tuple[tuple[str, str], ...] = ()
    """The names and meanings of the parts of the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """How MCP has an operation."""

    name: str
    """Its name."""
    title: str
    """Its name for people."""
    description: str
    """What it does, for the language model that chooses it."""
    takes: type[BaseModel]
    """The model of its arguments."""
    destroys: bool = False
    """Whether a call may end something for good, or act outside of Replan."""
    repeats: bool = True
    """Whether the same call once more does nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Something that a program can do."""

    name: str
    """Its name; in the description of the HTTP API its `operationId`."""
    scope: Scope
    """What a token must allow."""
    summary: str
    """What it does, in one sentence."""
    gives: type[BaseModel] | str
    """The model of the answer, or the media type of one that is no JSON."""
    function: Function | None = None
    """Carries it out; None for one that belongs to a face."""
    http: Address | None = None
    """Where the HTTP API has it; None for a tool alone."""
    mcp: Tool | None = None
    """The tool; None for an address alone."""
    writes: bool = True
    """Whether it changes something."""
    executes: bool = False
    """Whether it is refused where the server was not told to allow executions."""


RUN = "/api/runs/{run}"
PAGE = ("page", "The number of the page, from 0.")
AFTER = ("after", "The number of the record after which to begin; 0 for the first.")

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_runs",
        scope="read",
        summary="List runs, the newest first.",
        gives=bodies.RunPage,
        http=Address(
            method="GET",
            path="/api/runs",
            query=(
                ("status", "Only runs with this status."),
                ("q", "Only runs whose id, title or kind has this."),
                PAGE,
            ),
        ),
        writes=False,
    ),
    Operation(
        name="start_run",
        scope="control",
        summary="Start a run.",
        gives=bodies.Started,
        function=write_operations.start_run,
        http=Address(method="POST", path="/api/runs", body=bodies.StartRun),
        mcp=Tool(
            name="plan",
            title="Plan",
            description="Start a run that writes a proved plan for a problem; returns its id at once. Then call "
            "`wait`. Reading replan://offer lists the workflows, the models and the ceilings of limits.",
            takes=arguments.Plan,
            repeats=False,
        ),
    ),
    Operation(
        name="start_acquisition",
        scope="control",
        summary="Start an acquisition, which fills the schema of a profile.",
        gives=bodies.Started,
        function=write_operations.start_acquisition,
        http=Address(method="POST", path="/api/acquisitions", body=bodies.StartAcquisition),
        mcp=Tool(
            name="acquire",
            title="Fill a schema",
            description="Start a run that fills a profile's schema from documents and questions; returns its id at "
            "once. Then `wait`.",
            takes=arguments.Acquire,
            repeats=False,
        ),
    ),
    Operation(
        name="start_execution",
        scope="control",
        summary="Execute a proved plan, where the server was started with `--allow-execute`.",
        gives=bodies.Started,
        function=write_operations.start_execution,
        http=Address(method="POST", path="/api/executions", body=bodies.StartExecution),
        mcp=Tool(
            name="execute",
            title="Execute a plan",
            description="Start a run that executes the proved plan of a planning run with a tool set of the server's "
            "settings; a person approves risky steps elsewhere. Returns its id at once. Then `wait`.",
            takes=arguments.Execute,
            destroys=True,
            repeats=False,
        ),
        executes=True,
    ),
    Operation(
        name="read_run",
        scope="read",
        summary="Read what a run has come to.",
        gives=bodies.Result,
        function=read_operations.result,
        http=Address(method="GET", path=RUN),
        mcp=Tool(
            name="result",
            title="Result",
            description="What a run has come to: of a planning run the plan, of an acquisition the values, of an "
            "execution its steps.",
            takes=arguments.Run,
        ),
        writes=False,
    ),
    Operation(
        name="status",
        scope="read",
        summary="Read what a run is doing now.",
        gives=arguments.State,
        function=read_operations.status,
        mcp=Tool(
            name="status",
            title="Status",
            description="What a run is doing now, and what to do next.",
            takes=arguments.Run,
        ),
        writes=False,
    ),
    Operation(
        name="wait",
        scope="read",
        summary="Wait until a run rests.",
        gives=arguments.State,
        mcp=Tool(
            name="wait",
            title="Wait for a run",
            description="Wait until a run has finished, asks a question, or stops, at most 50 seconds; then call it "
            "again. Questions are shown to your user as forms where your client can do that.",
            takes=arguments.Wait,
        ),
    ),
    Operation(
        name="read_tree",
        scope="read",
        summary="Read the search of a run.",
        gives=bodies.Tree,
        function=read_operations.tree,
        http=Address(method="GET", path=f"{RUN}/tree"),
        writes=False,
    ),
    Operation(
        name="read_records",
        scope="read",
        summary="Read records.",
        gives=bodies.RecordPage,
        http=Address(method="GET", path=f"{RUN}/records", query=(AFTER,)),
        writes=False,
    ),
    Operation(
        name="stream_records",
        scope="read",
        summary="Follow the records as server-sent events; `Last-Event-ID` continues an earlier stream.",
        gives="text/event-stream",
        http=Address(method="GET", path=f"{RUN}/stream", query=(AFTER,)),
        writes=False,
    ),
    Operation(
        name="read_budget",
        scope="read",
        summary="Read what is used of each limit.",
        gives=bodies.Budget,
        function=read_operations.budget,
        http=Address(method="GET", path=f"{RUN}/budget"),
        writes=False,
    ),
    Operation(
        name="read_attempt",
        scope="read",
        summary="Read the prompt and the replies of an attempt, such as g_plan/v1.a1.",
        gives=bodies.Attempt,
        http=Address(method="GET", path=f"{RUN}/attempts/{{node}}"),
        writes=False,
    ),
    Operation(
        name="export",
        scope="read",
        summary="Read the plan as json, markdown, github-checklist or mermaid.",
        gives="application/octet-stream",
        http=Address(method="GET", path=f"{RUN}/export/{{form}}"),
        writes=False,
    ),
    Operation(
        name="list_questions_of_run",
        scope="read",
        summary="List the open questions of a run.",
        gives=bodies.Questions,
        function=read_operations.questions,
        http=Address(method="GET", path=f"{RUN}/questions"),
        writes=False,
    ),
    Operation(
        name="list_questions",
        scope="read",
        summary="List the open questions.",
        gives=bodies.Questions,
        function=read_operations.questions,
        http=Address(method="GET", path="/api/questions"),
        mcp=Tool(
            name="questions",
            title="Open questions",
            description="The open questions of a run, or of all runs. Those with people_only are answered by a person "
            "elsewhere.",
            takes=arguments.MaybeRun,
        ),
        writes=False,
    ),
    Operation(
        name="answer",
        scope="answer",
        summary="Answer or decline a question. Those with `people_only` are answered by a person elsewhere.",
        gives=bodies.Receipt,
        function=write_operations.answer,
        http=Address(method="POST", path="/api/questions/{run}/{name}", body=bodies.Answer),
        mcp=Tool(
            name="answer",
            title="Answer a question",
            description="Answer a question with what your user says, or decline it. The first answer counts.",
            takes=arguments.Answer,
        ),
    ),
    Operation(
        name="tell",
        scope="answer",
        summary="Tell a run something.",
        gives=bodies.Receipt,
        function=write_operations.tell,
        http=Address(method="POST", path=f"{RUN}/messages", body=bodies.Message),
        mcp=Tool(
            name="tell",
            title="Tell a run something",
            description="Send a run a note, or a requirement for which it goes back.",
            takes=arguments.Tell,
            repeats=False,
        ),
    ),
    Operation(
        name="change_limits",
        scope="control",
        summary="Change the limits.",
        gives=bodies.Receipt,
        function=write_operations.change_limits,
        http=Address(method="POST", path=f"{RUN}/limits", body=bodies.ChangedLimits),
        mcp=Tool(
            name="limits",
            title="Change the limits",
            description="Change the limits of a run, as far as the ceilings allow; one that had ended because of them "
            "goes on. Then call `wait`.",
            takes=arguments.ChangeLimits,
            repeats=False,
        ),
    ),
    Operation(
        name="resume",
        scope="control",
        summary="Go on with a run that is parked, or that has ended and may go on.",
        gives=bodies.Receipt,
        function=write_operations.resume,
        http=Address(method="POST", path=f"{RUN}/resume", body=bodies.Nothing),
        mcp=Tool(
            name="resume",
            title="Go on with a run",
            description="Go on with a run that is parked, or that has ended and may go on. Then call `wait`.",
            takes=arguments.Run,
        ),
    ),
    Operation(
        name="cancel",
        scope="control",
        summary="Cancel a run.",
        gives=bodies.Cancelled,
        function=write_operations.cancel,
        http=Address(method="POST", path=f"{RUN}/cancel", body=bodies.Nothing),
        mcp=Tool(
            name="cancel", title="Cancel a run", description="End a run for good.", takes=arguments.Run, destroys=True
        ),
    ),
    Operation(
        name="read_offer",
        scope="read",
        summary="Read the names and ceilings of clients.",
        gives=bodies.Offer,
        function=read_operations.offer,
        http=Address(method="GET", path="/api/offer"),
        writes=False,
    ),
    Operation(
        name="check_plan",
        scope="read",
        summary="Check a plan with the guards.",
        gives=arguments.Report,
        function=read_operations.check_plan,
        mcp=Tool(
            name="check_plan",
            title="Check a plan",
            description="Check a plan with the guards; no model is called, and nothing is stored.",
            takes=arguments.CheckPlan,
        ),
        writes=False,
    ),
)
"""All operations."""
