"""The forms in which people write a unit: in full, without what is counted, and without what it is per. Pure.

Documents say "2,400 EUR per year" of a spend in EUR/customer/year, and "2,400 EUR" of an annual one.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from actors.quantities.quantity import Refusal, RefusalCode
from actors.quantities.unit_text import UnitUnreadable, unit_names
from actors.quantities.units import DECLARED_MAX, UnitTable

_PER_WORDS = re.compile(r"\bper [^\W\d_]+(?: and [^\W\d_]+)?")
_WORD = re.compile(r"[^\W\d_]+")
_SHARES = frozenset({"percent", "%", "permille"})


def without_counted(unit: str, declared: Mapping[str, str]) -> str:
    """Return a unit without the units of a profile's own that nothing converts into, such as `EUR/year`."""
    return _written({name: power for name, power in _names(unit).items() if not _is_counted(name, declared)})


def short_forms(unit: str, declared: Mapping[str, str]) -> tuple[str, ...]:
    """Return the shorter forms of a unit: without what is counted and what it is per, then without all counted units.

    Of `request/second/instance`, the first is `request/second`. A form that says nothing is left out.
    """
    names = _names(unit)
    per = _written({name: power for name, power in names.items() if power > 0 or not _is_counted(name, declared)})
    return tuple(form for form in dict.fromkeys((per, without_counted(unit, declared))) if form and form != unit)


def with_words(declared: Mapping[str, str], words: Iterable[str]) -> dict[str, str]:
    """Return the units of a profile, with what a field's own words say that it is per: it counts one.

    A field that is called `visits per person` is per person, also where no unit `person` is declared.
    """
    units, table = dict(declared), UnitTable(declared)
    for text in words:
        for match in _PER_WORDS.finditer(text):
            for word in _WORD.findall(match[0])[1:]:
                if word.lower() != "and" and len(units) < DECLARED_MAX and table.problem(word) and word.islower():
                    units.setdefault(word, "1")
    return units


class Form(NamedTuple):
    """How a source writes a unit that is wanted."""

    unit: str
    """The unit as it is written; the wanted one, or what is left of it, where none is."""
    target: str
    """The wanted unit without what the source leaves out: `unit` converts into it."""
    left_out: tuple[str, ...] = ()
    """The units that the source leaves out of what the quantity is per."""
    rates: tuple[str, ...] = ()
    """The units that it is per and that the source states."""


def in_form(
    written: Sequence[str], wanted: str, given: str, table: UnitTable, declared: Mapping[str, str]
) -> "Form | Refusal":
    """Return the form of a wanted unit that a source writes, or why what it writes is none.

    What is counted may be left out, and what it is counted per. Other units that it is per may be left out only where
    the given unit, which a model or a profile says, has them. A number without a unit is a count or a plain number.
    """
    names = _names(wanted)
    short = without_counted(wanted, declared)
    forms = [wanted, *short_forms(wanted, declared)]
    if short != wanted and not short:
        forms.append("")
    said = bool(given) and any(table.same_kind(given, each) for each in (wanted, short))
    rates = [name for name, power in names.items() if power < 0]
    if said:
        for count in range(1, len(rates) + 1):
            for dropped in itertools.combinations(rates, count):
                shorter = _written({name: power for name, power in names.items() if name not in dropped})
                forms += [shorter, without_counted(shorter, declared)]
    for form in dict.fromkeys(forms):
        for unit in written or ("",):
            share = unit.startswith(("percent", "permille"))
            if (form in _SHARES and not unit) or (share and form != wanted):
                continue  # A bare number may be a percentage whose sign is missing; a percentage counts nothing.
            if table.same_kind(unit, form) or (form in _SHARES and _yearly_share(unit, table)):
                kept = _names(form)
                return Form(
                    unit.split("/")[0] if unit and not table.same_kind(unit, form) else unit,
                    form,
                    tuple(name for name in rates if name not in kept),
                    tuple(name for name in rates if name in kept),
                )
    shown = wanted or "a plain number"
    if not written:
        return Refusal(
            code=RefusalCode.NO_UNIT, message=f"the source writes no unit with the number; {shown} is wanted"
        )
    message = f"the source is in {' or '.join(written[:2])}, and {shown} is wanted"
    return Refusal(code=RefusalCode.WRONG_UNIT, message=message.replace("(", "").replace(")", ""))


def _yearly_share(unit: str, table: UnitTable) -> bool:
    """Tell whether a unit is a share per year, as interest is stated: `4.5 % p.a.`."""
    return unit.startswith(("percent/", "permille/")) and table.same_kind(unit, "1/year") and unit.endswith("/(year)")


def _names(unit: str) -> Mapping[str, int]:
    try:
        return unit_names(unit)
    except UnitUnreadable:
        return {}


def _is_counted(name: str, declared: Mapping[str, str]) -> bool:
    """Tell whether a name is a unit of the profile's own, in the singular or in the plural."""
    own = {each for each, meaning in declared.items() if not meaning.strip()}
    forms = (name, name.removesuffix("s"), name.removesuffix("es"), f"{name.removesuffix('ies')}y")
    return any(form in own for form in forms)


def _written(names: Mapping[str, int]) -> str:
    above = [_power(name, power) for name, power in names.items() if power > 0]
    below = [_power(name, -power) for name, power in names.items() if power < 0]
    if not below:
        return "*".join(above)
    return "/".join(["*".join(above) or "1", *below])


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}**{power}"
