"""Calls of generators: the request, the reply (even if it was cut off), and the cost. Pure.

The ledger reserves the cost of a call at its request. At the reply, the real cost replaces the reservation. After a
transport fault, the call gets a further *try*: the call is requested again after a pause, with another request id
(`actors.run.parking`, `actors.run.outage`). A driver that takes a run over requests the open calls of the earlier
driver again (*reissue*). The earlier try remains charged as unknown.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from actors.run.ids import call_of, node_of, step_of, try_id
from actors.run.tools import ToolMessage
from actors.run.waits import Started, TimedEvent
from actors.values.artifacts import LENGTH, Artifact, lacks_end
from actors.values.findings import Code, Finding, Verdict
from runtime.core.copies import changed, without
from runtime.core.events import Event, Seconds, make_storable
from runtime.core.ledger import COUNTED, ZERO, Amount, Ledger, Price, Usage, cost_of_call
from runtime.core.messages import Control, Message
from runtime.models.port import NO_COMPLETION, Fault, FaultKind, Reply
from runtime.models.replies import repeated_phrase

UNPAID = frozenset({503, 529})
"""The HTTP statuses with which a server says that it did not begin to work on a request. Such a request is not charged.
"""


class CallRequested(Event):
    """A reply of a model or of another generator was requested. Each kind of agent has subclasses for its requests.

    The prompt is not stored: it is rendered again from the state.
    """

    node: str
    """The node that the call is about."""
    try_number: int = 1
    """The number of this try, from 1."""
    prompt_hash: str
    """The first 128 bits of the hash of the prompt, in hex."""
    calls: int = 1
    """The number of reserved calls; more than one if a child run answers."""
    tokens_max: int = 0
    """The number of reserved tokens, input plus output."""
    micro_usd_max: int = 0
    """The reserved micro-dollars; 0 if the price is unknown."""
    timeout_seconds: Seconds | None = None
    """The time limit in seconds; None for the configured limit. The limit is longer after a try that took too long, and
    shorter if little active time is left.
    """

    @property
    def call(self) -> str:
        """The name of the call, which is its node. All tries of a call have this name."""
        return self.node

    @property
    def request_id(self) -> str:
        """The id of the request, made of its call and the try number."""
        return try_id(self.call, self.try_number)

    @property
    def reserve(self) -> Amount:
        """The largest amount that the call may use. The ledger reserves it."""
        return Amount(calls=self.calls, tokens=self.tokens_max, micro_usd=self.micro_usd_max)

    @property
    def step(self) -> str:
        """The step that the call is about: the part of the node before the slash."""
        return step_of(self.node)


class Replied(TimedEvent):
    """A call got a reply. Each kind of agent has subclasses for its replies."""

    texts: ClassVar[tuple[str, ...]] = ("content", "original")
    added_fields: ClassVar[tuple[str, ...]] = ("notices", "original")
    request_id: str
    """The id of the request."""
    elapsed: Seconds
    """The seconds from sending the request to the end of the reply."""
    content: str
    """The reply's text."""
    usage: Usage | None = None
    """The tokens that the provider reports; None if it reports no tokens."""
    calls: int = 1
    """The number of charged calls; more than one if a child run answered."""
    tokens: int | None = None
    """The charged tokens; None if they are the tokens of `usage`."""
    micro_usd: int = 0
    """The charged micro-dollars; 0 if the price is unknown."""
    model: str = ""
    """The model's name, as the provider reports it."""
    mode: str = "text"
    """The requested form of the reply: `json_schema`, `json_object` or `text`."""
    finish_reason: str = "stop"
    """Why the model stopped: `stop`, or `length` if the reply was cut off."""
    notices: tuple[str, ...] = ()
    """Notices for people about the reply, such as a parameter that the server refused."""
    original: str = ""
    """The model's text before its broken JSON was repaired; empty if nothing was repaired."""

    @property
    def node(self) -> str:
        """The node that the call was about, read from the request id."""
        return node_of(self.request_id)

    @property
    def reply(self) -> Reply:
        """The reply as a model gave it, without its notices."""
        return Reply(self.content, self.usage, self.model, self.finish_reason, self.mode)

    @property
    def ended_early(self) -> bool:
        """Whether the end of the reply is missing (`actors.values.artifacts.lacks_end`)."""
        return lacks_end(self.content, self.finish_reason)

    @property
    def notices_text(self) -> str:
        """The notices as the end of a sentence; empty if there are none."""
        return "".join(f"; {notice}" for notice in self.notices)

    @property
    def used(self) -> Amount:
        """The charged amount: calls, tokens and micro-dollars."""
        reported = 0 if self.usage is None else self.usage.tokens
        return Amount(
            calls=self.calls, tokens=reported if self.tokens is None else self.tokens, micro_usd=self.micro_usd
        )


