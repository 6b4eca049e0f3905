"""A kind for tests, known only by its entry points: a model writes poems for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from actors.handlers.agents import AgentTask, agent_kind
from actors.run.agent import AgentEvent, AgentState, Ask, Call, CallAnswered, End, Prompt, Wish
from actors.run.kind import PreparedRun, Setup
from actors.run.limits import ledger_limits
from actors.run.questions import ClarificationAnswered, ClarificationDeclined
from actors.values.answers import YES_NO
from actors.values.lines import line
from replan.cli.kind_command import kind_command
from replan.runs.kind_interface import KindInterface, KindOrder, Names
from runtime.core.errors import UsageProblem

CALLS = 3
STYLES = {"haiku": "three lines", "limerick": "five lines"}
GROUPS = {
    "replan.kinds": {"poem": "tests.support.poems:POEM"},
    "replan.commands": {"poem": "tests.support.poems:COMMAND"},
}


class PoemOrder(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    topic: Annotated[str, Field(min_length=1, max_length=1000)] = Field(description="What it is about.")
    style: Annotated[str, Field(max_length=100)] | None = Field(default=None, description="The form of the poem.")
    rhymes: bool = Field(default=False, title="It rhymes", description="Whether it rhymes.")
    words: Annotated[Mapping[str, str], Field(max_length=9)] = Field(
        default_factory=dict, description="Words to use, each with its meaning.", examples=["dew = wet grass"]
    )

    @model_validator(mode="after")
    def _names_each_thing_once(self) -> Self:
        if self.topic in self.words:
            raise ValueError("the topic is one of the words")
        return self


@dataclass(frozen=True)
class Draft:
    """What a run knows."""

    task: str
    poem: str = ""
    liked: bool | None = None


class Poet:
    """`actors.run.agent.Agent` for poems."""

    def start(self, task: str) -> Draft:
        return Draft(task)

    def apply(self, data: Draft, step: str, event: AgentEvent) -> Draft:
        match event:
            case CallAnswered():
                return replace(data, poem=event.content)
            case ClarificationAnswered():
                return replace(data, liked=event.answer == "yes")
            case ClarificationDeclined():
                return replace(data, liked=False)
            case _:
                return data

    def decide(self, state: AgentState[Draft]) -> Sequence[Wish]:
        draft = state.data
        if not draft.poem:
            return [Call("poem")]
        if draft.liked is None:
            return [Ask("opinion", f"Do you like {draft.poem}?", YES_NO)]
        return [End("success" if draft.liked else "disliked", draft.poem)]

    def prompt(self, state: AgentState[Draft], step: str) -> Prompt:
        return Prompt(user=state.data.task, system="You write poems.")


_AGENT = agent_kind("poem", Poet())


def prepare(order: KindOrder, setup: Setup) -> PreparedRun:
    """Return the ordered poem, ready to begin."""
    wanted = order.fields
    assert isinstance(wanted, PoemOrder)
    if wanted.style is not None and wanted.style not in STYLES:
        raise UsageProblem(f"there is no style {wanted.style!r}", place="style", hint=", ".join(STYLES))
    task = f"{wanted.topic}: {STYLES.get(wanted.style or '', 'any form')}{', in rhymes' if wanted.rhymes else ''}"
    task += "".join(f"; {word} means {meaning}" for word, meaning in wanted.words.items())
    return _AGENT.prepare(AgentTask(task, ledger_limits(order.limits, {"calls": CALLS}, setup.now)), setup)


POEM = replace(_AGENT, prepare=prepare, interface="tests.support.poems:INTERFACE")
"""The kind of runs that write poems."""
INTERFACE = KindInterface(
    kind="poem",
    order=PoemOrder,
    title="Write a poem",
    summary="Start a run that writes a poem.",
    tool="write_poem",
    calls=lambda _: CALLS,
    names={"style": Names("styles", "style", "poems.styles", lambda _: STYLES)},
    like=lambda loaded: {"topic": loaded.kind.views.asked(loaded.state).text} if loaded.kind.name == "poem" else None,
    outline=lambda value: [line(value["poem"])] if isinstance(value, dict) and "poem" in value else (),
)
"""The interface of poems."""
COMMAND = kind_command(INTERFACE)
