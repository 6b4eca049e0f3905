"""The ledger: the limits of a run, its reserved, spent and unknown amounts, and the price of a call. Pure."""

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from runtime.core.copies import changed, without
from runtime.core.events import Seconds, Value

MICRO = 1_000_000
"""The number of micro-dollars in a dollar. Money is counted in whole micro-dollars, so that sums are exact."""

MTOK = 1_000_000
"""The number of tokens for which price lists state a price."""


class Usage(Value):
    """The tokens of one call, as the provider reports them."""

    input_tokens: int = 0
    """The tokens of the prompt, including tokens from the provider's prompt cache."""
    output_tokens: int = 0
    """The tokens that the model wrote, including its reasoning."""
    cache_read_tokens: int = Field(default=0, exclude_if=operator.not_)
    cache_write_tokens: int = Field(default=0, exclude_if=operator.not_)
    cache_write_1h_tokens: int = Field(default=0, exclude_if=operator.not_)
    """The part of `cache_write_tokens` that is kept for an hour, which costs more."""
    reasoning_tokens: int = Field(default=0, exclude_if=operator.not_)
    contradictory: bool = Field(default=False, exclude_if=operator.not_)
    """Whether the provider's numbers contradict each other. If so, the call is charged at the highest rates of the
    model.
    """

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


def micro_limit(usd: float) -> int:
    """Return a limit in dollars as whole micro-dollars, rounded down, but at least 1."""
    return max(1, int(usd * MICRO))


Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A price in US dollars for one token or for one request."""


class TokenRates(Value):
    """US dollars per token of each kind.

    If a kind has no rate of its own, the rate of the kind that includes it applies, such as input for cache reads.
    """

    input_per_token_usd: Rate
    output_per_token_usd: Rate
    cache_read_per_token_usd: Rate | None = None
    cache_write_per_token_usd: Rate | None = None
    cache_write_1h_per_token_usd: Rate | None = None
    reasoning_per_token_usd: Rate | None = None

    def usd(self, usage: Usage) -> float:
        """Return the dollars for the tokens of a call."""
        into, out = self.input_per_token_usd, self.output_per_token_usd
        read, write = _rate_or(self.cache_read_per_token_usd, into), _rate_or(self.cache_write_per_token_usd, into)
        write_1h = _rate_or(self.cache_write_1h_per_token_usd, write)
        thought = _rate_or(self.reasoning_per_token_usd, out)
        return (
            (usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens) * into
            + usage.cache_read_tokens * read
            + (usage.cache_write_tokens - usage.cache_write_1h_tokens) * write
            + usage.cache_write_1h_tokens * write_1h
            + (usage.output_tokens - usage.reasoning_tokens) * out
            + usage.reasoning_tokens * thought
        )

    def usd_at_most(self, input_tokens: int, output_tokens: int) -> float:
        """Return the dollars for the tokens of a call at the highest rates for input and output."""
        rates = (self.cache_read_per_token_usd, self.cache_write_per_token_usd, self.cache_write_1h_per_token_usd)
        into = max(self.input_per_token_usd, *(_rate_or(rate, 0) for rate in rates))
        return input_tokens * into + output_tokens * max(
            self.output_per_token_usd, _rate_or(self.reasoning_per_token_usd, 0)
        )


class PriceTier(TokenRates):
    """The rates that apply to all tokens of a call if its prompt has more than `above` tokens."""

    above: int = Field(ge=0)


class Price(TokenRates):
    """The price of a model's calls, and the source of the numbers.

    If a rate depends on the time of day, the highest rate is used, so that a reservation is never too small.
    """

    request_usd: Rate = 0.0
    tiers: tuple[PriceTier, ...] = ()
    """The rates for longer prompts, sorted by `above`."""
    source: str = ""
    """The source of the numbers, such as the name of a price list; may be empty."""

    @classmethod
    def per_mtok(
        cls,
        input_usd: float,
        output_usd: float,
        source: str,
        *,
        cache_read_usd: float | None = None,
        cache_write_usd: float | None = None,
    ) -> "Price":
        """Return a price, given dollars per million tokens, the unit of price lists."""
        return cls(
            input_per_token_usd=input_usd / MTOK,
            output_per_token_usd=output_usd / MTOK,
            cache_read_per_token_usd=None if cache_read_usd is None else cache_read_usd / MTOK,
            cache_write_per_token_usd=None if cache_write_usd is None else cache_write_usd / MTOK,
            source=source,
        )

    @model_serializer(mode="wrap")
    def _without_defaults(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Serialize the price without the rates that are None or 0, except for the base rates."""
        plain: dict[str, Any] = serialize(self)
        return {key: value for key, value in plain.items() if value or key in _BASE}

    def micro_usd(self, usage: Usage) -> int:
        """Return the cost of a call in whole micro-dollars, rounded up.

        Contradictory usage is charged at the highest rates.
        """
        if usage.contradictory:
            return self.micro_usd_at_most(usage.input_tokens, usage.output_tokens)
        rates: TokenRates = self
        for tier in self.tiers:
            if usage.input_tokens > tier.above:
                rates = tier
        return _micro(rates.usd(usage) + self.request_usd)

    def cache_saving_usd(self, cached_tokens: int) -> float:
        """Return the dollars saved because the provider's cache had these tokens, at the rates for short prompts."""
        return cached_tokens * (
            self.input_per_token_usd - _rate_or(self.cache_read_per_token_usd, self.input_per_token_usd)
        )

    def micro_usd_at_most(self, input_tokens: int, output_tokens: int) -> int:
        """Return the highest cost of a call with at most these numbers of tokens, in whole micro-dollars.

        All input may be written into the cache, and all output may be reasoning. Rates for shorter prompts may be
        higher, so the rates of all tiers that these input tokens can reach are compared.
        """
        reached = [tier for tier in self.tiers if input_tokens > tier.above]
        return _micro(
            max(rates.usd_at_most(input_tokens, output_tokens) for rates in (self, *reached)) + self.request_usd
        )


