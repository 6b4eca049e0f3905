"""The operations that programs can call, in one table. The HTTP API and the MCP tools are made from this table.

An operation has an HTTP address, an MCP tool, or both, which then call the same `function`. If `function` is None, only
one of the two interfaces has the operation, and implements it itself. For example, only the HTTP API has a stream of
records.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from pydantic import BaseModel, create_model

from replan.runs.kind_interface import KindInterface, installed_interfaces
from replan_server.service import arguments, bodies, read_operations, write_operations
from replan_server.service.ag_ui_input import AgUiInput
from replan_server.service.read_operations import FIELDS, PAGE_MAX, QueryField
from replan_server.service.requests import ProgramRequest
from replan_server.service.store import Scope

Function = Callable[[ProgramRequest], Awaitable[Mapping[str, Any]]]
"""A function that carries out a request whose arguments have been checked. It returns the response as plain data."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HttpAddress:
    """The address of an operation in the HTTP API."""

    method: str
    """`GET` or `POST`."""
    path: str
    body: type[BaseModel] | None = None
    """The model of the request's body; None if there is no body."""
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The possible values of variable parts of the path, by the name of the part. A part that is not listed may be any
    text.
    """
    query: Mapping[str, QueryField] = field(default_factory=dict)
    needs_key: bool = True
    """Whether a write needs an idempotency key; False if a repetition can be recognised by the body."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class McpOperation:
    """The MCP tool of an operation."""

    name: str
    title: str
    description: str
    takes: type[BaseModel]
    destroys: bool = False
    """Whether a call may end something permanently, or act outside of Replan."""
    calls_tools: bool = False
    """Whether a call may make an execution call its tools."""
    idempotent: bool = True
    """Whether a second call with the same arguments changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operation:
    """An operation that programs can call."""

    name: str
    """The name of the operation, and its `operationId` in the OpenAPI document."""
    scope: Scope
    summary: str
    gives: type[BaseModel] | tuple[str, ...]
    """The model of the response; for a document, the document's media types."""
    function: Function | None = None
    """The function for both HTTP and MCP; None if only one of them has the operation, and implements it."""
    http: HttpAddress | None = None
    """The operation's address in the HTTP API; None if it is only an MCP tool."""
    mcp: McpOperation | None = None
    """The operation's MCP tool; None if it has only an HTTP address."""
    writes: bool = True
    """Whether the operation changes something."""
    executes: bool = False
    """Whether the operation needs a server that allows executions."""


RUN = "/api/runs/{run}"
PAGE = QueryField(
    meaning="The number of the page; the first page is 0.",
    schema={"type": "integer", "minimum": 0, "maximum": PAGE_MAX},
)
AFTER = QueryField(
    meaning="The number of the last record to skip; 0 to begin with the first record.",
    schema={"type": "integer", "minimum": 0, "maximum": 10**12 - 1},
)

_OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_runs",
        scope="read",
        summary="List runs, the newest first.",
        gives=bodies.RunPage,
        http=HttpAddress(
            method="GET",
            path="/api/runs",
            query={**FIELDS, "page": PAGE},
        ),
        writes=False,
    ),
    Operation(
        name="start_run",
        scope="control",
        summary="Start a run.",
        gives=bodies.StartedBody,
        function=write_operations.start_run,
        http=HttpAddress(method="POST", path="/api/runs", body=bodies.StartRun),
        mcp=McpOperation(
            name="plan",
            title="Plan",
            description="Start a run that writes a proved plan for a problem; returns the run's id at once. Then call "
            "`wait`. The resource replan://offer lists the workflows, the models and the ceilings of limits.",
            takes=arguments.PlanArguments,
            idempotent=False,
        ),
    ),
    Operation(
        name="start_execution",
        scope="control",
        summary="Execute a proved plan. The server needs the option `--allow-execute`.",
        gives=bodies.StartedBody,
        function=write_operations.start_execution,
        http=HttpAddress(method="POST", path="/api/executions", body=bodies.StartExecution),
        mcp=McpOperation(
            name="execute",
            title="Execute a plan",
            description="Start a run that executes the proved plan of a planning run with a tool set of the server. "
            "Risky steps wait until a person approves them. Returns the run's id at once. Then call `wait`.",
            takes=arguments.Execute,
            destroys=True,
            calls_tools=True,
            idempotent=False,
        ),
        executes=True,
    ),
    Operation(
        name="read_run",
        scope="read",
        summary="Read the result of a run.",
        gives=bodies.ResultBody,
        function=read_operations.result,
        http=HttpAddress(method="GET", path=RUN),
        mcp=McpOperation(
            name="result",
            title="Result",
            description="The result of a run, such as the plan of a planning run or the steps of an execution.",
            takes=arguments.RunArguments,
        ),
        writes=False,
    ),
    Operation(
        name="status",
        scope="read",
        summary="Read what a run is doing now.",
        gives=arguments.StateReport,
        function=read_operations.status,
        mcp=McpOperation(
            name="status",
            title="Status",
            description="What a run is doing now, and what to do next.",
            takes=arguments.RunArguments,
        ),
        writes=False,
    ),
    Operation(
        name="wait",
        scope="read",
        summary="Wait until a run has finished, asks a question, or stops.",
        gives=arguments.StateReport,
        mcp=McpOperation(
            name="wait",
            title="Wait for a run",
            description="Wait at most 50 seconds until a run has finished, asks a question, or stops. If the run goes "
            "on, call `wait` again. If your client can show forms, your user gets the questions as forms.",
            takes=arguments.Wait,
        ),
    ),
    Operation(
        name="read_tree",
        scope="read",
        summary="Read the search of a run.",
        gives=bodies.TreeBody,
        function=read_operations.tree,
        http=HttpAddress(method="GET", path=f"{RUN}/tree"),
        writes=False,
    ),
    Operation(
        name="read_records",
        scope="read",
        summary="Read records.",
        gives=bodies.RecordPage,
        http=HttpAddress(method="GET", path=f"{RUN}/records", query={"after": AFTER}),
        writes=False,
    ),
    Operation(
        name="stream_records",
        scope="read",
        summary="Follow the records as server-sent events; `Last-Event-ID` continues an earlier stream.",
        gives=("text/event-stream",),
        http=HttpAddress(method="GET", path=f"{RUN}/stream", query={"after": AFTER}),
        writes=False,
    ),
    Operation(
        name="ag_ui",
        scope="control",
        summary="Start or continue a run, and follow it as AG-UI 1.0 (`RunAgentInput`).",
        gives=("text/event-stream",),
        http=HttpAddress(method="POST", path="/api/ag-ui", body=AgUiInput, needs_key=False),
    ),
    Operation(
        name="read_budget",
        scope="read",
        summary="Read how much of each limit is used.",
        gives=bodies.Budget,
        function=read_operations.budget,
        http=HttpAddress(method="GET", path=f"{RUN}/budget"),
        writes=False,
    ),
    Operation(
        name="read_attempt",
        scope="read",
        summary="Read the prompt and the replies of an attempt, such as g_plan/v1.a1.",
        gives=bodies.AttemptBody,
        http=HttpAddress(method="GET", path=f"{RUN}/attempts/{{node}}"),
        writes=False,
    ),
    Operation(
        name="export",
        scope="read",
        summary="Read the plan, or the report of a run of another kind, in a format for other programs.",
        gives=(
            "application/json",
            "text/markdown",
            "text/plain",
            "text/csv",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ),
        http=HttpAddress(
            method="GET",
            path=f"{RUN}/export/{{form}}",
            choices={"form": ("json", "markdown", "github-checklist", "mermaid", "csv", "xlsx", "draft")},
        ),
        writes=False,
    ),
    Operation(
        name="list_questions_of_run",
        scope="read",
        summary="List the open questions of a run.",
        gives=bodies.Questions,
        function=read_operations.questions,
        http=HttpAddress(method="GET", path=f"{RUN}/questions"),
        writes=False,
    ),
    Operation(
        name="list_questions",
        scope="read",
        summary="List the open questions.",
        gives=bodies.Questions,
        function=read_operations.questions,
        http=HttpAddress(method="GET", path="/api/questions"),
        mcp=McpOperation(
            name="questions",
            title="Open questions",
            description="The open questions of a run, or of all runs. Only a person can answer the questions with "
            "people_only.",
            takes=arguments.MaybeRun,
        ),
        writes=False,
    ),
    Operation(
        name="answer",
        scope="answer",
        summary="Answer or decline a question. Only a person can answer questions with `people_only`.",
        gives=bodies.Receipt,
        function=write_operations.answer,
        http=HttpAddress(method="POST", path="/api/questions/{run}/{name}", body=bodies.AnswerBody),
        mcp=McpOperation(
            name="answer",
            title="Answer a question",
            description="Answer a question with what your user says, or decline it. The first answer counts.",
            takes=arguments.AnswerArguments,
        ),
    ),
    Operation(
        name="tell",
        scope="answer",
        summary="Tell a run something.",
        gives=bodies.Receipt,
        function=write_operations.tell,
        http=HttpAddress(method="POST", path=f"{RUN}/messages", body=bodies.MessageBody),
        mcp=McpOperation(
            name="tell",
            title="Tell a run something",
            description="Send a run a note, or a requirement that changes its task.",
            takes=arguments.Tell,
            idempotent=False,
        ),
    ),
    Operation(
        name="rest_of_plan",
        scope="read",
        summary="Read the plan of a planning run, or the remaining steps of an execution, to edit them.",
        gives=bodies.RestOfPlan,
        function=read_operations.rest_of_plan,
        http=HttpAddress(method="GET", path=f"{RUN}/plan"),
        mcp=McpOperation(
            name="rest_of_plan",
            title="Plan to edit",
            description="The plan of a planning run, or the remaining steps of an execution, to edit them with "
            "`edit_plan`.",
            takes=arguments.RunArguments,
        ),
        writes=False,
    ),
    Operation(
        name="edit_plan",
        scope="control",
        summary="Give a run an edited plan. For an execution, the server needs the option `--allow-execute`.",
        gives=bodies.Receipt,
        function=write_operations.edit_plan,
        http=HttpAddress(method="POST", path=f"{RUN}/plan", body=bodies.EditBody, needs_key=False),
        mcp=McpOperation(
            name="edit_plan",
            title="Edit a plan",
            description="Give a run an edited plan in place of the plan of `rest_of_plan`. The guards judge the edited "
            "plan. Finished steps, the tokens that hold and prohibitions do not change. Then call `wait`.",
            takes=arguments.EditPlan,
            destroys=True,
            calls_tools=True,
        ),
    ),
    Operation(
        name="change_limits",
        scope="control",
        summary="Change the limits.",
        gives=bodies.Receipt,
        function=write_operations.change_limits,
        http=HttpAddress(method="POST", path=f"{RUN}/limits", body=bodies.ChangedLimits),
        mcp=McpOperation(
            name="limits",
            title="Change the limits",
            description="Change the limits of a run, up to the ceilings. If the run had ended at a limit, it "
            "continues. Then call `wait`.",
            takes=arguments.ChangeLimits,
            idempotent=False,
        ),
    ),
    Operation(
        name="fork",
        scope="control",
        summary="Start a run from the middle of another run. The other run stays as it is.",
        gives=bodies.StartedBody,
        function=write_operations.fork,
        http=HttpAddress(method="POST", path=f"{RUN}/fork", body=bodies.StartFork),
        mcp=McpOperation(
            name="fork",
            title="Fork a run",
            description="Start a new run with the first records of another run, which does not change. The new run can "
            "have another workflow, policy, model, limits or `given` values. Returns its id at once. "
            "Then call `wait`.",
            takes=arguments.ForkRun,
            idempotent=False,
        ),
    ),
    Operation(
        name="resume",
        scope="control",
        summary="Resume a run that is parked, or that has ended and may continue.",
        gives=bodies.Receipt,
        function=write_operations.resume,
        http=HttpAddress(method="POST", path=f"{RUN}/resume", body=bodies.Nothing),
        mcp=McpOperation(
            name="resume",
            title="Resume a run",
            description="Resume a run that is parked, or that has ended and may continue. Then call `wait`.",
            takes=arguments.RunArguments,
        ),
    ),
    Operation(
        name="undo",
        scope="control",
        summary="Undo what an execution did, the last call first. The server needs the option `--allow-execute`.",
        gives=bodies.Receipt,
        function=write_operations.undo,
        http=HttpAddress(method="POST", path=f"{RUN}/undo", body=bodies.Nothing),
        mcp=McpOperation(
            name="undo",
            title="Undo an execution",
            description="Undo what an execution did, the last call first, even after its end. Then call `wait`.",
            takes=arguments.RunArguments,
            destroys=True,
            calls_tools=True,
            idempotent=False,
        ),
        executes=True,
    ),
    Operation(
        name="cancel",
        scope="control",
        summary="Cancel a run.",
        gives=bodies.Cancelled,
        function=write_operations.cancel,
        http=HttpAddress(method="POST", path=f"{RUN}/cancel", body=bodies.Nothing),
        mcp=McpOperation(
            name="cancel",
            title="Cancel a run",
            description="End a run for good.",
            takes=arguments.RunArguments,
            destroys=True,
        ),
    ),
    Operation(
        name="read_offer",
        scope="read",
        summary="Read which workflows, models and tools a client may use, and the ceilings of its limits.",
        gives=bodies.OfferBody,
        function=read_operations.offer,
        http=HttpAddress(method="GET", path="/api/offer"),
        writes=False,
    ),
    Operation(
        name="check_plan",
        scope="read",
        summary="Check a plan with the guards.",
        gives=arguments.PlanReport,
        function=read_operations.check_plan,
        mcp=McpOperation(
            name="check_plan",
            title="Check a plan",
            description="Check a plan with the guards; no model is called, and nothing is stored.",
            takes=arguments.CheckPlan,
        ),
        writes=False,
    ),
)