class CallFailed(TimedEvent):
    """A try of a call got no reply."""

    added_fields: ClassVar[tuple[str, ...]] = ("unpaid",)
    kind: Literal["generation_failed"] = "generation_failed"
    request_id: str
    """The id of the request."""
    elapsed: Seconds
    """The seconds from sending the request to the fault."""
    fault: Fault
    """The kind of fault, and its message for people."""
    used: Amount | None = None
    """The usage of a child run that stopped waiting for its provider; None in runs of this release."""
    unpaid: bool = False
    """Whether the HTTP status says that nothing was charged."""

    @property
    def refunded(self) -> bool:
        """Whether the provider certainly charged nothing for the failed try."""
        return self.used is None and (self.unpaid or self.fault.kind.refunded)

    @property
    def call(self) -> str:
        """The name of the call whose try failed."""
        return call_of(self.request_id)

    @property
    def node(self) -> str:
        """The node that the call was about, read from the request id."""
        return node_of(self.request_id)


class CallReissued(Event):
    """An open call of an earlier driver was requested again. Each kind has a subclass with its own type of call."""

    replaces: str
    """The id of the earlier driver's request."""
    again: CallRequested
    """The new request, with the next try number."""


class Settled(TimedEvent):
    """A late reply to a withdrawn call came. The cost of the reply is known now, but its content is not used."""

    kind: Literal["settled"] = "settled"
    request_id: str
    """The id of the request."""
    used: Amount
    """The cost of the reply, which replaces the reservation."""


FRAMING_TOKENS = 64
"""The number of tokens that are reserved for what a server adds to a prompt: roles, separators and the schema's
name."""


def call_cost(sent_bytes: int, output_tokens_max: int, price: Price | None) -> Amount:
    """Return the most that a call can cost, from the bytes that are sent and the token limit of the reply."""
    # A byte-level tokenizer makes at most one token of a byte, so the bytes that are sent bound the input.
    sent = sent_bytes + FRAMING_TOKENS
    return Amount(1, sent + output_tokens_max, 0 if price is None else price.micro_usd_at_most(sent, output_tokens_max))


