"""The JSON bodies of the HTTP API. Requests are checked strictly. A kind of runs may add keys to responses."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union, get_type_hints

from pydantic import (
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    create_model,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from actors.execution.result import ExecutionJson
from actors.planning.prepare import PROBLEM_BYTES_MAX
from actors.planning.result import PlanningJson
from actors.run.inbox import MESSAGE_MAX
from actors.run.open_question import OpenQuestion
from actors.run.result import ResultJson
from actors.values.answers import ANSWER_MAX
from replan.setup.limit_fields import with_limits
from replan.setup.settings import DEFAULT
from replan_server.service.orders import UPLOADS_MAX

Name = Annotated[str, Field(max_length=100)]


class SentBody(BaseModel):
    """The body of a request. Unknown keys are refused. A null for an optional key means the same as a missing key."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, sent: Any) -> Any:
        if not isinstance(sent, Mapping):
            return sent
        optional = cls._optional()
        return {name: value for name, value in sent.items() if value is not None or name not in optional}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        described = handler(schema)
        properties = handler.resolve_ref_schema(described)["properties"]
        properties |= {name: _or_null(properties[name]) for name in cls._optional() & properties.keys()}
        return described

    @classmethod
    def _optional(cls) -> frozenset[str]:
        fields = cls.model_fields.items()
        return frozenset(str(field.validation_alias or name) for name, field in fields if not field.is_required())


def _or_null(schema: JsonSchemaValue) -> JsonSchemaValue:
    shared = {key: part for key, part in schema.items() if key in {"title", "description", "default"}}
    value = {key: part for key, part in schema.items() if key not in shared}
    if not value:  # Any value is allowed.
        return schema
    options = value["anyOf"] if set(value) == {"anyOf"} else [value]
    null = {"type": "null"}
    return {**shared, "anyOf": options if null in options else [*options, null]}


class AttachedFile(SentBody):
    """A text file that the planning run gets."""

    name: Annotated[str, Field(max_length=120)]
    """The name of the file, without a path."""
    content: Annotated[Base64Bytes, Field(strict=False)]
    """The bytes of the file in Base64."""


@with_limits()
class ChangedLimits(SentBody):
    """Changed limits of a run. A limit that is missing here does not change. The deadline counts from now."""

    strict: bool = False
    """Whether, from now on, a plan is rejected if a demand of the problem is in no step of the plan."""


@with_limits()
class StartFork(SentBody):
    """A run to start from the middle of another run. If a limit is missing, the default for clients is used."""

    at: Annotated[str, Field(max_length=200)] = ""
    """The place of the fork: the number of the last shared record, an attempt, or `before:` and an attempt. If empty,
    the last record before the run's end is the last shared record.
    """
    workflow: Name | None = None
    policy: Name | None = None
    """The name of another policy; `GET /api/offer` lists the policies."""
    model: Name = DEFAULT
    """The name of another model; `default` is the model of the original run."""
    given: Annotated[dict[str, Annotated[str, Field(max_length=ANSWER_MAX)]], Field(max_length=200)] = Field(
        default_factory=dict
    )


@with_limits()
class StartRun(SentBody):
    """A run to start."""

    problem: Annotated[str, Field(min_length=1, max_length=PROBLEM_BYTES_MAX)]
    workflow: Name = "search"
    """The name of a workflow; `GET /api/offer` lists the workflows."""
    model: Name = DEFAULT
    """The name of a model; `GET /api/offer` lists the models."""
    strict: bool = False
    """Whether a plan is rejected if a demand of the problem is in no step of the plan."""
    attachments: Annotated[tuple[AttachedFile, ...], Field(max_length=UPLOADS_MAX, strict=False)] = ()

    @property
    def uploads(self) -> tuple[tuple[str, bytes], ...]:
        """The names and bytes of the attached files."""
        return tuple([(attachment.name, attachment.content) for attachment in self.attachments])


@with_limits()
class StartOfKind(SentBody):
    """The model and the limits of a run of an installed kind. The kind adds its own fields to the body."""

    model: Name = DEFAULT
    """The name of a model; `GET /api/offer` lists the models."""


@with_limits()
class StartExecution(SentBody):
    """A proved plan to execute."""

    plan_of: Annotated[str, Field(min_length=1, max_length=64)]
    tools: Name
    """The name of a tool set; `GET /api/offer` lists the tool sets."""
    model: Name = DEFAULT


class AnswerBody(SentBody):
    """An answer to a question, or a decline."""

    answer: Annotated[str, Field(max_length=ANSWER_MAX)] | None = None
    """The answer as text. It must fit the `answer_schema` of the question."""
    decline: bool = False
    """Whether the question is declined instead of answered."""


