"""Reports about a fleet in four languages and six formats, made from a seed, with figures as a person reads them."""

import random
from dataclasses import dataclass

import yaml

from packages.acquire.tests.documents.written_documents import as_docx, as_eml, as_html, as_pdf, as_xlsx, as_zip

LANGUAGES = ("en", "de", "fr", "pt")
FIELDS = {
    "fleet.vans": "van",
    "fleet.mileage": "km/year",
    "fleet.total": "km",
    "fuel.consumption": "L/km",
    "fuel.price": "EUR/L",
    "cost.insurance": "EUR/year",
    "cost.tax": "EUR/year",
    "cost.maintenance": "EUR/km",
    "cost.leasing": "EUR/month",
    "cost.tyre": "EUR",
    "use.share": "percent",
    "use.emission": "g/km",
}
"""The units of the figures by field."""
WORDS = {
    "en": {
        "fleet.vans": "vans",
        "fleet.mileage": "mileage",
        "fleet.total": "total distance",
        "fuel.consumption": "fuel consumption",
        "fuel.price": "diesel price",
        "cost.insurance": "insurance",
        "cost.tax": "vehicle tax",
        "cost.maintenance": "maintenance",
        "cost.leasing": "leasing rate",
        "cost.tyre": "tyre",
        "use.share": "utilisation",
        "use.emission": "emissions",
    },
    "de": {
        "fleet.vans": "Fahrzeuge",
        "fleet.mileage": "Fahrleistung",
        "fleet.total": "Gesamtstrecke",
        "fuel.consumption": "Kraftstoffverbrauch",
        "fuel.price": "Dieselpreis",
        "cost.insurance": "Versicherung",
        "cost.tax": "Kfz-Steuer",
        "cost.maintenance": "Wartung",
        "cost.leasing": "Leasingrate",
        "cost.tyre": "Reifen",
        "use.share": "Auslastung",
        "use.emission": "Emissionen",
    },
    "fr": {
        "fleet.vans": "véhicules",
        "fleet.mileage": "kilométrage",
        "fleet.total": "distance totale",
        "fuel.consumption": "consommation",
        "fuel.price": "prix du gazole",
        "cost.insurance": "assurance",
        "cost.tax": "taxe",
        "cost.maintenance": "entretien",
        "cost.leasing": "loyer",
        "cost.tyre": "pneu",
        "use.share": "utilisation",
        "use.emission": "émissions",
    },
    "pt": {
        "fleet.vans": "veículos",
        "fleet.mileage": "quilometragem",
        "fleet.total": "distância total",
        "fuel.consumption": "consumo",
        "fuel.price": "preço do gasóleo",
        "cost.insurance": "seguro",
        "cost.tax": "imposto",
        "cost.maintenance": "manutenção",
        "cost.leasing": "renda",
        "cost.tyre": "pneu",
        "use.share": "utilização",
        "use.emission": "emissões",
    },
}
"""The words of a document for each field."""
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
    "en": ("Item", "Cost (EUR/year)"),
    "de": ("Posten", "Kosten (EUR/Jahr)"),
    "fr": ("Poste", "Coût (EUR/an)"),
    "pt": ("Item", "Custo (EUR/ano)"),
}
PER_KM = {
    "en": ("Item", "Cost (EUR/km)"),
    "de": ("Posten", "Kosten (EUR/km)"),
    "fr": ("Poste", "Coût (EUR/km)"),
    "pt": ("Item", "Custo (EUR/km)"),
}


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
    vans, mileage, total = chance.randint(12, 90), chance.randint(150, 450) * 100 + 50, chance.randint(11, 48) / 10
    consumption, price, leasing = chance.randint(61, 119) / 10, chance.randint(141, 199) / 100, chance.randint(210, 690)
    low, share, emission = chance.randint(60, 90), chance.randint(205, 895) / 10, chance.randint(120, 290)
    insurance, tax, maintenance = (
        chance.randint(1100, 2900) + 0.5,
        chance.randint(110, 490),
        chance.randint(4, 19) / 100,
    )
    high = low + 40
    shown = {
        "year": "2024",
        "vans": written(vans, language),
        "mileage": written(mileage, language),
        "total": written(total, language, 1),
        "consumption": written(consumption, language, 1),
        "price": written(price, language, 2),
        "leasing": written(leasing, language),
        "low": written(low, language),
        "high": written(high, language),
        "share": written(share, language, 1),
        "emission": written(emission, language),
    }
    words = WORDS[language]
    yearly = [HEADERS[language]]
    yearly += [(words["cost.insurance"], (insurance, "#,##0.00", written(insurance, language, 2)))]
    yearly += [(words["cost.tax"], (tax, "0", written(tax, language)))]
    distance = [PER_KM[language], (words["cost.maintenance"], (maintenance, "0.00", written(maintenance, language, 2)))]
    text = [each.format(**shown) for each in SENTENCES[language]]
    values = {
        "fleet.vans": vans,
        "fleet.mileage": mileage,
        "fleet.total": total * 1e6,
        "fuel.consumption": consumption / 100,
        "fuel.price": price,
        "cost.insurance": insurance,
        "cost.tax": tax,
        "cost.maintenance": maintenance,
        "cost.leasing": leasing,
        "cost.tyre": (low, high),
        "use.share": share,
        "use.emission": emission,
    }
    blocks = (*text[:4], yearly, None, *text[4:], distance)
    by_field = {
        "fleet.vans": ("vans", 2),
        "fleet.mileage": ("mileage", 2),
        "fleet.total": ("total", 3),
        "fuel.consumption": ("consumption", 6),
        "fuel.price": ("price", 6),
        "cost.leasing": ("leasing", 7),
        "cost.tyre": ("low", 7),
        "use.share": ("share", 8),
        "use.emission": ("emission", 8),
    }
    read = {path: (shown[name], block) for path, (name, block) in by_field.items()}
    read["cost.insurance"] = (yearly[1][1][2], 4)
    read["cost.tax"] = (yearly[2][1][2], 4)
    read["cost.maintenance"] = (distance[1][1][2], 9)
    return Report(language, blocks, values, read)


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
