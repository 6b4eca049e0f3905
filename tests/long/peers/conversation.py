"""A kind that only these tests know: a long conversation whose agent sends all of it with each of many calls.

The agent asks the model which tool to use next, uses it, and adds the output to what it sends, until it has done so
often enough. Its task is JSON with `messages`, a text, `calls`, and `output`, the bytes of each tool's output.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from actors.handlers.agents import agent_kind
from actors.handlers.tools import function_tool
from actors.run.agent import AgentEvent, AgentState, Call, CallAnswered, End, Prompt, UseTool, Wish
from actors.run.tools import ToolFinished


@dataclass(frozen=True)
class Conversation:
    messages: str
    calls: int
    output: int
    wanted: str = ""
    """What the model has asked the tool for; empty once it is done."""
    said: tuple[str, ...] = ()
    """The replies and the outputs of the tool, in order."""


class Talker:
    """`actors.run.agent.Agent` for conversations."""

    def start(self, task: str) -> Conversation:
        """Begin with the conversation so far."""
        return Conversation(**json.loads(task))

    def apply(self, data: Conversation, step: str, event: AgentEvent) -> Conversation:
        match event:
            case CallAnswered():
                return replace(data, wanted=event.content, said=(*data.said, event.content))
            case ToolFinished():
                return replace(data, wanted="", said=(*data.said, event.output))
            case _:
                return data

    def decide(self, state: AgentState[Conversation]) -> Sequence[Wish]:
        """Call the model and the tool in turn."""
        data = state.data
        if data.wanted:
            arguments = json.dumps({"what": data.wanted, "size": data.output})
            return [UseTool("look", "look", arguments, repeatable=True)]
        return [End()] if len(data.said) >= 2 * data.calls else [Call("talk")]

    def prompt(self, state: AgentState[Conversation], step: str) -> Prompt:
        return Prompt(system="Say what to look up next.", user="\n".join((state.data.messages, *state.data.said)))


def look(arguments: Mapping[str, Any]) -> str:
    """Return a page about what is wanted, different for each."""
    size = int(arguments["size"])
    return f"{arguments['what']}: ".ljust(20, ".") * (size // 20)


CONVERSATION = agent_kind("conversation", Talker(), lambda _: [function_tool("look", look)])
