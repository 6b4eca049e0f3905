"""The question that a run asks at a limit, and the changes of limits that follow from its answers. Pure.

With `at_limit: ask`, a run that cannot pay for its next request asks a person before it ends. No request is made until
a person has raised the limit. An answer that raises the limit is followed by `SettingsChanged`, as if the person had
changed the limits of the run.

A run that waits for the next day of a daily budget asks too. No answer raises such a budget: its owner edits the
settings, and the answer `go on` makes the run try again.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from actors.run.calls import CallRequested
from actors.run.ending import Outcome, RunFinished, end_exhausted_run, exhausted_limit
from actors.run.ids import step_of
from actors.run.limits import duration_text, spec_of
from actors.run.questions import (
    GO_ON,
    MODEL_CHOICE,
    OTHER_MODEL,
    STOP,
    ClarificationRequested,
    ClarificationWithdrawn,
    LimitReached,
    Question,
    Status,
    new_id,
)
from actors.run.settings import SettingsChanged
from actors.run.state import RunState
from actors.run.tools import ToolRequested
from actors.run.waits import HOME_BUDGET
from actors.run.words import step_in_words
from actors.values.format import format_count, money
from actors.values.question_form import make_form
from runtime.core.ledger import COUNTED, MICRO, ZERO, Amount, Ledger, Limit, Limits, Price

STEP_SECONDS = 600
"""The assumed duration of a move whose time limit is not known, in seconds."""
_NO_LIMIT = 10**9
_DOUBLINGS_MAX = 10
DECISIONS_MAX = 8
"""The largest number of decisions that are simulated in a row to find the next request of a run."""


@dataclass(frozen=True, slots=True)
class NextMove:
    """The move that a run would make if it had no limits, and the highest cost of the move."""

    does: str = "the work that it has begun"
    """The move, in words that follow "go on with"."""
    reserve: Amount = ZERO
    """The highest cost of the move; zero if it is unknown."""
    seconds: float = STEP_SECONDS
    """The longest time that the move can take, in seconds."""
    moves: int = 2
    """The largest number of moves until the end of the run, at least 2. The number is a guess if `known` is False."""
    known: bool = False
    """Whether the kind of agent knows the number of remaining moves in the worst case."""


def without_limits(limits: Limits) -> Limits:
    """Return limits that a run cannot reach, in order to find the run's next move without limits."""
    return Limits(calls=_NO_LIMIT, **limits.model_dump(include={"patience_seconds", "stop_below"}))


def ask_or_end(
    run: RunState[Any],
    end: RunFinished,
    decide: Callable[[Limits], Any],
    next_move: Callable[[], NextMove],
    *,
    priced: bool,
) -> ClarificationRequested | RunFinished | None:
    """Return the next event of a run that ends at a limit: a question, the end, or None while a question is open.

    An end for another reason is returned unchanged. `decide` returns the decision that the run would make under other
    limits. `next_move` returns the move that the run would make without limits. `priced` says whether the model's price
    is known.
    """
    limit = exhausted_limit(end.why) if end.cause == "" else None
    if limit is None:
        return end
    if run.asks_at_limit:
        return None
    if run.ledger.limits.at_limit != "ask" or run.child:
        return end
    limits = run.ledger.limits
    move = next_move()
    least = _needed(run.ledger, limit, move)
    for _ in range(_DOUBLINGS_MAX):  # A search gives each branch a share of the calls, so one more call is too few.
        after = decide(raise_limit(limits, limit, least, run.now))
        if not (isinstance(after, RunFinished) and exhausted_limit(after.why) is limit):
            break
        least *= 2
    return _ask(run, limit, move, least=least, priced=priced)


def follow_answer(run: RunState[Any]) -> ClarificationWithdrawn | SettingsChanged | None:
    """Withdraw a question about a limit that has changed since, or change the settings after a person's answer."""
    for name, asked in run.questions.items():
        if asked.open and asked.request.reached is not None and name != run.limit_question:
            return ClarificationWithdrawn(question_id=name)
    if not run.limit_question:
        return None
    question = run.questions[run.limit_question]
    if question.status is not Status.ANSWERED or question.answer in (STOP, GO_ON):
        return None
    return settings_of(question, run.ledger, run.now)


