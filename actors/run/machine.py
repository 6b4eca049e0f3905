"""The common base of the machines of all kinds. Each kind has a subclass, which makes the decisions. Pure.

The methods that a kind defines come first: abstract methods, and methods with a default. The methods of the protocol
`Machine` follow. A kind overrides at most two of them: `brief` if its actors need other input, and `decide` if its
rules need other arguments.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, assert_never, get_args

from actors.run import at_limit, calls, inbox, outage, parking, questions, tools, waits
from actors.run.calls import (
    C,
    CallFailed,
    CallReissued,
    CallRequested,
    Faulted,
    Generated,
    Judged,
    OpenCall,
    Received,
    ReplyFields,
    RunMessage,
    Settled,
    accept_reply,
    call_cost,
    reserve_fields,
)
from actors.run.ending import Outcome, RunFinished, end_exhausted_run
from actors.run.evolve import TIMED, CommonEvent, evolve_run, record_time
from actors.run.fork_rules import OF_ORIGIN
from actors.run.ids import visit_of
from actors.run.inbox import InboxEvent
from actors.run.near_limit import LimitNear, warn_near_limit, warn_of_other
from actors.run.open_question import Shown, question_json
from actors.run.outage import time_limit
from actors.run.parking import RunParked, RunResumed
from actors.run.questions import AboutQuestion, ClarificationRequested
from actors.run.reminders import add_reminders
from actors.run.result import status_row
from actors.run.rules import Rule, Scope
from actors.run.settings import SettingsChanged
from actors.run.state import NotStarted, RunState
from actors.run.waits import Started, WaitEnded, WaitRequested
from runtime.core.copies import changed
from runtime.core.events import make_storable
from runtime.core.ledger import Amount, Limit, Limits, Price
from runtime.core.machine import Refused, Summary, Work
from runtime.core.messages import Control, Crashed, LimitUsed, Mailed, Overdrawn, Parking, Resumed, Woken
from runtime.models.port import ModelRequest

if TYPE_CHECKING:
    from actors.prompting.render import Rendered
    from actors.values.model_settings import ModelSettings


ERROR_MAX = 500
"""If a bug ends a run, the run's reason quotes at most this number of characters of the bug's message."""

ControlEvent = InboxEvent | LimitNear | RunParked | RunResumed | WaitEnded | WaitRequested | RunFinished


def accept_control(run: RunState[C], message: Control) -> ControlEvent | None:
    """Return the event that follows from a message of the supervisor; None for a duplicate.

    A run with a final end accepts no message, except a takeover while one of its tools may still run.
    """
    if run.finished is not None:
        return _accept_after_end(run, run.finished, message)
    match message:
        case Woken():
            return waits.accept_woken(run.waits, message)
        case Resumed():
            return _resume_run(message)
        case Parking():
            return parking.accept_parking(run, message)
        case Crashed():
            why = make_storable(message.error[:ERROR_MAX])
            if message.halted:
                parked = RunParked(at=message.at, mono=message.mono, why=why, cause=message.halted)
                return None if run.parked else parked
            return RunFinished(outcome=Outcome.FAILED, why=why, cause="bug", at=message.at, mono=message.mono)
        case Mailed():
            return _accept_mail(run, message)
        case Overdrawn():
            return parking.accept_overdrawn(run, message)
        case LimitUsed():
            return warn_of_other(run, message)
        case _:
            assert_never(message)


def _accept_after_end(run: RunState[C], end: RunFinished, message: Control) -> ControlEvent | None:
    """Return the event of a message to a run that has ended. The run may go on if its end is not final."""
    match message:
        case Mailed() if not end.final:
            return _accept_mail(run, message)
        case Resumed() if run.tools or run.undoes_end(at_once=message.at_once):
            return _resume_run(message)
        case _:
            return None


def _accept_mail(run: RunState[C], message: Mailed) -> InboxEvent:
    return inbox.accept_mail(
        run.questions,
        run.messages,
        run.ledger,
        message,
        never_strict=run.never_strict,
        finished=run.finished is not None,
    )


def _resume_run(message: Resumed) -> RunResumed:
    return RunResumed(at=message.at, mono=message.mono, epoch=message.epoch, at_once=message.at_once)


def _accept_fault(run: RunState[C], message: Faulted) -> CallFailed | Settled | WaitRequested | None:
    """Return the event that follows from a fault of a call, a provider or a child run; None for a duplicate."""
    if message.request_id == waits.PROVIDER or message.until is not None:
        return outage.continue_outage(run, message) if run.finished is None else None
    return calls.accept_fault(run.calls, run.ledger, message)


MODEL = "model"
"""The address of the actor that asks the model."""


class MachineConfig(Protocol):
    """The part of a kind's configuration that its machine reads."""

    @property
    def price(self) -> Price | None:
        """The model's price; None if it is unknown, so that no cost is counted."""
        ...

    @property
    def question_expires_seconds(self) -> float | None:
        """The seconds after which an unanswered question expires; None if it never expires."""
        ...

    def with_settings(self, event: SettingsChanged) -> Any:
        """Return the configuration after a person changed settings."""
        ...


