"""What a run has used of each limit, as bars: spent, charged as unknown, reserved. Pure."""

from dataclasses import dataclass
from typing import Any

from actors.run.state import RunState
from actors.values.format import counted, money
from runtime.core.ledger import MICRO, Amount


@dataclass(frozen=True, slots=True)
class Bar:
    """One limit and what counts against it, in the unit of the limit."""

    name: str
    """The name of the limit: `calls`, `tokens`, `cost` or `active time`."""
    spent: float
    """What settled requests have used."""
    unknown: float
    """The charge for requests whose real cost is not known."""
    reserved: float
    """What open requests may use at most."""
    limit: float | None
    """The limit; None for none."""
    text: str
    """The same in words."""

    def share(self, part: float) -> float:
        """Return a part of the bar's length, from 0 to 100; without a limit the whole bar is what is committed."""
        whole = self.limit or (self.spent + self.unknown + self.reserved)
        return round(100 * min(1.0, part / whole), 2) if whole > 0 else 0.0

    @property
    def parts(self) -> tuple[tuple[str, float, float], ...]:
        """The parts of the bar: what each is, where it begins, and its length, in hundredths of the bar."""
        begin, found = 0.0, []
        for name, value in (("spent", self.spent), ("unknown", self.unknown), ("reserved", self.reserved)):
            length = min(self.share(value), 100 - begin)
            if length > 0:
                found.append((name, begin, length))
            begin += length
        return tuple(found)


def budget_bars(common: RunState[Any], *, price_known: bool) -> list[Bar]:
    """Return the bars of a run; that of money only where the price is known."""
    ledger, limits = common.ledger, common.ledger.limits
    open_amount = sum(ledger.reserved.values(), Amount())
    spent, unknown = ledger.spent, ledger.unknown
    bars = [
        _bar("calls", spent.calls, unknown.calls, open_amount.calls, limits.calls),
        _bar("tokens", spent.tokens, unknown.tokens, open_amount.tokens, limits.tokens),
    ]
    if price_known:
        cap = None if limits.micro_usd is None else limits.micro_usd / MICRO
        usd = (spent.micro_usd / MICRO, unknown.micro_usd / MICRO, open_amount.micro_usd / MICRO)
        text = _text([money(part) for part in usd], money(cap) if cap else "")
        bars.append(Bar("cost", usd[0], usd[1], usd[2], cap, text))
    active = f"{ledger.active:.0f} s"
    cap = limits.active_seconds
    text = f"{active} of {cap:,.0f} s" if cap else f"{active}, no limit"
    return [*bars, Bar("active time", ledger.active, 0.0, 0.0, cap, text)]


def _bar(name: str, spent: int, unknown: int, reserved: int, limit: int | None) -> Bar:
    text = _text(
        [f"{part:,}" for part in (spent, unknown, reserved)], counted(limit, name.removesuffix("s")) if limit else ""
    )
    return Bar(name, spent, unknown, reserved, limit, text)


def _text(parts: list[str], limit: str) -> str:
    spent, unknown, reserved = parts
    more = [f"{part} {name}" for part, name in ((unknown, "unknown"), (reserved, "reserved")) if part.strip("$0.,")]
    return f"{', '.join([f'{spent} spent', *more])}{f' of {limit}' if limit else ', no limit'}"
