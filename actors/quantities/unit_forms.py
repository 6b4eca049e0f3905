"""The forms in which people write a unit: in full, without what is counted, and without what it is per. Pure.

Documents say "2,400 EUR per year" of a spend in EUR/customer/year, and "2,400 EUR" of an annual one.
"""

from collections.abc import Mapping

from actors.quantities.quantity import Quantity, Refusal
from actors.quantities.unit_text import UnitUnreadable, unit_names
from actors.quantities.units import UnitTable


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


def without_rates(unit: str) -> str:
    """Return a unit without what it is per, such as `EUR`."""
    return _written({name: power for name, power in _names(unit).items() if power > 0})


def convert(quantity: Quantity, form: str, unit: str, table: UnitTable) -> Quantity | Refusal:
    """Return a quantity that is written in a form of a unit as one in the unit, or why it is none."""
    found = table.convert(quantity, form)
    return found if isinstance(found, Refusal) else found.model_copy(update={"unit": unit})


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