class BegunState(Protocol):
    """The part of a kind's state that its machine reads: a frozen dataclass with these two fields."""

    @property
    def run(self) -> RunState[Any]:
        """The part of the state that every kind has."""
        ...

    @property
    def config(self) -> MachineConfig:
        """The configuration, with the changes that people made."""
        ...


S = TypeVar("S", bound=BegunState)
E = TypeVar("E")


class CallPrompt(NamedTuple):
    """The texts that a call sends to a model, and its limits."""

    purpose: str
    """The purpose of the call: the name of a step, or another name that the kind defines."""
    text: "Rendered"
    """The system message and the user message."""
    output_tokens_max: int
    """The largest number of tokens in the reply."""
    timeout_seconds: float
    """The time limit of one try, in seconds."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema that the reply must fit; None if the reply is a text."""
    schema_bytes: int = 0
    """The length of the schema in a request, in bytes."""
    model: str = ""
    """The model to ask; empty for the run's own model."""
    own_price: Price | None = None
    """The price of `model` if it is not the run's model; None if the price is unknown."""
    settings: "ModelSettings | None" = None
    """The settings of the call; None for the provider's defaults."""
    material: Callable[[], Mapping[str, Any]] = dict
    """Returns the data from which the prompt was made, for models in this process."""


def _without_day(state: S) -> S:
    """Return the state of a run as if it did not wait for the next day of a daily budget."""
    run = state.run
    return changed(state, run=changed(run, waits=waits.remove_wait(run.waits, waits.HOME_BUDGET)))


def try_fields(
    state: BegunState, prompt: CallPrompt, node: str, try_number: int, *, call: str = "", reserve: Amount | None = None
) -> dict[str, Any]:
    """Return the fields of the request for a try of a call. The request reserves the highest possible cost.

    `call` is the call's name if it is not the node's name. `reserve` is the reservation for a request that no model
    answers.
    """
    if reserve is None:
        sent = prompt.text.byte_count + prompt.schema_bytes
        price = prompt.own_price if prompt.model else state.config.price
        reserve = call_cost(sent, prompt.output_tokens_max, price)
    return {
        "node": node,
        "try_number": try_number,
        "prompt_hash": prompt.text.ref,
        **reserve_fields(reserve),
        "timeout_seconds": time_limit(state.run, call or node, prompt.timeout_seconds),
    }


@cache
def _is_common(event_type: type) -> bool:
    return issubclass(event_type, get_args(CommonEvent))


@cache
def _is_timed(event_type: type) -> bool:
    return issubclass(event_type, TIMED)


