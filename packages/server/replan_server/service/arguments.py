"""The arguments of MCP tools, and the objects that only these tools return. Unknown arguments are refused."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from actors.planning.prepare import PROBLEM_BYTES_MAX
from actors.run.inbox import MESSAGE_MAX
from actors.run.open_question import OpenQuestion
from actors.values.answers import ANSWER_MAX
from actors.values.given import ATTACHMENT_BYTES_MAX
from replan.setup.limit_fields import with_limits
from replan.setup.settings import DEFAULT
from replan_server.service.bodies import ChangedLimits, EditBody, Got, Name, SentBody, StartFork
from replan_server.service.orders import UPLOADS_MAX

WAIT_SECONDS_MAX = 50.0
"""The largest number of seconds that one call of `wait` may take. Clients give up a call after about a minute."""

RunId = Annotated[str, Field(min_length=1, max_length=64, description="The id of a run.")]
QuestionId = Annotated[str, Field(min_length=3, max_length=200, description="The id of a question, as RUN/QUESTION.")]


class Arguments(SentBody):
    """The arguments of a tool.

    Unlike in the HTTP API, a number may be sent as a string, because some language models send strings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


@with_limits()
class Ordered(SentBody):
    """The common arguments of tools that start a run."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    model: Name = DEFAULT
    """The name of a model; the resource replan://offer lists the models."""
    idempotency_key: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """A repeated call with the same key returns the run that the first call has started."""


class TextFile(Arguments):
    """A text file that the planning run gets."""

    name: Annotated[str, Field(max_length=120)]
    """The name of the file, without a path."""
    text: Annotated[str, Field(max_length=2 * ATTACHMENT_BYTES_MAX)]


class PlanArguments(Ordered):
    """A problem to plan for."""

    problem: Annotated[str, Field(min_length=1, max_length=PROBLEM_BYTES_MAX)]
    workflow: Name = "search"
    """The name of a workflow; the resource replan://offer lists the workflows."""
    strict: bool = False
    """Whether a plan is rejected if a demand of the problem is in no step of the plan."""
    attachments: Annotated[tuple[TextFile, ...], Field(max_length=UPLOADS_MAX)] = ()

    @property
    def uploads(self) -> tuple[tuple[str, bytes], ...]:
        """The names and bytes of the attached files."""
        return tuple([(attachment.name, attachment.text.encode("utf-8", "replace")) for attachment in self.attachments])


class Execute(Ordered):
    """A plan to execute."""

    id: RunId
    tools: Name
    """The name of a tool set; the resource replan://offer lists the tool sets."""

    @property
    def plan_of(self) -> str:
        """The id of the planning run. In the HTTP API, the body has the same field."""
        return self.id


class RunArguments(Arguments):
    """A run."""

    id: RunId


class Wait(RunArguments):
    """A run to wait for."""

    seconds: Annotated[float, Field(ge=0, le=WAIT_SECONDS_MAX)] = WAIT_SECONDS_MAX
    """The longest time to wait, in seconds."""


class MaybeRun(Arguments):
    """A run, or all runs."""

    id: RunId | None = None
    """The id of the run; without an id, the questions of all runs are listed."""


class AnswerArguments(Arguments):
    """An answer to a question, or a decline."""

    question: QuestionId
    answer: Annotated[str, Field(max_length=ANSWER_MAX)] | None = None
    decline: bool = False
    """Whether the question is declined instead of answered. The question's `otherwise` says what happens then."""


class Tell(RunArguments):
    """A message to a run."""

    text: Annotated[str, Field(min_length=1, max_length=MESSAGE_MAX)]
    kind: Literal["note", "requirement"] = "note"
    """A note is shown in later prompts. A requirement changes the task, so the run goes back to an earlier step. If the
    run collects values, a note FIELD=VALUE corrects a value, even after the run has ended.
    """
    idempotency_key: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class EditPlan(EditBody):
    """An edited plan, with the `revision` and `edits` of the plan that was opened."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    id: RunId


class ChangeLimits(ChangedLimits):
    """Changed limits of a run."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    id: RunId
    idempotency_key: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class ForkRun(StartFork):
    """A run to start from the middle of another run."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    id: RunId
    idempotency_key: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class CheckPlan(Arguments):
    """A plan to check."""

    plan: Mapping[str, Any]
    level: Literal["minimal", "medium", "expansive"] = "medium"
    """The level of the proof; `expansive` proves the most."""
    assurance: Literal["strong", "strong_cyclic", "weak"] = "strong_cyclic"
    """The guarantee that the level `expansive` demands of all traces that do not escalate."""
    r_max: Annotated[int, Field(ge=1, le=10**6)] = 100
    """The largest `total_retry_budget` that the plan may have."""


class StateReport(Got):
    """The present state of a run."""

    run_id: str
    kind: str
    status: Literal["running", "waiting", "parked", "finished", "moved"]
    outcome: str
    why: str
    title: str
    calls: int
    tokens: int
    cost_usd: float | None
    driven: bool
    next: str
    questions: list[OpenQuestion]


class PlanReport(Got):
    """The verdict on a plan, as `replan check --json` prints it."""

    level: str
    valid: bool
    assurance: str | None
    escalations: list[str]
    undoes: list[str] = Field(default_factory=list)
    irreversible: list[str] = Field(default_factory=list)
    findings: list[dict[str, Any]]
