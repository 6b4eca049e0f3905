"""Prices per token: the user's own table first, then the bundled price list."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from runtime.core.ledger import Price
from runtime.models.base_url import OPENAI_URL

PROMPT_TOKENS_MAX = 100_000
"""Price tiers that begin above this number of input tokens are ignored: no prompt is that long."""


def find_price(
    name: str, *, base_url: str | None = None, own: Mapping[str, Price] | None = None, at: float
) -> Price | None:
    """Return the price of a model at a server, or None if it is unknown.

    `own` is the user's table by model name and goes first. `base_url` selects the provider (None: OpenAI), since the
    same name has other prices elsewhere. `at` (UTC seconds since 1970) is the day whose prices count; tiers above
    `PROMPT_TOKENS_MAX` do not. The list is the snapshot bundled with genai-prices; nothing is fetched.
    """
    if own is not None and name in own:
        return own[name]
    # Lazy: the list takes tens of milliseconds to load, and most commands need no price.
    import genai_prices  # noqa: PLC0415

    day = datetime.fromtimestamp(at, UTC)
    nothing = genai_prices.Usage(input_tokens=0, output_tokens=0)
    try:
        entry = genai_prices.calc_price(nothing, name, provider_api_url=base_url or OPENAI_URL)
    except LookupError:
        return None
    lists = [entry.model.get_prices(day.replace(hour=half // 2, minute=half % 2 * 30)) for half in range(48)]
    inputs = [_dearest(prices.input_mtok) for prices in lists]
    outputs = [_dearest(prices.output_mtok) for prices in lists]
    into = max((price for price in inputs if price is not None), default=None)
    out = max((price for price in outputs if price is not None), default=None)
    if into is None or out is None:
        return None
    source = f"genai-prices {genai_prices.__version__}: {entry.provider.id}/{entry.model.id}"
    return Price.per_mtok(into, out, source)


def _dearest(price: Any) -> float | None:
    """Return a price per million tokens: the highest of the tiers that count."""
    if price is None:
        return None
    tiers = getattr(price, "tiers", None)
    if tiers is None:
        return float(price)
    return float(max([price.base, *(tier.price for tier in tiers if tier.start <= PROMPT_TOKENS_MAX)]))
