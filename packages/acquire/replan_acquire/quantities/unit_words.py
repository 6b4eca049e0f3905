"""Words for units in English, German, French, Spanish and Portuguese, in addition to the names of pint.

A word may mean a multiple of a unit: for example, a quarter is three months.
"""

import itertools
import re
from collections.abc import Mapping
from typing import NamedTuple

from replan_acquire.quantities.units import CODES, UnitTable, UnitUnreadable, is_written_name


class UnitTerm(NamedTuple):
    """The meaning of a word in a text, which is `factor` times `unit`. The word ends at the offset `end`."""

    end: int
    factor: float
    unit: str


_TIMES: Mapping[str, str] = {
    "second": "second seconds sec secs s Sekunde Sekunden seconde secondes segundo segundos",
    "minute": "minute minutes min Minute Minuten minuto minutos",
    "hour": "hour hours hr hrs h Stunde Stunden heure heures hora horas",
    "day": "day days d Tag Tage Tagen jour jours día días dia dias",
    "week": "week weeks wk Woche Wochen semaine semaines semana semanas",
    "month": "month months mo Monat Monate Monaten mois mes meses mês",
    "3 month": "quarter quarters Quartal Quartale Quartalen trimestre trimestres",
    "year": "year years yr yrs Jahr Jahre Jahren an ans année années año años ano anos annum",
}
_OTHERS: Mapping[str, str] = {
    "meter": "metre metres meter meters Meter mètre mètres metro metros",
    "kilometer": "kilometre kilometres kilometer kilometers Kilometer Kilometern kilomètre kilomètres kilómetro "
    "kilómetros quilómetro quilómetros quilômetro quilômetros",
    "m**2": "square_metre square_metres square_meter square_meters sqm Quadratmeter mètre_carré mètres_carrés "
    "metro_cuadrado metros_cuadrados",
    "m**3": "cubic_metre cubic_metres cubic_meter cubic_meters cbm Kubikmeter mètre_cube mètres_cubes metro_cúbico "
    "metros_cúbicos",
    "km**2": "square_kilometre square_kilometres Quadratkilometer kilomètres_carrés kilómetros_cuadrados",
    "hectare": "ha hectare hectares Hektar hectárea hectáreas",
    "liter": "l L litre litres liter liters Liter Litern litro litros",
    "gram": "g Gramm gramme grammes gramo gramos",
    "kilogram": "kg kilo kilos Kilogramm kilogramme kilogrammes kilogramo kilogramos",
    "metric_ton": "t tonne tonnes Tonne Tonnen tonelada toneladas",
    "kWh": "kilowatt_hour kilowatt_hours kilowatt-hour kilowatt-hours Kilowattstunde Kilowattstunden kilowattheure "
    "kilowattheures kilovatio_hora kilovatios_hora",
    "MWh": "megawatt_hour megawatt_hours Megawattstunde Megawattstunden mégawattheure mégawattheures",
    "kilowatt": "Kilowatt kilovatio kilovatios",
    "gigabyte": "Gigabyte Gigabytes gigaoctet gigaoctets Go",
    "terabyte": "Terabyte Terabytes téraoctet téraoctets To",
    "mile": "mile miles Meile Meilen milla millas",
}
_PEOPLE = (
    "person persons people inhabitant inhabitants head capita resident residents Person Personen Einwohner Einwohnern "
    "Kopf personne personnes habitant habitants tête persona personas habitante habitantes"
)
_COUNTED = (
    _PEOPLE,
    "customer customers Kunde Kunden client clients cliente clientes",
    "user users Nutzer Nutzern utilisateur utilisateurs usuario usuarios",
    "household households Haushalt Haushalte Haushalten ménage ménages foyer foyers hogar hogares domicílio domicílios",
    "request requests Anfrage Anfragen requête requêtes solicitud solicitudes",
    "employee employees Mitarbeiter Mitarbeitern employé employés empleado empleados",
    "vehicle vehicles Fahrzeug Fahrzeuge Fahrzeugen véhicule véhicules vehículo vehículos veículo veículos",
)
"""Each row has the words for one counted thing. A row applies only if a profile declares one of its words as a unit."""

_SYMBOL_MAX = 3  # Characters up to which upper and lower case differ, as in `t` and `T`.


def _split_factor(unit: str) -> tuple[float, str]:
    head, _, rest = unit.partition(" ")
    return (float(head), rest) if rest else (1.0, unit)


_WORDS: dict[str, tuple[float, str]] = {}
for _units in (_TIMES, _OTHERS):
    for _unit, _words in _units.items():
        for _word in _words.split():
            _plain = _word.replace("_", " ")
            _WORDS[_plain if len(_plain) <= _SYMBOL_MAX else _plain.lower()] = _split_factor(_unit)