_BASE = frozenset({"input_per_token_usd", "output_per_token_usd", "source"})


def _rate_or(rate: float | None, otherwise: float) -> float:
    return otherwise if rate is None else rate


def _micro(usd: float) -> int:
    return math.ceil(round(usd * MICRO, 6))


FREE = Price.model_construct(input_per_token_usd=0, output_per_token_usd=0, source="runs in this process")
"""The price of a model that costs nothing. It is not validated, because validation would build a schema at import."""


class Limit(StrEnum):
    """The limits that a run can reach, in the order in which they are checked.

    Their names are in `actors.run.limits`.
    """

    CALLS = "calls"
    TOKENS = "tokens"
    COST = "cost"
    ACTIVE_TIME = "active_time"
    DEADLINE = "deadline"

    @property
    def key(self) -> str:
        """The name of this limit's field in `Limits`."""
        return {"cost": "micro_usd", "active_time": "active_seconds"}.get(self, self.value)

    def of(self, limits: "Limits") -> float | None:
        """Return the value of this limit; None if it is not set."""
        value: float | None = getattr(limits, self.key)
        return value


@dataclass(frozen=True, slots=True)
class Amount:
    """Calls, tokens (input and output together) and micro-dollars."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # As for the events that hold amounts.

    calls: int = 0
    tokens: int = 0
    micro_usd: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.micro_usd + other.micro_usd)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.micro_usd - other.micro_usd)


ZERO = Amount()
COUNTED = tuple(limit for limit in Limit if limit.key in Amount.__dataclass_fields__)
"""The limits from which a request reserves an amount before it is sent. `Amount` and `Limits` have a field with the
name of each of these limits."""
_KEYS_OF_COUNTED = tuple((limit, limit.key) for limit in COUNTED)


AtLimit = Literal["ask", "stop"]


class Limits(Value):
    """The limits of a run; None means no limit."""

    calls: int = Field(default=30, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    micro_usd: int | None = Field(default=None, ge=1)
    """The largest cost, in micro-dollars."""
    active_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The largest number of seconds in which the run has open work. The time in which a run waits for people does not
    count.
    """
    deadline: Seconds | None = Field(default=None, allow_inf_nan=False)
    """The time after which the run requests nothing new (UTC seconds since 1970)."""
    patience_seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The longest wait for a provider that is down, in seconds; None means `actors.run.outage.PATIENCE_SECONDS`."""
    stop_below: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    """The lowest chance of success per call at which the run makes a move; None if the run's policy does not compare
    moves.
    """
    at_limit: AtLimit | None = None
    """What the run does at a limit: ask a person how to continue, or end. None (nobody chose) means `stop`."""

    @model_serializer(mode="wrap")
    def _without_defaults(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Serialize the limits without the newer fields that are None, because earlier releases do not know them."""
        plain: dict[str, Any] = serialize(self)
        for key in ("patience_seconds", "stop_below", "at_limit"):
            if plain.get(key) is None:
                plain.pop(key, None)
        return plain