def stopped_at(run: RunState[Any]) -> RunFinished | None:
    """Return the end of a run that a person has stopped at a limit; None if nobody has stopped it.

    If nobody answers a question about a daily budget, the run does not end, but waits for the next day.
    """
    question = run.at_limit
    if question is None or question.open or question.request.reached is None:
        return None
    if question.request.reached.limit is not None:
        return end_exhausted_run(question.request.reached.limit)
    if question.answer != STOP or HOME_BUDGET not in run.waits:
        return None
    why = run.waits[HOME_BUDGET].why
    return RunFinished(outcome=Outcome.BUDGET_EXHAUSTED, why=why, cause="home_budget")


def ask_about_day(
    run: RunState[Any], next_move: Callable[[], NextMove], *, priced: bool
) -> ClarificationRequested | ClarificationWithdrawn | None:
    """Ask a person how a run that waits for the next day should go on.

    Withdraw the question if the run no longer waits. The arguments have the same meanings as in `ask_or_end`.
    """
    wait, asked = run.waits.get(HOME_BUDGET), run.at_limit
    if run.parked or run.renewing:
        return None
    if wait is None:
        about_day = asked is not None and asked.open and not asked.request.of_run_limit
        return ClarificationWithdrawn(question_id=run.limit_question) if about_day else None
    if asked is not None or run.child or run.ledger.limits.at_limit != "ask":
        return None
    move = next_move()
    choices = {GO_ON: "The run tries again at once; first raise the budget in config.yaml."}
    if move.reserve.micro_usd:
        choices[MODEL_CHOICE] = "The run goes on with the model that you name, if the budget allows its price."
    choices[STOP] = "The run ends here; it can be resumed later."
    model = f"|^{OTHER_MODEL} *[^ ]" if MODEL_CHOICE in choices else ""
    used = f"{wait.why[:1].upper()}{wait.why[1:]}"
    form = make_form(
        f"{used}: how should the run go on with {move.does}{_cost_text(move, priced=priced)}?",
        about="Only the owner of the home can raise this budget, in config.yaml. The run makes no request before that.",
        otherwise="the run waits for the next day (UTC), which costs nothing.",
        choices=choices,
        schema={
            "type": "string",
            "pattern": f"^({GO_ON}|{STOP})${model}",
            "description": ", ".join(choices),
        },
    )
    return ClarificationRequested(
        question_id=new_id(run.questions),
        node="limit/home_budget",
        why="limit: home_budget",
        blocks=(),
        reached=LimitReached(limit=None, needs=move.reserve),
        **form.form,
    )


def addition_of(reached: LimitReached, answer: str) -> int | None:
    """Return the amount that an answer adds to the limit; None if it adds nothing.

    An answer that names another model adds the smallest amount. At a limit of money it adds nothing, because a cheaper
    model may need no more money.
    """
    if answer.startswith(OTHER_MODEL) and reached.limit not in (Limit.COST, None):
        return next(iter(reached.more.values()))
    return reached.more.get(answer)


def settings_of(question: Question, ledger: Ledger, now: float) -> SettingsChanged:
    """Return the change of settings that follows from an answer to a question at a limit."""
    reached, change = question.request.reached, question.change
    assert reached is not None, "only an answer to a question at a limit changes settings"
    added = addition_of(reached, question.answer)
    limits = None
    if reached.limit is not None and added is not None:
        limits = raise_limit(ledger.limits, reached.limit, added, now)
    price = change.get("price")
    return SettingsChanged(
        at=now,
        limits=limits,
        model=change.get("model"),
        price=None if price is None else Price.model_validate(price),
        call_seconds=change.get("call_seconds"),
        server=change.get("server", ""),
    )


def raise_limit(limits: Limits, limit: Limit, added: int, now: float) -> Limits:
    """Return the limits after one limit was raised. A new deadline counts from `now`."""
    before = now if limit is Limit.DEADLINE else getattr(limits, limit.key)
    return Limits(**{**dict(limits), limit.key: before + added})  # Checked, so that it is what a journal stores.