_PHRASES = sorted((re.escape(word) for word in _WORDS if " " in word or "-" in word), key=len, reverse=True)
_PHRASE = re.compile("|".join(_PHRASES).replace(r"\ ", "[ \u00a0]") + r"(?!\w)", re.IGNORECASE)
_SAME_THING: Mapping[str, tuple[str, ...]] = {
    word.lower(): tuple(row.lower().split()) for row in _COUNTED for word in row.split()
}
"""For each word, all words for the same thing, in a fixed order. The word means the first of them that a profile
declares as a unit."""

_STOP_ROWS = (
    "a al am an are as at au b bar by c can con count counts cup cups da das de del den der des die do e een el em et",
    "foot hand hands has het i il im in is it la las le les link links los me na no o of on one ons or os per pm point",
    "points pool pools por pt que rod round sin stick sticks stone te to un und une us was we x y",
)
STOP = frozenset(word for row in _STOP_ROWS for word in row.split())
"""Names of units, such as `stone`, that are mostly ordinary words if they follow a number."""

_LETTER = "[^\\W\\d_²³½¼¾⅓⅔]"
_WORD = re.compile(rf"{_LETTER}+|[°µΩ]{_LETTER}*")
_POWER = re.compile(r"²|³|(?:\^|\*\*)(?P<number>-?\d{1,2})(?!\d)|(?P<plain>[23])(?!\d|[.,]\d)")
_GROUP = re.compile(r"\((?P<unit>[^()\n|]{1,40})\)")
TIME_UNITS = ("second", "minute", "hour", "day", "week", "month", "year")


def time_word(text: str, position: int) -> UnitTerm | None:
    """Return the unit of time that the word at an offset means; None if it means no such unit."""
    match = _WORD.match(text, position)
    found = _find_unit(match[0]) if match else None
    return UnitTerm(match.end(), *found) if match and found and found[1] in TIME_UNITS else None


def unit_word(text: str, position: int, table: UnitTable) -> UnitTerm | None:
    """Return the unit that the words at an offset mean, with its exponent; None if they mean no unit."""
    if group := _GROUP.match(text, position):
        inner = group["unit"].strip()
        return UnitTerm(group.end(), 1.0, inner) if inner and not table.problem(inner) else None
    found = _phrase(text, position, table) or _single(text, position, table)
    if found is None:
        return None
    power = _POWER.match(text, found.end)
    if power is None:
        return None if _continues(text, found.end) else found
    exponent = {"²": "2", "³": "3"}.get(power[0]) or power["number"] or power["plain"]
    try:
        raised = UnitTerm(power.end(), found.factor ** int(exponent), f"{found.unit}**{exponent}")
    except (OverflowError, ZeroDivisionError):
        return None
    return None if table.problem(raised.unit) or "**" in found.unit else raised


def _continues(text: str, end: int) -> bool:
    """Return whether the word that contains an offset continues after it, as `kmh` does after `km`."""
    after = text[end : end + 1]
    return after.isalnum() or after == "_"


def _phrase(text: str, position: int, table: UnitTable) -> UnitTerm | None:
    """Return the unit that the words at an offset mean together, such as `charging points`; None if they mean none."""
    words = list(_WORD.finditer(text, position, position + 60))
    for count in (3, 2):
        phrase = words[:count]
        joined = "_".join(match[0] for match in phrase)
        apart = all(
            text[one.end() : other.start()] in (" ", "\u00a0", "_") for one, other in itertools.pairwise(phrase)
        )
        if len(phrase) == count and phrase[0].start() == position and apart and (name := table.declared(joined)):
            return UnitTerm(phrase[-1].end(), 1.0, name)
    match = _PHRASE.match(text, position)
    known = _WORDS.get(match[0].lower().replace("\u00a0", " ")) if match else None
    return UnitTerm(match.end(), *known) if match and known else None


def _single(text: str, position: int, table: UnitTable) -> UnitTerm | None:
    match = _WORD.match(text, position)
    if match is None:
        return None
    word = match[0]
    if name := table.declared(word) or next(filter(None, map(table.declared, _others(word))), ""):
        return UnitTerm(match.end(), 1.0, name)
    if found := _find_unit(word):
        return UnitTerm(match.end(), *found)
    if word.lower() in STOP or not (is_written_name(word) or word in CODES):
        return None
    try:
        table.unit(word)
    except UnitUnreadable:
        return None
    return UnitTerm(match.end(), 1.0, word)


def _others(word: str) -> tuple[str, ...]:
    return _SAME_THING.get(word.lower(), ())


def _find_unit(word: str) -> tuple[float, str] | None:
    return _WORDS.get(word if len(word) <= _SYMBOL_MAX else word.lower())