def operations() -> Sequence[Operation]:
    """Return the operations of the table, and the operations that start runs of installed kinds with an interface."""
    return _operations_with(*installed_interfaces())


@cache
def _operations_with(*kinds: KindInterface) -> Sequence[Operation]:
    gives = _result_body(kinds)
    table = [replace(item, gives=gives) if item.gives is bodies.ResultBody else item for item in _OPERATIONS]
    return (*table, *map(_start_of_kind, kinds))


def result_model() -> type[BaseModel]:
    """Return the model of the result of a run, with the keys of all installed kinds."""
    return _result_body(installed_interfaces())


def _result_body(kinds: Sequence[KindInterface]) -> type[BaseModel]:
    return bodies.result_body(*(kind.result for kind in kinds if kind.result is not None))


def _start_of_kind(interface: KindInterface) -> Operation:
    """Return the operation that starts a run of an installed kind, with models made from the kind's order."""
    name = "".join(map(str.capitalize, interface.kind.replace("-", "_").split("_")))
    return Operation(
        name=f"start_{interface.kind}",
        scope="control",
        summary=interface.summary,
        gives=bodies.StartedBody,
        function=partial(write_operations.start_of_kind, interface),
        http=HttpAddress(
            method="POST", path=f"/api/{interface.plural}", body=_extend(interface, f"Start{name}", bodies.StartOfKind)
        ),
        mcp=McpOperation(
            name=interface.tool,
            title=interface.title,
            description=f"{interface.summary} Returns the run's id at once. Then call `wait`.",
            takes=_extend(interface, name, arguments.Ordered),
            idempotent=False,
        ),
    )


def _extend(interface: KindInterface, name: str, base: type[BaseModel]) -> type[BaseModel]:
    """Return a model with the fields of a kind's order and the fields of `base`. The model is as strict as `base`."""
    return create_model(
        name, __base__=(interface.order, base), __module__=__name__, __doc__=interface.order.__doc__, __config__=None
    )
