"""The line about a wrong command line: where, what is wrong, and which help explains it."""

import re

import click

WORDS = (
    (re.compile(r"is not a valid integer(?: range)?"), "is not a whole number"),
    (re.compile(r"is not a valid float(?: range)?"), "is not a number"),
    (re.compile(r"(?<!\S)(\S+) is not in the range x>=(\S+)"), r"should be at least \2, not \1"),
    (re.compile(r"(?<!\S)(\S+) is not in the range (\S+?)<=x<=(\S+)"), r"should be from \2 to \3, not \1"),
    (re.compile(r"is not ('[^']*')$"), r"is not one of \1"),
    (re.compile(r"^Got unexpected extra arguments? \((.*)\)"), r"there are too many arguments: \1"),
)
"""What click says, and what a user can read. Each takes time in proportion to the length of the text."""


def explanation(error: click.UsageError) -> str:
    """Return what is wrong with a command line: the argument or option, then the cause."""
    place = _place(error)
    text = error.message if place else error.format_message()
    if isinstance(error, click.MissingParameter):
        choices = error.param.type.choices if error.param and isinstance(error.param.type, click.Choice) else ()
        what = "argument is missing" if isinstance(error.param, click.Argument) else "option is required"
        text = f"this {what}" + (f"; one of {', '.join(choices)}" if choices else "")
    text = " ".join(text.split()).rstrip(".")
    for pattern, words in WORDS:
        text = pattern.sub(words, text)
    return f"{place}: {text}" if place else text


def _place(error: click.UsageError) -> str:
    param = error.param if isinstance(error, click.BadParameter) else None
    if isinstance(param, click.Argument):
        return (param.metavar or param.name or "").upper()
    return param.opts[-1] if param is not None else ""
