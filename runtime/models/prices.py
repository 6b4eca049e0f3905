"""What a token costs: a user's own table first, then the price list that the program ships with."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, assert_never

from pydantic import Field

from runtime.events import Value
from runtime.models.address import OPENAI_URL
from runtime.models.spec import ModelSpec, Named, Replay, Rules, Scripted, Simulated

MICRO = 1_000_000
"""Micro-dollars in a dollar. Money is counted in whole ones, so that sums are exact."""

MTOK = 1_000_000
"""The tokens that price lists give prices for."""

PROMPT_TOKENS_MAX = 100_000
"""Price tiers that begin at more input tokens than this do not count: no prompt of this program is that long."""


def micro_limit(usd: float) -> int:
    """Return a limit in dollars as whole micro-dollars, rounded down; one is the least that a limit may be."""
    return max(1, int(usd * MICRO))


class Price(Value):
    """US dollars per token, and where the numbers come from.

    With tiers or times of day the dearest applies, so that a reservation is never too small.
    """

    input_per_token_usd: float = Field(ge=0, allow_inf_nan=False)
    output_per_token_usd: float = Field(ge=0, allow_inf_nan=False)
    source: str = ""

    @classmethod
    def per_mtok(cls, input_usd: float, output_usd: float, source: str) -> "Price":
        """Return the price that a list says, in dollars per million tokens."""
        return cls(input_per_token_usd=input_usd / MTOK, output_per_token_usd=output_usd / MTOK, source=source)

    def micro_usd(self, input_tokens: int, output_tokens: int) -> int:
        """Return the price of a call in whole micro-dollars, rounded up."""
        usd = input_tokens * self.input_per_token_usd + output_tokens * self.output_per_token_usd
        return math.ceil(round(usd * MICRO, 6))


FREE = Price(input_per_token_usd=0, output_per_token_usd=0, source="runs in this process")


def price_of(
    spec: ModelSpec, *, base_url: str | None = None, own: Mapping[str, Price] | None = None, at: float
) -> Price | None:
    """Return a model's price: zero for those that run in this process; None means unknown, which is never zero."""
    match spec:
        case Rules() | Simulated() | Scripted() | Replay():
            return FREE
        case Named(name):
            return find_price(name, base_url=base_url, own=own, at=at)
        case _:
            assert_never(spec)


def find_price(
    name: str, *, base_url: str | None = None, own: Mapping[str, Price] | None = None, at: float
) -> Price | None:
    """Return the price of a model at a server, or None if nobody knows it.

    `own` is the user's table by model name and goes first. `base_url` picks the provider (None: OpenAI), for the same
    name costs differently elsewhere and nothing at home. `at` (UTC seconds since 1970) is the day whose prices count;
    tiers above `PROMPT_TOKENS_MAX` do not. The list is genai-prices' bundled snapshot; nothing is fetched.
    """
    if own is not None and name in own:
        return own[name]
    # Lazy: the list takes tens of milliseconds to load, and most commands need no price.
    import genai_prices  # noqa: PLC0415

    day = datetime.fromtimestamp(at, UTC)
    nothing = genai_prices.Usage(input_tokens=0, output_tokens=0)
    try:
        found = genai_prices.calc_price(nothing, name, provider_api_url=base_url or OPENAI_URL)
    except LookupError:
        return None
    lists = [found.model.get_prices(day.replace(hour=half // 2, minute=half % 2 * 30)) for half in range(48)]
    inputs = [_dearest(prices.input_mtok) for prices in lists]
    outputs = [_dearest(prices.output_mtok) for prices in lists]
    into = max((price for price in inputs if price is not None), default=None)
    out = max((price for price in outputs if price is not None), default=None)
    if into is None or out is None:
        return None
    source = f"genai-prices {genai_prices.__version__}: {found.provider.id}/{found.model.id}"
    return Price.per_mtok(into, out, source)


def _dearest(price: Any) -> float | None:
    """Return a price per million tokens; of the tiers that count, the highest."""
    if price is None:
        return None
    tiers = getattr(price, "tiers", None)
    if tiers is None:
        return float(price)
    return float(max([price.base, *(tier.price for tier in tiers if tier.start <= PROMPT_TOKENS_MAX)]))
