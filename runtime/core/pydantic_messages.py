"""Messages for people about values that pydantic rejected."""

from pydantic_core import ErrorDetails

SHOWN_MAX = 60
"""The largest number of characters that an error message quotes from a wrong value."""

_KINDS = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a mapping of keys to values",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "mapping_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "string_sub_type": "text",
    "string_type": "text",
    "tuple_type": "a list",
}
_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}


def describe(details: ErrorDetails) -> str:
    """Return the cause as the end of a sentence, such as `should be a whole number, not '3'`."""
    context = details.get("ctx", {})
    match details["type"]:
        case "missing":
            return f"missing key {str(details['loc'][-1])!r}"
        case "extra_forbidden":
            return f"unknown key {str(details['loc'][-1])!r}"
        case "value_error" | "assertion_error":
            return details["msg"].partition(", ")[2]
        case "too_short":
            return f"needs at least {_count_noun(context['min_length'], 'entry', 'entries')}"
        case "too_long":
            return f"takes at most {_count_noun(context['max_length'], 'entry', 'entries')}"
        case "string_too_short" if context["min_length"] == 1:
            return "should not be empty"
        case "string_too_short":
            return f"needs at least {_count_noun(context['min_length'], 'character', 'characters')}"
        case "string_too_long":
            return f"takes at most {_count_noun(context['max_length'], 'character', 'characters')}"
        case kind if kind in _BOUNDS:
            word, key = _BOUNDS[kind]
            return with_value(f"should be {word} {context[key]:,.15g}", details)
        case kind if kind in _KINDS:
            return with_value(f"should be {_KINDS[kind]}", details)
        case _:
            return with_value(details["msg"].removeprefix("Input ").removeprefix("String "), details)


def with_value(expected: str, details: ErrorDetails) -> str:
    """Return `EXPECTED, not VALUE`, with the value cut to `SHOWN_MAX` characters."""
    value = repr(details["input"])
    return f"{expected}, not {value if len(value) <= SHOWN_MAX else f'{value[:SHOWN_MAX]}...'}"


def _count_noun(number: int, singular: str, plural: str) -> str:
    return f"one {singular}" if number == 1 else f"{number:,} {plural}"
