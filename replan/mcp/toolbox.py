"""The table of the server's tools: their names, scopes, arguments, results, and what a client should know of them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import InputRequiredResult, Tool, ToolAnnotations
from pydantic import BaseModel

from replan.mcp import bodies, reads, writes
from replan.mcp.asking import wait
from replan.mcp.calls import Call
from replan.service import bodies as shared
from replan.service.store import Scope

Handler = Callable[[Call, Any], Awaitable[Mapping[str, Any] | InputRequiredResult]]
"""Carries a call out; the second argument are the checked arguments."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One tool."""

    name: str
    """Its name."""
    title: str
    """Its name for people."""
    description: str
    """What it does, for the language model that chooses it."""
    scope: Scope
    """What a token must allow."""
    handler: Handler
    """Carries it out."""
    takes: type[BaseModel]
    """The model of its arguments."""
    gives: type[BaseModel]
    """The model of its result."""
    reads_only: bool = False
    """Whether it changes nothing."""
    destroys: bool = False
    """Whether it may end something for good, or act outside of Replan."""
    repeats: bool = True
    """Whether the same call once more does nothing more."""
    executes: bool = False
    """Whether it is there only where the server was told to allow executions."""

    def described(self) -> Tool:
        """Return the tool as clients list it. The annotations are hints; the scope is what counts."""
        annotations = ToolAnnotations(
            title=self.title,
            read_only_hint=self.reads_only,
            destructive_hint=None if self.reads_only else self.destroys,
            idempotent_hint=None if self.reads_only else self.repeats,
            open_world_hint=self.executes,
        )
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.takes.model_json_schema(),
            output_schema=self.gives.model_json_schema(mode="serialization"),
            annotations=annotations,
        )


ENTRIES: Sequence[Entry] = (
    Entry(
        "plan",
        "Plan",
        "Start a run that writes a proved plan for a problem; returns its id at once. Then call `wait`. Reading "
        "replan://offer lists the workflows, the models and the ceilings of limits.",
        "control",
        writes.plan,
        bodies.Plan,
        shared.Started,
        repeats=False,
    ),
    Entry(
        "wait",
        "Wait for a run",
        "Wait until a run has finished, asks a question, or stops, at most 50 seconds; then call it again. Questions "
        "are shown to your user as forms where your client can do that.",
        "read",
        wait,
        bodies.Wait,
        bodies.State,
    ),
    Entry(
        "status",
        "Status",
        "What a run is doing now, and what to do next.",
        "read",
        reads.status,
        bodies.Run,
        bodies.State,
        reads_only=True,
    ),
    Entry(
        "questions",
        "Open questions",
        "The open questions of a run, or of all runs. Those with people_only are answered by a person elsewhere.",
        "read",
        reads.questions,
        bodies.MaybeRun,
        shared.Questions,
        reads_only=True,
    ),
    Entry(
        "answer",
        "Answer a question",
        "Answer a question with what your user says, or decline it. The first answer counts.",
        "answer",
        writes.answer,
        bodies.Answer,
        shared.Receipt,
    ),
    Entry(
        "tell",
        "Tell a run something",
        "Send a run a note, or a requirement for which it goes back.",
        "answer",
        writes.tell,
        bodies.Tell,
        shared.Receipt,
        repeats=False,
    ),
    Entry(
        "cancel",
        "Cancel a run",
        "End a run for good.",
        "control",
        writes.cancel,
        bodies.Run,
        shared.Cancelled,
        destroys=True,
    ),
    Entry(
        "result",
        "Result",
        "What a run has come to: of a planning run the plan, of an acquisition the values, of an execution its steps.",
        "read",
        reads.result,
        bodies.Run,
        shared.Result,
        reads_only=True,
    ),
    Entry(
        "check_plan",
        "Check a plan",
        "Check a plan with the guards; no model is called, and nothing is stored.",
        "read",
        reads.check_plan,
        bodies.CheckPlan,
        bodies.Report,
        reads_only=True,
    ),
    Entry(
        "acquire",
        "Fill a schema",
        "Start a run that fills a profile's schema from documents and questions; returns its id at once. Then `wait`.",
        "control",
        writes.acquire,
        bodies.Acquire,
        shared.Started,
        repeats=False,
    ),
    Entry(
        "execute",
        "Execute a plan",
        "Start a run that executes the proved plan of a planning run with a tool set of the server's settings; a "
        "person approves risky steps elsewhere. Returns its id at once. Then `wait`.",
        "control",
        writes.execute,
        bodies.Execute,
        shared.Started,
        destroys=True,
        repeats=False,
        executes=True,
    ),
)
"""All tools."""


def offered(*, allow_execute: bool) -> Mapping[str, Entry]:
    """Return the tools of a server by name."""
    return {entry.name: entry for entry in ENTRIES if allow_execute or not entry.executes}
