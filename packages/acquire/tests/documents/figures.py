"""Reports about a fleet in four languages and six formats, made from a seed, with figures as a person reads them."""

import random
from dataclasses import dataclass

import yaml

from packages.acquire.tests.documents.written_documents import as_docx, as_eml, as_html, as_pdf, as_xlsx, as_zip

LANGUAGES = ("en", "de", "fr", "pt")
FIGURES = {
    "fleet.vans": ("van", "vans", "Fahrzeuge", "véhicules", "veículos"),
    "fleet.mileage": ("km/year", "mileage", "Fahrleistung", "kilométrage", "quilometragem"),
    "fleet.total": ("km", "total distance", "Gesamtstrecke", "distance totale", "distância total"),
    "fuel.consumption": ("L/km", "fuel consumption", "Kraftstoffverbrauch", "consommation", "consumo"),
    "fuel.price": ("EUR/L", "diesel price", "Dieselpreis", "prix du gazole", "preço do gasóleo"),
    "cost.insurance": ("EUR/year", "insurance", "Versicherung", "assurance", "seguro"),
    "cost.tax": ("EUR/year", "vehicle tax", "Kfz-Steuer", "taxe", "imposto"),
    "cost.maintenance": ("EUR/km", "maintenance", "Wartung", "entretien", "manutenção"),
    "cost.leasing": ("EUR/month", "leasing rate", "Leasingrate", "loyer", "renda"),
    "cost.tyre": ("EUR", "tyre", "Reifen", "pneu", "pneu"),
    "use.share": ("percent", "utilisation", "Auslastung", "utilisation", "utilização"),
    "use.emission": ("g/km", "emissions", "Emissionen", "émissions", "emissões"),
}
"""The unit of each figure by field, and the words of documents for it in each language."""
FIELDS = {path: row[0] for path, row in FIGURES.items()}
WORDS = {language: {path: row[place] for path, row in FIGURES.items()} for place, language in enumerate(LANGUAGES, 1)}
SENTENCES = {
    "en": (
        "# Fleet report {year}",
        "This report is about the vehicles of the company, and what they cost with the fuel and the people who drive.",
        "The fleet has {vans} vans. The mileage of a van is {mileage} km per year.",
        "The total distance of the fleet was {total} million km.",
        "The fuel consumption is {consumption} litres per 100 km, and the diesel price was {price} EUR per litre.",
        "The leasing rate is {leasing} EUR per month. A tyre costs between {low} and {high} EUR.",
        "The utilisation of the vans is {share} %. The emissions are {emission} g/km.",
    ),
    "de": (
        "# Bericht über die Flotte {year}",
        "Dieser Bericht ist über die Wagen der Firma und was sie mit dem Kraftstoff und den Fahrern kosten.",
        "Die Flotte hat {vans} Fahrzeuge. Die Fahrleistung eines Fahrzeugs ist {mileage} km pro Jahr.",
        "Die Gesamtstrecke der Flotte war {total} Millionen km.",
        "Der Kraftstoffverbrauch ist {consumption} Liter pro 100 km, und der Dieselpreis war {price} EUR pro Liter.",
        "Die Leasingrate ist {leasing} EUR pro Monat. Ein Reifen kostet zwischen {low} und {high} EUR.",
        "Die Auslastung der Fahrzeuge ist {share} %. Die Emissionen sind {emission} g/km.",
    ),
    "fr": (
        "# Rapport sur la flotte {year}",
        "Ce rapport est sur les véhicules de la société et ce que les conducteurs et le carburant coûtent pour elle.",
        "La flotte a {vans} véhicules. Le kilométrage d'un véhicule est de {mileage} km par an.",
        "La distance totale de la flotte est de {total} millions de km.",
        "La consommation est de {consumption} litres par 100 km, et le prix du gazole est de {price} EUR par litre.",
        "Le loyer est de {leasing} EUR par mois. Un pneu coûte entre {low} et {high} EUR.",
        "L'utilisation des véhicules est de {share} %. Les émissions sont de {emission} g/km.",
    ),
    "pt": (
        "# Relatório da frota {year}",
        "Este relatório é sobre os veículos da empresa e o que eles custam com o combustível e quem conduz.",
        "A frota tem {vans} veículos. A quilometragem de um veículo é de {mileage} km por ano.",
        "A distância total da frota foi de {total} milhões de km.",
        "O consumo é de {consumption} litros por 100 km, e o preço do gasóleo foi de {price} EUR por litro.",
        "A renda é de {leasing} EUR por mês. Um pneu custa entre {low} e {high} EUR.",
        "A utilização dos veículos é de {share} %. As emissões são de {emission} g/km.",
    ),
}
HEADERS = {
    "en": ("Item", "Cost (EUR/{})", "year"),
    "de": ("Posten", "Kosten (EUR/{})", "Jahr"),
    "fr": ("Poste", "Coût (EUR/{})", "an"),
    "pt": ("Item", "Custo (EUR/{})", "ano"),
}
"""The header of a table of costs, and the word for a year."""
SHOWN = {
    "vans": ("fleet.vans", 0, 2),
    "mileage": ("fleet.mileage", 0, 2),
    "total": ("fleet.total", 1, 3),
    "consumption": ("fuel.consumption", 1, 6),
    "price": ("fuel.price", 2, 6),
    "leasing": ("cost.leasing", 0, 7),
    "low": ("cost.tyre", 0, 7),
    "share": ("use.share", 1, 8),
    "emission": ("use.emission", 0, 8),
}
"""The figures in sentences, by their names there: the field, the decimals, and the number of the block, from 0."""


