"""The price of the model that a run names."""

from collections.abc import Mapping
from typing import assert_never

from actors.config.model_spec import ModelSpec, Named, Replay, Rules, Scripted, Simulated
from runtime.core.cost import FREE, Price
from runtime.models.prices import find_price


def price_of(
    spec: ModelSpec, *, base_url: str | None = None, own: Mapping[str, Price] | None = None, at: float
) -> Price | None:
    """Return a model's price: zero for a model in this process, None where it is unknown."""
    match spec:
        case Rules() | Simulated() | Scripted() | Replay():
            return FREE
        case Named(name):
            return find_price(name, base_url=base_url, own=own, at=at)
        case _:
            assert_never(spec)
