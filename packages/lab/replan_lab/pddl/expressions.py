"""Reads the parenthesised expressions of PDDL, with their lines, within limits of size and nesting. Pure.

This module does not use a library: the libraries that read PDDL do not return line numbers, and one of them recurses
without a limit. PDDL is case-insensitive: all words are returned in lower case.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from actors.values.format import printable
from runtime.core.errors import UsageProblem

BYTES_MAX = 4 * 1024 * 1024
WORDS_MAX = 300_000
DEPTH_MAX = 50
"""The largest number of levels of nested expressions. Functions that read expressions may call themselves to this
depth."""
WORD_MAX = 200

_PART = re.compile(r"[()]|[^\s();]+|;[^\n]*|\n")


class Word(NamedTuple):
    """One word, in lower case."""

    text: str
    line: int


class Form(NamedTuple):
    """An expression in parentheses."""

    items: "tuple[Expression, ...]"
    line: int

    @property
    def head(self) -> str:
        """The text of the form's first item if this item is a word; otherwise an empty text."""
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Word) else ""


Expression = Word | Form


class PddlFile(NamedTuple):
    """The file that is read. Errors name this file as their place."""

    name: str
    """The path, as the user wrote it, or `-`."""

    def refuse(self, cause: str, line: int = 0, hint: str = "") -> NoReturn:
        """Raise a `UsageProblem` about a line, with an optional hint. Line 0 means the whole file."""
        place = f"{self.name}:{line}" if line else self.name
        raise UsageProblem(cause, place=place, hint=hint or "correct this line")


def read_expressions(text: str, source: PddlFile) -> list[Expression]:
    """Return the expressions of a text, in order. Raises `UsageProblem` if the text is malformed or too large."""
    if len(text.encode("utf-8", "surrogatepass")) > BYTES_MAX:
        source.refuse(f"the text has more than {BYTES_MAX:,} bytes", hint="use a PDDL file of at most 4 MiB")
    open_forms: list[tuple[int, list[Expression]]] = []
    items: list[Expression] = []
    line = 1
    for number, part in enumerate(_parts(text), 1):
        if number > WORDS_MAX:
            source.refuse(f"the text has more than {WORDS_MAX:,} words and parentheses", line, "make the file smaller")
        if part == "\n":
            line += 1
        elif part == "(":
            if len(open_forms) >= DEPTH_MAX:
                source.refuse(f"more than {DEPTH_MAX} expressions are nested", line, "nest fewer expressions")
            open_forms.append((line, items))
            items = []
        elif part == ")":
            if not open_forms:
                source.refuse(
                    "a closing parenthesis has no opening parenthesis", line, "remove it, or add the opening one"
                )
            began, outer = open_forms.pop()
            outer.append(Form(tuple(items), began))
            items = outer
        else:
            if len(part) > WORD_MAX:
                source.refuse(f"a word has {len(part):,} characters; at most {WORD_MAX} are allowed", line)
            items.append(Word(part.lower(), line))
    if open_forms:
        source.refuse("a ( is never closed", open_forms[-1][0], "add the missing )")
    return items


def _parts(text: str) -> Iterator[str]:
    for match in _PART.finditer(text):
        if (part := match[0])[0] != ";":
            yield part


def format_expression(expression: Expression) -> str:
    """Return an expression as PDDL for a message. A long expression is cut off."""
    match expression:
        case Word():
            return printable(expression.text)
        case Form():
            text = (
                f"({' '.join(map(format_expression, expression.items[:8]))}{' …' if len(expression.items) > 8 else ''})"
            )
            return printable(text)