@dataclass(frozen=True)
class Report:
    """A report as paragraphs and tables, and its figures."""

    language: str
    blocks: tuple
    values: dict
    """The value of each field in its unit, as a person reads it; for a range a pair."""
    shown: dict
    """The number of each field as the report writes it, and the number of its block, from 0."""


def written(number, language, places=0):
    """Return a number as people write it in a language."""
    text = f"{number:,.{places}f}"
    marks = {"en": {}, "de": {",": ".", ".": ","}, "pt": {",": ".", ".": ","}, "fr": {",": "\u00a0", ".": ","}}[
        language
    ]
    return "".join(marks.get(each, each) for each in text)


def report(language, seed=1):
    chance = random.Random(f"{seed}/{language}")
    drawn = {
        "vans": chance.randint(12, 90),
        "mileage": chance.randint(150, 450) * 100 + 50,
        "total": chance.randint(11, 48) / 10,
        "consumption": chance.randint(61, 119) / 10,
        "price": chance.randint(141, 199) / 100,
        "leasing": chance.randint(210, 690),
        "low": chance.randint(60, 90),
        "share": chance.randint(205, 895) / 10,
        "emission": chance.randint(120, 290),
    }
    costs = {
        "cost.insurance": (chance.randint(1100, 2900) + 0.5, "#,##0.00", 2, 4),
        "cost.tax": (chance.randint(110, 490), "0", 0, 4),
        "cost.maintenance": (chance.randint(4, 19) / 100, "0.00", 2, 9),
    }
    shown = {name: written(number, language, SHOWN[name][1]) for name, number in drawn.items()}
    read = {path: (shown[name], block) for name, (path, _, block) in SHOWN.items()}
    read |= {path: (written(number, language, places), block) for path, (number, _, places, block) in costs.items()}
    values = {SHOWN[name][0]: number for name, number in drawn.items()} | {path: row[0] for path, row in costs.items()}
    values["fleet.total"] = drawn["total"] * 1e6
    values["fuel.consumption"] = drawn["consumption"] / 100
    values["cost.tyre"] = (drawn["low"], drawn["low"] + 40)
    shown |= {"year": "2024", "high": written(drawn["low"] + 40, language)}
    text = [each.format(**shown) for each in SENTENCES[language]]
    item, cost, year = HEADERS[language]
    rows = [(WORDS[language][path], (number, shape, read[path][0])) for path, (number, shape, *_) in costs.items()]
    yearly, distance = [(item, cost.format(year)), *rows[:2]], [(item, cost.format("km")), rows[2]]
    return Report(language, (*text[:4], yearly, None, *text[4:], distance), values, read)


