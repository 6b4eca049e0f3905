"""A thousand random quantities in the forms of the table: no wrong value is taken, and few right ones are refused."""

import math
import random

import pytest

from packages.acquire.tests.quantities.test_phrases import read
from replan_acquire.quantities.quoted import Found

QUANTITIES = 1000
TAKEN_LEAST = 0.85
"""The share of those in supported forms that is to be taken."""

PER = {"en": "per", "de": "pro", "fr": "par", "es": "por"}
AND = {"en": "and", "de": "und", "fr": "et", "es": "y"}
TIMES = {  # The word, how many in a year, and how it stands without `per`.
    "en": [("day", 365.25, "a day"), ("week", 365.25 / 7, "a week"), ("month", 12, "monthly"), ("year", 1, "p.a.")],
    "de": [("Tag", 365.25, "am Tag"), ("Woche", 365.25 / 7, "in der Woche"), ("Monat", 12, "im Monat")],
    "fr": [("jour", 365.25, "par jour"), ("mois", 12, "par mois"), ("an", 1, "par an")],
    "es": [("día", 365.25, "al día"), ("semana", 365.25 / 7, "a la semana"), ("mes", 12, "al mes")],
}
SCALES = {
    "en": [("million", 1e6), ("thousand", 1e3), ("billion", 1e9)],
    "de": [("Millionen", 1e6), ("Mio.", 1e6), ("Mrd.", 1e9), ("Tausend", 1e3)],
    "fr": [("millions", 1e6), ("milliards", 1e9)],
    "es": [("millones", 1e6), ("mil millones", 1e9), ("mil", 1e3)],
}
OF_SCALE = {"en": "", "de": "", "fr": "d'", "es": "de "}
CENTS = {"en": ["cents", "ct"], "de": ["Cent", "ct"], "fr": ["centimes"], "es": ["céntimos"]}
CUSTOMER = {"en": "customer", "de": "Kunde", "fr": "client", "es": "cliente"}
PERSON = {"en": "person", "de": "Kopf", "fr": "habitant", "es": "persona"}
LITRES = {"en": "litres", "de": "Liter", "fr": "litres", "es": "litros"}
STRANGERS = {  # What nobody declared: never to be taken as what it is not.
    "en": ["household", "working day", "bottle", "trip", "family of four"],
    "de": ["Haushalt", "Arbeitstag", "Flasche", "Fahrt"],
    "fr": ["ménage", "bouteille", "trajet"],
    "es": ["hogar", "botella", "viaje"],
}
FRAMES = {
    "en": ["It was {} in the report.", "{}", "The study says {}, as before.", "- {}\n", "About {} was counted."],
    "de": ["Es waren {}.", "{}", "Die Studie nennt {}, wie zuvor.", "- {}\n"],
    "fr": ["C'est {}.", "{}", "L'étude donne {}, comme avant.", "- {}\n"],
    "es": ["Son {}.", "{}", "El estudio da {}, como antes.", "- {}\n"],
}


def written(chance, number, language):
    """Return a number as the language writes it."""
    whole, _, decimals = f"{number:.2f}".rstrip("0").rstrip(".").partition(".")
    groups = f"{int(whole):,}"
    thousands, mark = (",", ".") if language == "en" else (chance.choice([".", "\u202f"]), ",")
    if language == "fr":
        thousands = chance.choice(["\u202f", "\u00a0", " "])
    shown = groups.replace(",", thousands) if chance.random() < 0.7 or number < 1000 else whole
    if not decimals and "." in shown and language != "en" and shown.count(".") == 1:
        return shown + ",0"  # Else nothing but the language tells what the point is.
    return shown + (mark + decimals if decimals else "")


def drawn(chance):
    """Return a language, a phrase, the unit of a field, and the value there; None where nothing is to be taken."""
    language = chance.choice(["en", "de", "fr", "es"])
    number = round(10 ** chance.uniform(0, 4.5), chance.choice([0, 0, 1, 2])) or 1.0
    said, per = written(chance, number, language), PER[language]
    time, a_year, adverb = chance.choice(TIMES[language])
    match chance.randrange(12):
        case 0:
            parts = chance.choice([100, 1000])
            shown = f"{said} kWh{chance.choice(['/', f' {per} '])}{parts} km"
            return language, shown, "kWh/km", number / parts
        case 1:
            return language, f"{said} {CENTS[language][0]} {per} kWh", "EUR/kWh", number / 100
        case 2:
            word, factor = chance.choice(SCALES[language])
            joint = "" if word in ("mil", "Tausend") else OF_SCALE[language]
            return language, f"{said} {word} {joint}{'euros' if joint else 'EUR'}", "EUR", number * factor
        case 3:
            shown = f"{said} EUR {per} {CUSTOMER[language]} {AND[language]} {time}"
            return language, shown, "EUR/customer/year", number * a_year
        case 4:
            return language, f"{said} km {adverb}", "km/year", number * a_year
        case 5:
            shown = f"{said} {LITRES[language]} {per} {PERSON[language]} {AND[language]} {time}"
            return language, shown, "l/person/day", number * a_year / 365.25
        case 6:
            return language, f"{said} °C", "K", number + 273.15
        case 7:
            return language, f"{said} EUR {per} {chance.choice(STRANGERS[language])}", "EUR/customer", None
        case 8:
            stranger = chance.choice(STRANGERS[language])
            return language, f"{said} {LITRES[language]} {per} {stranger} {AND[language]} {time}", "l/person/day", None
        case 9:
            word, factor = chance.choice(SCALES[language][:2])
            head = {"en": "sales", "de": "Umsatz", "fr": "ventes", "es": "ventas"}[language]
            inner = f"EUR {word}" if language == "en" else f"{word} {OF_SCALE[language]}EUR"
            return language, f"{head} ({inner}): {said}", "EUR", number * factor
        case 10:
            return language, f"{said} GB", chance.choice(["TB", "km", "EUR", "percent", ""]), ("TB", number / 1000)
        case _:
            return language, f"{said} %", chance.choice(["percent", "EUR", "km"]), ("percent", number)


@pytest.mark.parametrize("seed", range(4))
def test_no_wrong_value_is_taken_and_most_right_ones_are(seed):
    chance = random.Random(seed)
    supported = taken = 0
    missed = []
    for _ in range(QUANTITIES // 4):
        language, phrase, unit, value = drawn(chance)
        if isinstance(value, tuple):
            value = value[1] if unit == value[0] else None
        found = read(phrase, unit, language, chance.choice(FRAMES[language]).format(phrase))
        if value is None:
            assert not isinstance(found, Found), (phrase, unit, found)
            continue
        supported += 1
        if isinstance(found, Found):
            taken += 1
            right = math.isclose(found.quantity.low, value, rel_tol=1e-9)
            assert right, (phrase, unit, value, found)
            assert found.quantity.low == found.quantity.high
        else:
            missed.append((phrase, unit, found.message))
    assert taken >= TAKEN_LEAST * supported, missed[:20]