@dataclass(frozen=True)
class Ledger:
    """The limits of one run, and the amounts that it has reserved and spent."""

    limits: Limits
    spent: Amount = ZERO
    """The amount that settled requests have used."""
    unknown: Amount = ZERO
    """The charge for requests whose real cost is not known."""
    reserved: Mapping[str, Amount] = field(default_factory=dict)
    """The reservations of open requests, by request id."""
    forfeited: Mapping[str, Amount] = field(default_factory=dict)
    """The part of `unknown` for withdrawn requests that may still be answered, by request id."""
    cached_tokens: int = 0
    """The input tokens that the provider read from its prompt cache."""
    active: float = 0.0
    """The seconds in which the run had open work, up to the time of the last message."""

    @property
    def used(self) -> Amount:
        """The spent and unknown amounts together."""
        return self.spent + self.unknown

    @property
    def committed(self) -> Amount:
        """The spent, unknown and reserved amounts together, which count against the limits."""
        return sum(self.reserved.values(), self.used)

    @property
    def calls_left(self) -> int:
        """The number of calls that may still be reserved."""
        reserved = sum(amount.calls for amount in self.reserved.values())
        return self.limits.calls - self.spent.calls - self.unknown.calls - reserved

    def committed_of(self, limit: Limit) -> float:
        """Return the amount that counts against a limit: a part of `committed`, or the active seconds."""
        amount: float = getattr(self.committed, limit.key) if limit in COUNTED else self.active
        return amount

    @property
    def active_left(self) -> float | None:
        """The active seconds left, or None without a limit."""
        limit = self.limits.active_seconds
        return None if limit is None else max(0.0, limit - self.active)

    @property
    def ends_at(self) -> float | None:
        """The time at which a limit ends the run, in UTC seconds since 1970; None if no limit depends on the time."""
        return self.limits.deadline

    def ended_by(self, now: float) -> Limit | None:
        """Return the limit that has ended the run, if `now` is not before `ends_at`; otherwise None."""
        return None if self.ends_at is None or now < self.ends_at else Limit.DEADLINE

    def shortfall(self, amount: Amount, now: float) -> Limit | None:
        """Return the first limit that would be exceeded if `amount` were reserved at `now`."""
        limits, committed = self.limits, self.committed
        for limit, key in _KEYS_OF_COUNTED:
            most = getattr(limits, key)
            if most is not None and getattr(committed, key) + getattr(amount, key) > most:
                return limit
        if self.active_left == 0.0:
            return Limit.ACTIVE_TIME
        return self.ended_by(now)

    def reserve(self, request: str, amount: Amount) -> "Ledger":
        """Return the ledger with a reservation added."""
        return changed(self, reserved={**self.reserved, request: amount})

    def settle(self, request: str, used: Amount) -> "Ledger":
        """Return the ledger with an open or forfeited reservation replaced by the real usage."""
        if request in self.forfeited:
            return changed(
                self,
                unknown=self.unknown - self.forfeited[request],
                forfeited=without(self.forfeited, (request,)),
                spent=self.spent + used,
            )
        return changed(self, reserved=without(self.reserved, (request,)), spent=self.spent + used)

    def refund(self, request: str) -> "Ledger":
        """Return the ledger without a reservation whose request certainly cost nothing."""
        return changed(self, reserved=without(self.reserved, (request,)))

    def forfeit(self, request: str) -> "Ledger":
        """Return the ledger with a reservation moved to `unknown`. A late reply may still settle it."""
        amount = self.reserved.get(request)
        if amount is None:
            return self
        return changed(
            self,
            reserved=without(self.reserved, (request,)),
            unknown=self.unknown + amount,
            forfeited={**self.forfeited, request: amount},
        )

    def restore(self, request: str) -> "Ledger":
        """Return the ledger with a forfeited reservation moved back to `reserved`, because the run continues."""
        amount = self.forfeited.get(request)
        if amount is None:
            return self
        return changed(
            self,
            unknown=self.unknown - amount,
            forfeited=without(self.forfeited, (request,)),
            reserved={**self.reserved, request: amount},
        )

    def add_work(self, seconds: float) -> "Ledger":
        """Return the ledger with more seconds of active time."""
        return changed(self, active=self.active + seconds)


def cost_of_call(usage: Usage | None, reserved: Amount, price: Price | None) -> Amount:
    """Return the cost of a completed call from its reported usage. Without valid usage, return the reservation."""
    if usage is None or usage.input_tokens < 0 or usage.output_tokens < 0:
        return reserved  # Negative usage would lower what the run has spent.
    cost = 0 if price is None else price.micro_usd(usage)
    return Amount(calls=reserved.calls, tokens=usage.tokens, micro_usd=cost)