ROWS = {"cost.insurance": 2, "cost.tax": 3, "cost.maintenance": 2}
"""The row of each figure that stands in a table, in its second column."""


def hand_place(made, wanted, path):
    """Return the source and the place of a figure that a person notes down; of a PDF the page."""
    block = made.shown[path][1]
    prose = [number for number, each in enumerate(made.blocks) if isinstance(each, str)]
    paragraph = prose.index(block) + 1 if block in prose else 0
    table = 1 if path != "cost.maintenance" else 2
    row = ROWS.get(path, 0)
    page = "page 1" if block < 5 else "page 2"
    cell = f"table {table}, row {row}, column 2"
    match wanted:
        case "pdf":
            return "report.pdf", page
        case "docx":
            return "report.docx", f"paragraph {paragraph}" if paragraph else cell
        case "xlsx":
            return "report.xlsx", f"Notes!A{paragraph}" if paragraph else f"Table{table}!B{row}"
        case "html":
            return "report.html", f"line {block + 2 - (block > 5)}"
        case "eml" if paragraph:
            return "report.eml", f"body, line {2 * paragraph - 1}"
        case "eml":
            return "report.eml/tables.xlsx", f"Table{table}!B{row}"
        case "zip" if paragraph:
            return "report.zip/a/report.docx", f"paragraph {paragraph}"
        case _:
            return "report.zip/tables.pdf", page


def files(made):
    """Return the report in each format, as pairs of a file's name and its bytes."""
    title = made.blocks[0].removeprefix("# ")
    plain = [_plain(each) for each in made.blocks]
    prose = [each for each in plain if isinstance(each, str)]
    tables = [each for each in made.blocks if isinstance(each, list)]
    sheets = [
        [[(cell[0], cell[1]) if isinstance(cell, tuple) else cell for cell in row] for row in each] for each in tables
    ]
    sheet = as_xlsx([*prose, *sheets], title)
    return {
        "pdf": ("report.pdf", as_pdf(plain, title)),
        "docx": ("report.docx", as_docx(plain, title)),
        "xlsx": ("report.xlsx", sheet),
        "html": ("report.html", as_html(plain, title, made.language)),
        "eml": ("report.eml", as_eml(prose, title, [("tables.xlsx", as_xlsx(sheets, title))])),
        "zip": (
            "report.zip",
            as_zip(
                [
                    ("a/report.docx", as_docx(prose, title)),
                    ("tables.pdf", as_pdf([each for each in plain if each not in prose], title)),
                ]
            ),
        ),
    }


def _plain(block):
    if isinstance(block, list):
        return [[cell[2] if isinstance(cell, tuple) else cell for cell in row] for row in block]
    return block


def profile(language):
    """Return a profile that has the fields, with the words of a language."""
    fields = {
        path: {"label": WORDS[language][path], "unit": unit, "words": [WORDS[language][path]], "required": False}
        for path, unit in FIELDS.items()
    }
    results = {"cost": {"label": "cost per van and year", "formula": "cost.insurance + cost.tax", "unit": "EUR/year"}}
    for path in ("cost.insurance", "cost.tax"):
        fields[path]["required"] = True
    return yaml.safe_dump(
        {
            "name": "fleet",
            "about": "What a fleet costs.",
            "units": {"van": ""},
            "fields": fields,
            "calculator": {"results": results},
            "caps": {"iterations": 100},
        },
        allow_unicode=True,
    )
