"""The request of an AG-UI client (`RunAgentInput` of version 1.0), translated to orders and messages of Replan."""

import json
from typing import Annotated, Any, Literal

from pydantic import AliasGenerator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from actors.run.inbox import MESSAGE_MAX
from replan_server.service.bodies import SentBody, StartRun
from replan_server.service.requests import HTTP, wrong_value
from runtime.core.errors import UsageProblem

OWN = "replan"
"""The only key of `forwardedProps` that the server reads. The key's value has settings of the run, such as
`workflow`."""
MESSAGES_MAX = 2_000
"""The largest number of messages in one AG-UI request."""


class AgUiBody(SentBody):
    """A part of an AG-UI client's request. Keys that Replan does not use are ignored, as the protocol demands."""

    model_config = ConfigDict(extra="ignore", strict=False, alias_generator=AliasGenerator(validation_alias=to_camel))


class AgUiMessage(AgUiBody):
    """A message of the conversation."""

    id: Annotated[str, Field(max_length=200)]
    role: str
    """The author of the message. Only messages of the role `user` are read."""
    content: Any = None
    """A text, or a list of parts. In a message of the user, all parts must have the type `text`."""

    @property
    def text(self) -> str:
        """The text of the message. Raises `UsageProblem` if a part of the message is not a text, such as an image."""
        if isinstance(self.content, str):
            return self.content
        parts = self.content if isinstance(self.content, list) else []
        found = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
        texts = [text for text in found if isinstance(text, str)]
        if not texts or len(texts) != len(parts):
            raise UsageProblem("a user's message may contain only text", place="messages.content")
        return "\n".join(texts)


class AgUiAnswer(AgUiBody):
    """The answer to an interrupt."""

    interrupt_id: Annotated[str, Field(max_length=200)]
    status: Literal["resolved", "cancelled"]
    """Whether the question is answered or declined."""
    payload: Any = None

    @property
    def answer(self) -> str | None:
        """The answer as text, or None for a decline. Raises `UsageProblem` if there is no answer."""
        if self.status == "cancelled":
            return None
        match self.payload:
            case None:
                raise UsageProblem("a resolved interrupt needs an answer in its payload", place="resume.payload")
            case str():
                return self.payload
            case bool():
                return "yes" if self.payload else "no"
            case _:
                return json.dumps(self.payload)


class AgUiInput(AgUiBody):
    """A request to follow a run. The request may also start the run, or send it a message."""

    thread_id: Annotated[str, Field(min_length=1, max_length=100)]
    """The conversation: the id of a run that exists, or a name for the run to start."""
    run_id: Annotated[str, Field(max_length=200)]
    messages: Annotated[tuple[AgUiMessage, ...], Field(max_length=MESSAGES_MAX)]
    """The conversation so far. The first message of the user is the problem. If a later message of the user is the last
    message, it is sent to the run.
    """
    state: Any = None
    """The last state that the client got. The key `after` is the number of the last record that the client knows."""
    resume: Annotated[tuple[AgUiAnswer, ...], Field(max_length=200)] = ()
    forwarded_props: Any = None
    """An object. The key `replan` has the settings of a run to start, except the problem, and the `kind` of a message.
    """

    @property
    def after(self) -> int:
        """The number of the last record that the client knows; 0 if the client knows no record."""
        known = self.state.get("after") if isinstance(self.state, dict) else None
        return known if isinstance(known, int) and not isinstance(known, bool) and 0 < known < 10**12 else 0

    @property
    def own(self) -> dict[str, Any]:
        """The object under the key `replan`. Raises `UsageProblem` if the value is not an object."""
        found = self.forwarded_props.get(OWN, {}) if isinstance(self.forwarded_props, dict) else {}
        if not isinstance(found, dict):
            raise UsageProblem("the value is not an object", place=f"forwardedProps.{OWN}")
        return found

    @property
    def kind(self) -> Literal["note", "requirement"]:
        """The kind of a later message: `note` or `requirement`. Raises `UsageProblem` for another kind."""
        match self.own.get("kind", "note"):
            case "note":
                return "note"
            case "requirement":
                return "requirement"
            case _:
                raise UsageProblem("the kind must be 'note' or 'requirement'", place=f"forwardedProps.{OWN}.kind")

    def start(self) -> StartRun:
        """Return the settings of the run to start. Raises `UsageProblem`, whose place is the wrong key."""
        texts = [message.text for message in self.messages if message.role == "user"]
        if not texts:
            raise UsageProblem("no message has the role user, so the problem is missing", place="messages")
        fields = {name: value for name, value in self.own.items() if name != "kind"}
        try:
            return StartRun.model_validate({**fields, "problem": texts[0]})
        except ValidationError as error:
            problem = wrong_value(error, StartRun, HTTP)
            place = "messages" if problem.place == "problem" else f"forwardedProps.{OWN}.{problem.place}"
            raise UsageProblem(problem.cause, place=place, hint=problem.hint) from None

    def new_message(self, *, started: bool) -> AgUiMessage | None:
        """Return the message to send to the run; None if the user did not write the last message.

        With `started`, this conversation has started the run: the first message is then the problem, and is not sent.
        """
        own = [message for message in self.messages if message.role == "user"]
        if not own or own[-1] is not self.messages[-1] or (started and len(own) == 1):
            return None
        if len(own[-1].text) > MESSAGE_MAX:
            raise UsageProblem(f"the last message has more than {MESSAGE_MAX:,} characters", place="messages")
        return own[-1]
