"""Currencies: the codes of ISO 4217, and the signs that stand for one or for several of them.

A currency is a unit of its own and never converts into another. Where a calculation needs a rate, the rate is a field
with a unit such as `USD/EUR`.
"""

from collections.abc import Mapping

_ROWS = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD",
    "CDF CHF CLF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD",
    "GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT",
    "LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR",
    "NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP",
    "STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD",
    "XOF XPF YER ZAR ZMW ZWG",
)
CODES = frozenset(code for row in _ROWS for code in row.split())
"""The codes of the currencies in use."""

_DOLLARS = ("USD", "AUD", "CAD", "HKD", "MXN", "NZD", "SGD", "TWD")

SIGNS: Mapping[str, tuple[str, ...]] = {
    "€": ("EUR",),
    "US$": ("USD",),
    "A$": ("AUD",),
    "C$": ("CAD",),
    "CA$": ("CAD",),
    "HK$": ("HKD",),
    "NT$": ("TWD",),
    "NZ$": ("NZD",),
    "R$": ("BRL",),
    "S$": ("SGD",),
    "$": _DOLLARS,
    "£": ("GBP", "EGP"),
    "¥": ("JPY", "CNY"),
    "元": ("CNY", "TWD"),
    "円": ("JPY",),
    "₩": ("KRW",),
    "₹": ("INR",),
    "₽": ("RUB",),
    "₺": ("TRY",),
    "₴": ("UAH",),
    "₪": ("ILS",),
    "₦": ("NGN",),
    "₫": ("VND",),
    "₱": ("PHP",),
    "฿": ("THB",),
    "₸": ("KZT",),
    "zł": ("PLN",),
    "Kč": ("CZK",),
    "kr": ("SEK", "NOK", "DKK", "ISK"),
    "euro": ("EUR",),
    "euros": ("EUR",),
    "Euro": ("EUR",),
    "Euros": ("EUR",),
    **dict.fromkeys(("dollar", "dollars", "Dollar", "dólares"), _DOLLARS),
}
"""The currencies that a sign may stand for; the unit of the field decides among several."""


_CENTS = ("EUR", *_DOLLARS, "ZAR")

MINOR: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("ct", "cts", "cent", "cents", "Cent", "Cents"), _CENTS),
    **dict.fromkeys(("Eurocent", "Eurocents", "eurocent", "eurocents", "Euro-Cent", "€ct", "€-ct"), ("EUR",)),
    **dict.fromkeys(("centime", "centimes"), ("EUR", "CHF")),
    **dict.fromkeys(("céntimo", "céntimos", "centimo", "centimos"), ("EUR",)),
    **dict.fromkeys(("p", "pence", "penny"), ("GBP",)),
    "¢": ("USD", "CAD"),
    "Rappen": ("CHF",),
}
"""The currencies of which a word names the hundredth part; the unit of the field decides among several."""


def find_currencies(text: str) -> tuple[str, ...]:
    """Return the currencies that a sign or a code may stand for; none if it is no currency."""
    return (text,) if text in CODES else SIGNS.get(text, ())
