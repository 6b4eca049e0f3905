"""Random usages of random models: reported by a provider, read by its client, and priced.

They are compared with what was reported, and with the price list's own function.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import genai_prices
from genai_prices.data_snapshot import get_snapshot

from runtime.core.ledger import MICRO, Price, Usage
from runtime.models.answer_reader import AnswerReader
from runtime.models.completion import CompletionReader
from runtime.models.messages import MessageReader
from runtime.models.port import Fault, Reply
from runtime.models.prices import price_in_list
from runtime.models.responses import ResponseReader
from tests.support import responses_api

AT = 1_790_000_000.0
ROUNDING = Decimal("1.000001")
"""In micro-dollars: a cost is rounded up to a whole one."""


@dataclass
class Comparison:
    usages: int = 0
    models: int = 0
    dearer_by_hour: int = 0
    """Usages that cost more here, since the model's price changes with the hour."""
    misread: list[Any] = field(default_factory=list)
    under_reserved: list[Any] = field(default_factory=list)
    different: list[Any] = field(default_factory=list)


def compare_with_list(rng: random.Random, count: int) -> Comparison:
    """Price `count` random usages over all models of the list that have a price of text."""
    day = datetime.fromtimestamp(AT, UTC)
    priced = [
        (provider, model, price)
        for provider in get_snapshot().providers
        for model in provider.models
        if (price := price_in_list(provider.id, model, AT)) is not None
    ]
    counted = Comparison(usages=count, models=len(priced))
    for _ in range(count):
        provider, model, price = rng.choice(priced)
        reader, report = rng.choice(CLIENTS)
        usage, sent, output_max = random_usage(rng, hours=reader is not ResponseReader)
        reply = read(reader, report(usage))
        if not isinstance(reply, Reply) or reply.usage != usage:
            counted.misread.append((reader.called, usage, reply))
        listed = model.get_prices(day).calc_price(listed_usage(usage))["total_price"] * MICRO
        ours, about = price.micro_usd(usage), (provider.id, model.id, usage)
        if ours > price.micro_usd_at_most(sent, output_max) or listed > price.micro_usd_at_most(sent, output_max):
            counted.under_reserved.append(about)
        if not 0 <= ours - listed + Decimal("0.000001") < ROUNDING:
            if ours > listed and changes_by_hour(model, price):
                counted.dearer_by_hour += 1
            else:
                counted.different.append((*about, ours, listed))
    return counted


def read(reader: type[AnswerReader], answer: dict[str, Any]) -> Reply | Fault:
    reading = reader(asked="m", mode="text", bytes_max=1000)
    reading.feed(json.dumps(answer).encode())
    return reading.result()


def as_completion(usage: Usage) -> dict[str, Any]:
    """Return a chat completion that reports a usage: cached and reasoning tokens are parts of the totals."""
    reported = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "cache_creation": {"ephemeral_1h_input_tokens": usage.cache_write_1h_tokens},
    }
    return {"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}], "usage": reported}


def as_response(usage: Usage) -> dict[str, Any]:
    """Return the same as a response of OpenAI's Responses API."""
    reported = responses_api.usage(
        usage.input_tokens,
        usage.output_tokens,
        cached=usage.cache_read_tokens,
        written=usage.cache_write_tokens,
        reasoning=usage.reasoning_tokens,
    )
    return responses_api.response(responses_api.message(responses_api.text("{}")), usage=reported)


def as_message(usage: Usage) -> dict[str, Any]:
    """Return the same as a message of Anthropic: cached tokens are counted beside the others."""
    reported = {
        "input_tokens": usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_creation": {"ephemeral_1h_input_tokens": usage.cache_write_1h_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
    }
    return {"content": [{"type": "text", "text": "{}"}], "stop_reason": "end_turn", "usage": reported}


CLIENTS: list[tuple[type[AnswerReader], Callable[[Usage], dict[str, Any]]]] = [
    (CompletionReader, as_completion),
    (ResponseReader, as_response),
    (MessageReader, as_message),
]


def random_usage(rng: random.Random, *, hours: bool) -> tuple[Usage, int, int]:
    """Return a usage, and the bytes and the output limit of a request that can lead to it.

    `hours` says whether parts of the prompt may be cached for an hour.
    """
    tokens = int(10 ** rng.uniform(0, 6))
    output = int(10 ** rng.uniform(0, 5))
    parts = sorted(rng.randint(0, tokens) for _ in range(2)) if rng.random() < 0.7 else [0, 0]
    write = parts[1] - parts[0]
    usage = Usage(
        input_tokens=tokens,
        output_tokens=output,
        cache_read_tokens=parts[0],
        cache_write_tokens=write,
        cache_write_1h_tokens=rng.randint(0, write) if hours and rng.random() < 0.5 else 0,
        reasoning_tokens=rng.randint(0, output) if rng.random() < 0.5 else 0,
    )
    return usage, int(tokens * rng.uniform(1, 5)), output + rng.randint(0, 1000)


def listed_usage(usage: Usage) -> genai_prices.Usage:
    """Return a usage as the list's function takes it."""
    return genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cache_write_1h_tokens=usage.cache_write_1h_tokens,
        output_reasoning_tokens=usage.reasoning_tokens,
    )


def changes_by_hour(model: Any, price: Price) -> bool:
    """Tell whether a model has other prices at other hours of the day."""
    day = datetime.fromtimestamp(AT, UTC)
    assert price.source
    return len({id(model.get_prices(day.replace(hour=hour, minute=30))) for hour in range(24)}) > 1
