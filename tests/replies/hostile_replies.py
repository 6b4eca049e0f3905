"""Replies that a hostile or broken model writes: good ones with single values, keys or characters exchanged."""

import copy
import json

NUMBERS = (0, -1, 1, 0.5, -0.0, 1e308, 5e-324, 2**63, 10**30, 10**300, 1e-300, True, False, None)
# fmt: off
UNITS = (
    "yottaparsec^9", "Yly^9", "quettaparsec^12", "quettaparsec^6*quettaly^6", "m/quectoangstrom^12", "m^999999999999",
    "m^-12", "m^0.5", "m^^2", "m^²", "/m", "m/", "m*", "((m)", "degC", "EUR/", "$", "EUR EUR", "%%", "a.b", "dB", "1/0",
    "kWh/kWh", "shop*shop", "µ", "m³", "k€", "per year", "_", "__class__", "delta_degC", "pH", "count", "inf", "nan",
)
TEXTS = (
    "", " ", "\n", "0", "-", "+", ".", ",", "1,2,3", "1.2.3,4", "1 000 000,00", "9" * 400, "1e999", "1e-999", "-1e308",
    "½", "²", "٣٤", "Ⅷ", "一百", "0x10", "1/0", "inf", "nan", "5 quettaparsec^12", "12 to 3", "3-5", "\u22125", "7.5 %",
    "x * y", "x / 0", "x ** 9 ** 9", "((((x", "x" * 300, "sum(x)", "-x - -x", "1 / x / x", "x.y", "__import__('os')",
    "{0.__class__}", "%s%n", "${HOME}", "../../etc/passwd", "a\tb\r\nc", "\u202e\u2066", "\u0085", "\ufeff",
    "e\u0301" * 9, "\U0001f600", "ß", "İ", "ǆ", "escalate", "continue", "never", "steps[0]", "a.b.c", "'", '"', "```",
    "</data>", "null", "market.shops", "core.region", "core.currency", "search", "finish", "ask_user", "not a", "!a",
    "a b", "*", "[", "(?=",
)
# fmt: on
NESTED = ([], {}, [[]], [{}], {"": None}, [None], [1, "a", None], {"a": {"b": {"c": []}}}, [[[[[[[[]]]]]]]])
DEPTH_MAX = 60
CHARACTERS = "{}[]\",:\\'`\x00\x1f\ud800\u2028\ufeff0e-+. /<>tnfa"


def hostile(dice, good):
    """Return the text of a reply: a good JSON value after a few exchanges, most often still one."""
    value = copy.deepcopy(good)
    for _ in range(dice.choice((0, 1, 1, 1, 2, 3, 5))):
        value = _exchanged(dice, value)
    text = json.dumps(value, ensure_ascii=dice.random() < 0.5)
    chance = dice.random()
    if chance < 0.05:
        place = dice.randrange(len(text) + 1)
        text = text[:place] + dice.choice(CHARACTERS) + text[place + dice.choice((0, 1, 1, 7)) :]
    elif chance < 0.08:
        text = dice.choice(
            (f"```json\n{text}\n```", f"So: {text} and {text}", f"<think>{text}</think>", text[:-1], text * 2)
        )
    elif chance < 0.09:
        text = dice.choice(TEXTS)
    return text


def _exchanged(dice, value, depth=0):
    """Return the value with one place of it exchanged."""
    inner = isinstance(value, dict | list) and len(value) > 0
    if not inner or depth > DEPTH_MAX or (depth > 0 and dice.random() < 0.15):
        return _nasty(dice, value)
    if isinstance(value, dict):
        key = dice.choice(list(value))
        kind = dice.random()
        if kind < 0.1:
            return {name: each for name, each in value.items() if name != key}
        if kind < 0.2:
            return {**value, dice.choice((*TEXTS, *value)): copy.deepcopy(value[key])}
        return {**value, key: _exchanged(dice, value[key], depth + 1)}
    place = dice.randrange(len(value))
    kind = dice.random()
    if kind < 0.1:
        return [*value[:place], *value[place + 1 :]]
    if kind < 0.2:
        return [*value, copy.deepcopy(value[place])]
    if kind < 0.22:
        return value * dice.choice((2, 3, 40))
    return [*value[:place], _exchanged(dice, value[place], depth + 1), *value[place + 1 :]]


def _nasty(dice, value):
    kind = dice.random()
    if kind < 0.15:
        return copy.deepcopy(dice.choice(NESTED))
    if kind < 0.3:
        return dice.choice(NUMBERS)
    if kind < 0.5:
        return dice.choice(UNITS)
    if kind < 0.6 and isinstance(value, str):
        return value[: dice.randrange(len(value) + 1)] + dice.choice(TEXTS) + value[dice.randrange(len(value) + 1) :]
    return dice.choice(TEXTS)