class MessageBody(SentBody):
    """A message to a run."""

    text: Annotated[str, Field(min_length=1, max_length=MESSAGE_MAX)]
    kind: Literal["note", "requirement"] = "note"
    """A `note` is shown in later prompts. A `requirement` changes the task, so the run goes back to an earlier step. If
    the run collects values, a note `FIELD=VALUE` corrects a value, even after the run has ended.
    """


class EditBody(SentBody):
    """An edited plan for a run, with the `revision` and `edits` of the plan that was opened."""

    plan: Mapping[str, Any]
    """The edited plan, a JSON object with initial_state, goal_state and steps. For an execution, it has only the steps
    that are not done yet.
    """
    revision: Annotated[int, Field(ge=1)]
    """The `revision` of the plan that was opened."""
    edits: Annotated[int, Field(ge=0)]
    """The `edits` of the plan that was opened. If somebody has edited the plan since then, the edit is refused."""
    dropped: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=100)] = Field(default_factory=list)
    """The ids of the demands that your user agrees to drop. The error that refused an edit names these ids."""


class Nothing(SentBody):
    """A body without content."""


class Got(BaseModel):
    """The body of a response."""

    model_config = ConfigDict(extra="allow")


class NearLimit(Got):
    """The limit of which an unfinished run has used the largest share."""

    limit: str
    percent: int


class RunBody(Got):
    """A row of the list of runs."""

    run_id: str
    kind: str
    status: Literal["running", "waiting", "parked", "finished", "moved"]
    title: str
    created: str
    updated: str
    records: int
    driven_by: str | None
    limit_near: NearLimit | None = None


class RunPage(Got):
    """A page of the list of runs, the newest first."""

    runs: list[RunBody]
    total: int
    page: int
    next_page: int | None


def _with_keys(*lists: type) -> Callable[[type[Got]], type[Got]]:
    """Return a decorator that adds the keys of typed dictionaries to a model as fields.

    The required keys of the first dictionary are required fields. All other fields are optional, because they depend on
    the kind of the run.
    """
    types: dict[str, list[Any]] = {}
    for keys in lists:
        for name, hint in get_type_hints(keys).items():
            types.setdefault(name, []).append(hint)
    needed: frozenset[str] = vars(lists[0])["__required_keys__"]
    fields: dict[str, Any] = {
        name: (Union[tuple(hints)], ...) if name in needed else (Union[(*hints, None)], None)  # noqa: UP007
        for name, hints in types.items()
    }

    def extend(model: type[Got]) -> type[Got]:
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
        )

    return extend


class ResultBody(Got):
    """The result of a run, as `replan show --json` prints it, and whether a process drives the run."""

    driven: bool


@cache
def result_body(*keys: type) -> type[Got]:
    """Return the model of a result. `keys` are the typed dictionaries of the results of installed kinds."""
    return _with_keys(ResultJson, PlanningJson, ExecutionJson, *keys)(ResultBody)


class StartedBody(Got):
    """The receipt for a started run."""

    run_id: str
    result: Literal["accepted", "duplicate"]


class Questions(Got):
    """Open questions."""

    questions: list[OpenQuestion]
    problems: list[dict[str, str]] = []
    more: bool = False


class Receipt(Got):
    """The receipt for an answer or a message.

    The result is `duplicate` if the same answer or message was posted before.
    """

    result: Literal["accepted", "duplicate"]


class RestOfPlan(Got):
    """The plan of a planning run, or the rest of an execution's plan."""

    run_id: str
    revision: int
    edits: int
    plan: dict[str, Any]


class Cancelled(Got):
    """The receipt for the cancellation of a run."""

    run_id: str
    cancelled: bool


class TreeBody(Got):
    """The search of a run, as `replan show --tree --json` prints it."""

    run_id: str


class RecordPage(Got):
    """At most 200 records of a run, after the record with the number `after`."""

    run_id: str
    records: list[dict[str, Any]]
    next_after: int | None


class UsedOfLimit(Got):
    """The amounts that count against one limit."""

    name: str
    spent: float
    unknown: float
    reserved: float
    limit: float | None


class Budget(Got):
    """How much a run has used of each limit."""

    run_id: str
    budget: list[UsedOfLimit]


class AttemptBody(Got):
    """The prompt of an attempt, and the replies."""

    run_id: str
    node: str
    prompt: dict[str, Any] | None
    replies: list[dict[str, Any]]


class OfferBody(Got):
    """The names that a client may use, and the ceilings of its limits. Installed kinds add lists of names."""

    workflows: list[str]
    policies: list[str]
    models: list[str]
    tools: list[str]
    ceilings: dict[str, float | None]


class ProblemBody(Got):
    """An error."""

    error: dict[str, Any]