def _ask(run: RunState[Any], limit: Limit, move: NextMove, *, least: int, priced: bool) -> ClarificationRequested:
    most = _rounded(limit, least * max(2, move.moves))
    most_text = f"{move.moves} times the first amount, for the {move.moves} moves that may be left"
    if not move.known:
        most_text = "twice the first amount"
    more = {_more_text(limit, least): least, _more_text(limit, most): most}
    first, second = more
    same = "" if limit is Limit.COST else f" and {first}"
    choices = {
        first: "The run goes on; this is enough for the next move in the worst case.",
        second: f"The run goes on; this is {most_text}.",
        MODEL_CHOICE: f"The run goes on with the model that you name{same}.",
        STOP: "The run ends here; it can go on later with a higher limit.",
    }
    spent = _amount_text(run.ledger.used, priced=priced)
    form = make_form(
        f"{_used_text(run.ledger, limit)}: may it go on with {move.does}{_cost_text(move, priced=priced)}?",
        about=f"So far the run has spent {spent}. The run makes no request until you answer.",
        otherwise="the run ends here; it can go on later with a higher limit.",
        choices=choices,
        schema={
            "type": "string",
            "pattern": f"^({first}|{second}|{STOP})$|^{OTHER_MODEL} *[^ ]".replace(".", "[.]"),
            "description": f"{first}, {second}, {STOP}, or {OTHER_MODEL} and a name",
        },
    )
    return ClarificationRequested(
        question_id=new_id(run.questions),
        node=f"limit/{limit}",
        why=f"limit: {limit}",
        blocks=(),
        reached=LimitReached(limit=limit, more=more),
        **form.form,
    )


def _needed(ledger: Ledger, limit: Limit, move: NextMove) -> int:
    needed: float = move.seconds
    if limit in COUNTED:
        needed = ledger.committed_of(limit) + getattr(move.reserve, limit.key) - (limit.of(ledger.limits) or 0)
    return _rounded(limit, max(1, needed))


def _rounded(limit: Limit, amount: float) -> int:
    """Return an amount rounded up: calls to whole numbers, times to minutes, tokens and money to two digits."""
    if limit not in COUNTED:
        return 60 * math.ceil(amount / 60)
    whole = math.ceil(amount)
    digit = 10 ** max(0, len(str(whole)) - 2)
    return whole if limit is Limit.CALLS else digit * math.ceil(whole / digit)


def _more_text(limit: Limit, amount: int) -> str:
    spec = spec_of(limit)
    if limit is Limit.COST:
        return f"{amount / MICRO:.6f}".rstrip("0").rstrip(".") + " more dollars"
    if limit in COUNTED:
        return f"{amount} more {spec.noun}{'' if amount == 1 else 's'}"
    return f"{duration_text(amount)} more{spec.suffix}"


def _used_text(ledger: Ledger, limit: Limit) -> str:
    spec, most = spec_of(limit), limit.of(ledger.limits) or 0
    if limit in COUNTED:
        return f"The run has used {spec.number(ledger.committed_of(limit))} of its {spec.text(most)}"
    return spec.used.format(spec.number(most))


def _cost_text(move: NextMove, *, priced: bool) -> str:
    return f", for at most {_amount_text(move.reserve, priced=priced)}" if move.reserve != ZERO else ""


def _amount_text(amount: Amount, *, priced: bool) -> str:
    parts = [format_count(amount.calls, "call")]
    parts += [format_count(amount.tokens, "token")] if amount.tokens else []
    parts += [money(amount.micro_usd / MICRO)] if priced else []
    return ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + parts[-1]


def next_move(request: CallRequested | ToolRequested | None, seconds: float | None, calls_left: int | None) -> NextMove:
    """Return the next move of a run.

    `request` is the request that the run would make without limits; None if it is unknown.

    `seconds` is the time limit of the request. `calls_left` is the number of calls until the end, if it is known.
    """
    known = calls_left is not None
    if request is None:
        return NextMove(moves=calls_left or 2, known=known)
    moves = math.ceil((calls_left or 2) / max(1, request.reserve.calls))
    does = f"the step '{step_in_words(step_of(request.node))}'"
    return NextMove(does, request.reserve, STEP_SECONDS if seconds is None else seconds, moves, known)