def child_share(ledger: Ledger, calls_max: int) -> Amount:
    """Return the budget of a child run: a fraction of the remaining calls, at most `calls_max`.

    Of each other limit, the child run gets the same fraction of what remains.
    """
    committed, left = ledger.committed, ledger.calls_left
    share = {"calls": max(1, min(calls_max, left))}
    for limit in COUNTED[1:]:
        if (most := limit.of(ledger.limits)) is not None:
            rest = int(most) - getattr(committed, limit.key)
            share[limit.key] = max(1, rest * share["calls"] // max(1, left))
    return Amount(**share)


def reserve_fields(reserve: Amount) -> dict[str, Any]:
    """Return the fields of a request that reserve an amount."""
    return {"calls": reserve.calls, "tokens_max": reserve.tokens, "micro_usd_max": reserve.micro_usd}


C = TypeVar("C", bound=CallRequested, covariant=True)
R = TypeVar("R", bound=CallRequested)


class OpenCall(NamedTuple, Generic[C]):
    """A call that was requested and not yet answered."""

    request: C
    epoch: int


@dataclass(frozen=True, slots=True)
class Tries(Generic[C]):
    """The failed tries of one call."""

    count: int
    """The number of failed tries. Each check that finds the provider still down counts as a further try."""
    waited: float
    """The seconds of pauses since a person last resumed the run, including pauses that a server asked for
    (`Retry-After`).
    """
    failed: CallFailed
    request: C
    bad_replies: int = 0
    """How many of the latest tries, in a row, got a reply that is not a chat completion."""
    phase: Literal["failed", "waiting", "rested", "open"] = "failed"
    """What the call waits for. `failed`: a decision about its fault. `waiting`: the end of a pause. `rested`: its next
    request. `open`: its reply.
    """


@dataclass(frozen=True)
class Calls(Generic[C]):
    """The calls of a run that have not ended."""

    open: Mapping[str, OpenCall[C]] = field(default_factory=dict)
    tries: Mapping[str, Tries[C]] = field(default_factory=dict)
    """For each call that has failed at least once and is not answered: its tries.

    The keys are the names of the calls.
    """


CallsAndLedger = tuple[Calls[Any], Ledger]
"""The calls and the ledger of a run. Functions return them together, because an event about a call changes both."""


def record_request(calls: Calls[R], ledger: Ledger, request: R, epoch: int) -> CallsAndLedger:
    """Return calls and ledger after a call was requested: its cost is reserved."""
    name, tries = request.request_id, calls.tries
    if tries and request.call in tries:  # A further try of the same call.
        tries = {**tries, request.call: replace(tries[request.call], request=request, phase="open")}
    return Calls({**calls.open, name: OpenCall(request, epoch)}, tries), ledger.reserve(name, request.reserve)


def record_reissue(calls: Calls[C], ledger: Ledger, event: CallReissued, epoch: int) -> CallsAndLedger:
    """Return calls and ledger after an earlier driver's call was requested again."""
    again = event.again
    open_calls = {**without(calls.open, (event.replaces,)), again.request_id: OpenCall(again, epoch)}
    return changed(calls, open=open_calls), ledger.forfeit(event.replaces).reserve(again.request_id, again.reserve)


def record_answer(calls: Calls[C], ledger: Ledger, event: Replied) -> CallsAndLedger:
    """Return calls and ledger after a reply: its call has ended, and the real cost replaces the reservation."""
    name, tries = event.request_id, calls.tries
    if tries:
        tries = without(tries, (call_of(name),))
    ledger_after = ledger.settle(name, event.used)
    if event.usage is not None and event.usage.cache_read_tokens:
        ledger_after = changed(ledger_after, cached_tokens=ledger_after.cached_tokens + event.usage.cache_read_tokens)
    return Calls(without(calls.open, (name,)), tries), ledger_after


def record_failure(calls: Calls[C], ledger: Ledger, event: CallFailed, *, parked: bool) -> CallsAndLedger:
    """Return calls and ledger after a try got no reply: the try is counted, and its cost is charged or refunded."""
    name, earlier = event.request_id, calls.tries.get(event.call)
    refunded, bad_replies = event.refunded, 0 if earlier is None else earlier.bad_replies
    unsent = refunded and parked  # The run was parked, so the call was not sent.
    tries = Tries(
        count=(0 if earlier is None else earlier.count) + (not unsent),
        waited=0.0 if earlier is None else earlier.waited,
        failed=event,
        request=calls.open[name].request,
        bad_replies=bad_replies + 1 if event.fault.kind in NO_COMPLETION else 0,
    )
    if event.used is not None:
        ledger = ledger.settle(name, event.used)
    else:
        ledger = ledger.refund(name) if refunded else ledger.forfeit(name)
    return changed(calls, open=without(calls.open, (name,)), tries={**calls.tries, event.call: tries}), ledger


def calls_charged(calls: Calls[C], event: CallFailed) -> int:
    """Return how many calls are charged for a failed try. `calls` are the run's calls before this failure."""
    if event.used is not None:
        return event.used.calls
    return 0 if event.refunded else calls.open[event.request_id].request.calls


def withdraw_calls(calls: Calls[C], ledger: Ledger, nodes: Collection[str]) -> CallsAndLedger:
    """Return calls and ledger without the calls for the given nodes.

    The reservations of these calls are charged as unknown.
    """
    names = [name for name, open_call in calls.open.items() if open_call.request.node in nodes]
    for name in names:
        ledger = ledger.forfeit(name)
    tries = {call: tries for call, tries in calls.tries.items() if tries.request.node not in nodes}
    return changed(calls, open=without(calls.open, names), tries=tries), ledger


def end_calls(calls: Calls[C], ledger: Ledger, *, final: bool) -> CallsAndLedger:
    """Return calls and ledger after the run's end. After the end, a reply to an open call is a late reply.

    If the end is not final, the open calls are kept and are requested again when the run is reopened.
    """
    for name in calls.open:
        ledger = ledger.forfeit(name)
    return changed(calls, open={}) if final else calls, ledger


def settle_late_reply(calls: Calls[C], ledger: Ledger, event: Settled) -> CallsAndLedger:
    """Return calls and ledger after a late reply. A call that is still open is requested again after a reopening."""
    ledger, open_call = ledger.settle(event.request_id, event.used), calls.open.get(event.request_id)
    if open_call is None:
        return calls, ledger
    late = Fault(kind=FaultKind.CUT, message="the reply came after the end of the run")
    failure = CallFailed(request_id=event.request_id, at=event.at, elapsed=0.0, fault=late, used=event.used)
    tries = Tries(count=0, waited=0.0, failed=failure, request=open_call.request, phase="rested")
    tries_by_call = {**calls.tries, open_call.request.call: tries}
    return changed(calls, open=without(calls.open, (event.request_id,)), tries=tries_by_call), ledger


def reopen_calls(calls: Calls[C], ledger: Ledger) -> CallsAndLedger:
    """Return calls and ledger after an end was undone: the reservations of the open calls are restored.

    The next driver requests the calls of the earlier driver again, and continues child runs.
    """
    for name in calls.open:
        ledger = ledger.restore(name)
    return calls, ledger


ReplyFields = dict[str, Any]
"""The values, by name, of the fields that every event of a reply has (see `Replied`)."""


class Received(NamedTuple, Generic[C]):
    """A reply to an open call: the request of the call, and the fields for the event of the reply."""

    request: C
    fields: ReplyFields


def accept_reply(
    calls: Calls[C], ledger: Ledger, message: "Generated", price: Price | None
) -> Received[C] | Settled | None:
    """Return `Received` for a reply to an open call, `Settled` for a late reply, and None for a duplicate."""
    name, reply = message.request_id, message.reply
    if name in ledger.forfeited:
        cost = message.cost or cost_of_call(reply.usage, ledger.forfeited[name], price)
        return Settled(request_id=name, at=message.at, mono=message.mono, used=cost)
    open_call = calls.open.get(name)
    if open_call is None or name not in ledger.reserved:
        return None
    cost = message.cost or cost_of_call(reply.usage, ledger.reserved[name], price)
    earlier = calls.tries.get(open_call.request.call)
    if message.cost is not None and earlier is not None and earlier.failed.used is not None:
        cost = cost - earlier.failed.used  # The child run's cost includes this cost, which is already charged.
    reported = reply.usage is not None and reply.usage.tokens == cost.tokens
    fields: ReplyFields = {
        "request_id": name,
        "at": message.at,
        "mono": message.mono,
        "elapsed": message.elapsed,
        "content": make_storable(reply.text),
        "usage": reply.usage,
        "calls": cost.calls,
        "tokens": None if reported else cost.tokens,
        "micro_usd": cost.micro_usd,
        "model": make_storable(reply.model),
        "mode": reply.mode,
        "finish_reason": make_storable(reply.finish_reason),
        "notices": tuple(map(make_storable, reply.notices)),
        "original": make_storable(reply.original),
    }
    return Received(open_call.request, fields)


def accept_fault(calls: Calls[C], ledger: Ledger, message: "Faulted") -> CallFailed | Settled | None:
    """Return `CallFailed` for an open call, or `Settled` for a withdrawn call.

    Return None for a duplicate, and for a withdrawn call whose cost is unknown.
    """
    fault = message.fault
    refunded = fault.kind.refunded or fault.unpaid or fault.status in UNPAID
    if message.request_id not in calls.open or message.request_id not in ledger.reserved:
        # Withdrawn work stays charged as unknown, unless the provider has certainly refused the request.
        cost = ZERO if message.cost is None and refunded else message.cost
        if cost is None or message.request_id not in ledger.forfeited:
            return None
        return Settled(request_id=message.request_id, at=message.at, mono=message.mono, used=cost)
    return CallFailed(
        request_id=message.request_id,
        at=message.at,
        mono=message.mono,
        elapsed=message.elapsed,
        fault=fault.model_copy(update={"message": make_storable(fault.message), "unpaid": False}),
        used=message.cost,
        unpaid=refunded and not fault.kind.refunded,
    )


LIMIT = "output_tokens_max"
"""The key in a verdict's `facts` for the token limit at which a reply was cut off."""


def reject_cut_artifact(artifact: Artifact, guard: str, output_tokens_max: int) -> Verdict:
    """Return a verdict of the step's guard that rejects an artifact whose end is missing.

    The message of its finding tells the model how to write a complete artifact.
    """
    if artifact.finish_reason == LENGTH:
        phrase = repeated_phrase(artifact.content)
        message = (
            f"The reply was cut off at the limit of {output_tokens_max:,} tokens, so its end is missing. "
            + (f"It repeated {json.dumps(phrase, ensure_ascii=False)} up to there. " if phrase else "")
            + "Write it anew, complete and much shorter: nothing around the JSON, brief texts, only what is necessary."
        )
        return Verdict(
            guard=guard, findings=(Finding(code=Code.CUT, message=message),), facts={LIMIT: output_tokens_max}
        )
    message = (
        "A content filter of the provider stopped the reply, so its end is missing. "
        "Write it anew, complete and in neutral words, without what a filter may object to."
    )
    return Verdict(guard=guard, findings=(Finding(code=Code.FILTERED, message=message),))


def text_under_limit(verdict: Verdict | None, output_tokens_max: int) -> str:
    """Return a text for the next prompt if the token limit was raised after a reply was cut off; else an empty text."""
    limit = None if verdict is None else verdict.facts.get(LIMIT)
    if not isinstance(limit, int) or output_tokens_max <= limit:
        return ""
    return (
        f"The reply was cut off at the limit of {limit:,} tokens, so its end is missing. "
        f"The limit is {output_tokens_max:,} tokens now. Write it anew and complete."
    )


@dataclass(frozen=True, slots=True)
class WorkMessage(Message):
    """A message of an actor about its work."""

    request_id: str
    at: float
    elapsed: float


@dataclass(frozen=True, slots=True)
class Generated(WorkMessage):
    """The actor's message that a call got a reply."""

    reply: Reply
    cost: Amount | None = None
    """The cost; if it is None, it is computed from the reply's usage."""
    out_of_time: bool = False
    """Whether a child run ended without a result because the deadline of its parent has passed."""


@dataclass(frozen=True, slots=True)
class Faulted(WorkMessage):
    """The actor's message that a try of a call got no reply, or that a provider is still down."""

    fault: Fault
    cost: Amount | None = None
    """The usage of a child run that stopped waiting for its provider; None in runs of this release."""
    until: float | None = None
    """When a child run that waits for its provider tries again; None for any other fault. The call remains open."""


@dataclass(frozen=True, slots=True)
class Judged(WorkMessage):
    """The actor's message that a guard has judged an artifact."""

    verdict: Verdict


RunMessage = Started | Generated | Faulted | Judged | ToolMessage | Control
"""A message to the machine of a run. For the start, each kind of run has its own subclass of `Started`. This message is
also the first event."""
