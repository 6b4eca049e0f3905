"""Finds the price of a model per token: first in the user's own table, then in the bundled price list."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from runtime.core.ledger import MTOK, Price, PriceTier
from runtime.models.providers import OPENAI_URL


def find_price(
    name: str, *, base_url: str | None = None, own: Mapping[str, Price] | None = None, at: float
) -> Price | None:
    """Return the price of a model at a server; None if it is unknown.

    `own` is the user's own table, by model name; it takes precedence over the bundled list. `base_url` selects the
    provider, because prices differ between providers; None means OpenAI. `at` (UTC seconds since 1970) selects the day
    of the prices. If prices change with the hour, the highest price is used. The bundled list is that of the package
    genai-prices; nothing is downloaded.
    """
    if own is not None and name in own:
        return own[name]
    # Lazy: the list takes tens of milliseconds to load, and most commands need no price.
    import genai_prices  # noqa: PLC0415

    nothing = genai_prices.Usage(input_tokens=0, output_tokens=0)
    try:
        entry = genai_prices.calc_price(nothing, name, provider_api_url=base_url or OPENAI_URL)
    except LookupError:
        return None
    return price_in_list(entry.provider.id, entry.model, at)


_SEARCHING = re.compile(r"(?:^|[-/:])(?:deep-research|sonar|search|online)(?:[-:]|$)")
"""A pattern for the names of models that search the web without being asked, and whose provider charges for each
search."""


def price_in_list(provider: str, model: Any, at: float) -> Price | None:
    """Return the price of a listed model on a day; None if a call can cost more than its tokens.

    A call can cost more if the model is not priced by tokens. It can also cost more if the model searches the web
    without a request for it, unless the list has a price per request.
    """
    day = datetime.fromtimestamp(at, UTC)
    hours = [model.get_prices(day.replace(hour=half // 2, minute=half % 2 * 30)) for half in range(48)]
    lists = list({id(prices): prices for prices in hours}.values())
    if any(prices.input_mtok is None or prices.output_mtok is None for prices in lists):
        return None
    if _SEARCHING.search(model.id) and not all(prices.requests_kcount for prices in lists):
        return None
    import genai_prices  # noqa: PLC0415 -- as above

    source = f"genai-prices {genai_prices.__version__}: {provider}/{model.id}"
    starts = sorted({tier.start for prices in lists for name in _RATES for tier in _tiers(prices, name)})
    return Price(
        **_rates(lists, 0),
        request_usd=max(float(prices.requests_kcount or 0) / 1000 for prices in lists),
        tiers=tuple(PriceTier(**_rates(lists, start + 1), above=start) for start in starts),
        source=source,
    )


_RATES = {
    "input": None,
    "output": None,
    "cache_read": "input",
    "cache_write": "input",
    "cache_write_1h": "cache_write",
    "reasoning": "output",
}
"""For each kind of token of a call: the kind whose price is used if a price list has no price for it. None means that
no other price is used."""
_NAMES = {"reasoning": "output_reasoning"}


def _tiers(prices: Any, kind: str) -> tuple[Any, ...]:
    return tuple(getattr(getattr(prices, f"{_NAMES.get(kind, kind)}_mtok"), "tiers", ()))


def _rates(lists: list[Any], input_tokens: int) -> dict[str, Any]:
    """Return the highest rate of each kind of token in `lists`, for a prompt with this number of tokens."""
    kinds = [kind for kind in _RATES if any(_own_rate(prices, kind, input_tokens) is not None for prices in lists)]
    return {
        f"{kind}_per_token_usd": max(_rate(prices, kind, input_tokens) for prices in lists) / MTOK for kind in kinds
    }


def _rate(prices: Any, kind: str | None, input_tokens: int) -> float:
    rate = None
    while rate is None and kind is not None:
        rate, kind = _own_rate(prices, kind, input_tokens), _RATES[kind]
    return rate or 0.0


def _own_rate(prices: Any, kind: str, input_tokens: int) -> float | None:
    price = getattr(prices, f"{_NAMES.get(kind, kind)}_mtok")
    if price is None or not hasattr(price, "tiers"):
        return None if price is None else float(price)
    return float(next((tier.price for tier in reversed(price.tiers) if input_tokens > tier.start), price.base))