class RunMachine(ABC, Generic[S, E]):
    """The base class of the machines of all kinds. A machine has no state: one value serves all runs.

    `S` is the type of the state of a run that has begun. `E` is the type of its events.
    """

    reissued: ClassVar[type[CallReissued]]
    """The type of the event that requests an open call of an earlier driver again."""

    # What a kind defines.

    @abstractmethod
    def begin(self, event: Any) -> S:
        """Return the state after the first event, which has the kind's own class."""

    @abstractmethod
    def apply(self, state: S, run: RunState[Any], event: E) -> S:
        """Return the state after an event.

        `state` is the state before the event, and `run` is the common part after the event. The method applies the
        kind's own events, and passes all other events to `common`. The method never decides and never fails.
        """

    @property
    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """Return the rules of the kind and the rules of every run, in the order in which they are tried."""

    @abstractmethod
    def next_try(self, state: S, request: Any) -> CallRequested | None:
        """Return the request for the next try of a call, even if it exceeds the budget; None if no try is needed."""

    @abstractmethod
    def prompt(self, state: S, request: Any) -> CallPrompt | None:
        """Return the prompt of a call; None if no model answers the call."""

    @abstractmethod
    def reply_event(self, state: S, request: Any, fields: ReplyFields) -> E:
        """Return the event of a reply to an open call, from its request and the fields that all replies have."""

    def address(self, request: Any) -> str:
        """Return the address of the actor for a request of a call or a judgement."""
        del request
        return MODEL

    def price(self, state: S, request_id: str) -> Price | None:
        """Return the price of the model that answers a request, even a withdrawn request; None if it is unknown."""
        del request_id
        return state.config.price

    def is_child(self, state: S, request: Any) -> bool:
        """Return whether a child run answers a request.

        A later driver continues the child run, and makes no new request.
        """
        del state, request
        return False

    def shows_messages(self, state: S, request: Any) -> bool:
        """Return whether the prompt of a request contains the user's notes and requirements."""
        del state, request
        return True

    def judgements(self, state: S) -> Mapping[str, Any]:
        """Return the open requests for verdicts of guards; the keys are the ids of the requests."""
        del state
        return {}

    def verdict_event(self, state: S, message: Judged) -> E | None:
        """Return the event of a guard's verdict; None if no judgement waits for this verdict."""
        del state, message
        return None

    def message_event(self, state: S, message: Mailed) -> E | None:
        """Return the event for a person's message of a type that only this kind has; None for any other message."""
        del state, message
        return None

    def end_event(self, end: RunFinished) -> RunFinished:
        """Return an end from outside as an event of the kind's own class."""
        return end

    def calls_ahead(self, state: S) -> int | None:
        """Return the largest number of calls until the run's end if no step is visited again; None if it is unknown."""
        del state
        return None

    def question_view(self, state: S) -> Shown:
        """Return the function that turns an open question into plain data."""
        del state
        return question_json

    # What a kind calls in its own methods.

    def common(self, state: S, run: RunState[Any], event: CommonEvent) -> S:
        """Return the state after an event that changes only the common part or the configuration."""
        if isinstance(event, SettingsChanged):
            return changed(state, run=run, config=state.config.with_settings(event))
        return changed(state, run=run)

    def reissue(self, state: S) -> CallReissued | RunFinished | None:
        """Request the calls of an earlier driver again, or end the run if the budget cannot pay for a call."""
        run = state.run
        for request_id, opened in run.calls.open.items():
            if opened.epoch == run.epoch or run.saving:
                continue
            if opened.epoch != OF_ORIGIN and self.is_child(state, opened.request):
                continue  # The new driver continues the child run.
            again = self.next_try(state, opened.request)
            if again is not None:
                short = run.ledger.shortfall(again.reserve, run.now)
                return end_exhausted_run(short) if short else self.reissued(replaces=request_id, again=again)
        return None

    def further_try(self, state: S) -> CallRequested | Limit | None:
        """Return the next try of a call whose pause is over, or the limit that forbids it; None if no pause is over."""
        run, short = state.run, None
        for tries in run.calls.tries.values():
            if tries.phase == "rested" and (again := self.next_try(state, tries.request)) is not None:
                short = run.ledger.shortfall(again.reserve, run.now)
                if short is None:
                    return again
        return short

    # The protocol of `runtime.core.machine.Machine`.

    def initial(self) -> S | NotStarted:
        """Return the state before the run starts."""
        return NotStarted()

    def accept(self, state: S | NotStarted, message: RunMessage) -> E | Refused | None:
        """Return the event for a message from outside; None for a message without effect."""
        event: Any = None
        if isinstance(state, NotStarted):
            if not isinstance(message, Started):
                return Refused("the run has not begun")
            event = message
        elif isinstance(message, Generated):
            event = self._accept_reply(state, message)
        elif isinstance(message, Judged):
            event = self.verdict_event(state, message) if state.run.finished is None else None
        elif isinstance(message, Faulted):
            event = _accept_fault(state.run, message)
        elif isinstance(message, tools.ToolMessage):
            event = tools.accept(state.run.tools, message)
        elif not isinstance(message, Started):
            event = self.message_event(state, message) if isinstance(message, Mailed) else None
            event = accept_control(state.run, message) if event is None else event
        if isinstance(event, RunFinished):
            event = self.end_event(event)
        fact: E | None = event
        return fact

    def _accept_reply(self, state: S, message: Generated) -> Any:
        run = state.run
        received = accept_reply(run.calls, run.ledger, message, self.price(state, message.request_id))
        if not isinstance(received, Received):
            return received
        if message.out_of_time and (limit := run.ledger.ended_by(message.at)) is not None:
            # The child run ended only because of the parent's deadline. So a new deadline reopens both runs.
            if run.ledger.limits.at_limit == "ask" and not run.child:  # The call stays open until a person answers.
                return waits.accept_woken(run.waits, Woken(waits.DEADLINE, message.at))
            return end_exhausted_run(limit)
        return self.reply_event(state, received.request, received.fields)

    def advance(self, state: S | NotStarted) -> E | None:
        """Return the next decision."""
        if isinstance(state, NotStarted):
            return None
        run = state.run
        event: Any = self._go_on(state) if run.finished is None else tools.end(run.tools, run.epoch, run.now)
        if run.reminders and isinstance(event, ClarificationRequested):
            event = add_reminders(event, run, state.config.question_expires_seconds)
        decision: E | None = event
        return decision

    def _go_on(self, state: S) -> Any:
        """Return the next decision of a run that has not ended.

        At a limit, the decision may be a question to a person.
        """
        run = state.run
        if run.warn_at and (warning := warn_near_limit(run)) is not None:
            return warning
        if run.questions:
            following = at_limit.follow_answer(run)
            if following is not None:
                return following
            if (end := at_limit.stopped_at(run)) is not None:
                return self._stop(state, end)
        event: Any = self.decide(state)
        if event is not None and not isinstance(event, RunFinished):
            return event
        priced = state.config.price is not None
        if event is None:
            about_day = run.waits or run.limit_question
            next_move = partial(self._next_move, state)
            return at_limit.ask_about_day(run, next_move, priced=priced) if about_day else None
        return at_limit.ask_or_end(
            run,
            event,
            partial(self._decide_under, state),
            partial(self._next_move, state),
            priced=priced,
        )

    def _stop(self, state: S, end: RunFinished) -> RunFinished:
        """Return the end of a run that a person has stopped at a limit. The run's rules may add a result to the end."""
        ledger, state = state.run.ledger, _without_day(state)
        spent = ledger.limits.model_copy(update={"calls": max(1, ledger.committed.calls)})
        event = self._decide_under(state, spent)
        if isinstance(event, RunFinished) and event.outcome == Outcome.BUDGET_EXHAUSTED:
            return event.model_copy(update={"why": end.why, "cause": end.cause})
        return event if isinstance(event, RunFinished) else self.end_event(end)

    def _decide_under(self, state: S, limits: Limits) -> Any:
        """Return the decision that would follow under other limits."""
        run = state.run
        return self.decide(changed(state, run=changed(run, ledger=changed(run.ledger, limits=limits))))

    def _next_move(self, state: S) -> at_limit.NextMove:
        """Return the run's next move without its limits, for the question at a limit."""
        calls_left, free = self.calls_ahead(state), at_limit.without_limits(state.run.ledger.limits)
        request: Any = None
        state = _without_day(state)
        for _ in range(at_limit.DECISIONS_MAX):
            event = self._decide_under(state, free)
            request = getattr(event, "again", event)
            if event is None or isinstance(request, CallRequested | tools.ToolRequested | RunFinished):
                break
            state = self.evolve(state, event)
        if not isinstance(request, CallRequested | tools.ToolRequested):
            return at_limit.next_move(None, None, calls_left)
        seconds = request.timeout_seconds
        if seconds is None and isinstance(request, CallRequested):
            prompt = self.prompt(state, request)
            seconds = None if prompt is None else prompt.timeout_seconds
        return at_limit.next_move(request, seconds, calls_left)

    def decide(self, state: S) -> Any:
        """Return the event of the first rule that returns an event; None if no rule does."""
        run = state.run
        for common, function in self._table:
            event = function(run if common else state)
            if event is not None:
                return event
        return None

    @cached_property
    def _table(self) -> tuple[tuple[bool, Any], ...]:
        return tuple((rule.scope is Scope.COMMON, rule.function) for rule in self.rules)

    def evolve(self, state: S | NotStarted, event: E) -> S:
        """Return the state after the event, with its time and the active time updated."""
        if isinstance(state, NotStarted):
            return self.begin(event)
        run = state.run
        fact: Any = event
        event_type: type = type(fact)
        if _is_timed(event_type):
            run = record_time(run, fact, working=self.working(state))
        if _is_common(event_type):
            if run.messages and isinstance(fact, CallRequested | CallReissued):
                request = fact.again if isinstance(fact, CallReissued) else fact
                if self.shows_messages(state, request):
                    run = changed(run, messages=inbox.mark_seen(run.messages))
            run = evolve_run(run, fact)
            if (
                run.questions
                and isinstance(fact, AboutQuestion)
                and run.questions[fact.question_id].request.reached is not None
            ):
                return self.common(state, run, fact)  # The kind knows nothing of a question about a limit.
        return self.apply(state, run, event)

    def working(self, state: S) -> bool:
        """Return whether work of a model, a tool or a guard is open, so that the time counts as active time."""
        run = state.run
        open_calls = run.calls.open.keys() - run.held if run.waits else run.calls.open
        if open_calls and run.limit_question and run.asks_at_limit:
            open_calls = {name for name in open_calls if not self.is_child(state, run.calls.open[name].request)}
        return bool(open_calls or self.judgements(state) or (run.tools and tools.busy(run.tools)))

    def outstanding(self, state: S | NotStarted) -> Mapping[str, Work]:
        """Return the open requests, as work for models, guards, tools, the clock and the user."""
        run = state.run
        if isinstance(state, NotStarted) or run.finished is not None:
            return tools.work_of(run.tools, run.epoch)
        work = {
            name: Work(name, self.address(opened.request), opened.request)
            for name, opened in run.calls.open.items()
            if self._is_carried_out(state, name, opened)
        }
        for name, request in self.judgements(state).items():
            work[name] = Work(name, self.address(request), request, repeatable=True, judges=True)
        if run.tools:
            work |= tools.work_of(run.tools, run.epoch)
        if run.waits:
            work |= waits.work_of(run.waits)
        if run.questions:
            work |= questions.work_of(run.questions)
        return work

    def brief(self, state: S | NotStarted, work: Work) -> Any:
        """Return the input for the work's actor: a `ModelRequest` for a call, or else the request itself."""
        request = work.request
        if not isinstance(request, CallRequested):
            return request
        assert not isinstance(state, NotStarted)
        prompt = self.prompt(state, request)
        assert prompt is not None, "a call that no model answers needs its own `brief`"
        return ModelRequest(
            request_id=request.request_id,
            purpose=prompt.purpose,
            system=prompt.text.system,
            user=prompt.text.user,
            repeated=prompt.text.repeated,
            visit=visit_of(request.request_id),
            timeout_seconds=request.timeout_seconds or prompt.timeout_seconds,
            output_tokens_max=prompt.output_tokens_max,
            schema=prompt.schema,
            schema_name=prompt.purpose,
            material=prompt.material(),
            run=state.run.run_id,
            fields={} if prompt.settings is None else prompt.settings.body,
            headers={} if prompt.settings is None else prompt.settings.extra_headers,
            context_window=None if prompt.settings is None else prompt.settings.context_window,
        )

    def summary(self, state: S | NotStarted) -> Summary:
        """Return the run's status row."""
        if isinstance(state, NotStarted):
            return Summary("running")
        working = bool(tools.busy(state.run.tools) or self.judgements(state))
        open_calls = state.run.calls.open.items()
        carried_out = [name for name, opened in open_calls if self._is_carried_out(state, name, opened)]
        return status_row(state.run, carried_out, working=working, shown=self.question_view(state))

    def _is_carried_out(self, state: S, name: str, opened: OpenCall[Any]) -> bool:
        """Return whether an actor is working on an open call.

        A call of an earlier driver has no actor. The call waits until it is requested again or dropped. For example, it
        waits until the home's budget allows a new request. A child run works on its own, unless it waits for its
        provider, or a person is asked whether the parent run goes on.
        """
        run = state.run
        if run.asks_at_limit and self.is_child(state, opened.request):
            return False
        if run.waits and name in run.held:
            return False
        return opened.epoch != OF_ORIGIN and (opened.epoch == run.epoch or self.is_child(state, opened.request))
