"""Finds the JSON of a reply in its text or reasoning, and repairs JSON that is broken but unambiguous.

The library json-repair repairs commas, comments, quotes and line ends in strings. The library also guesses. So the
words and brackets of both texts are compared, and a repair with other words or brackets is rejected.
"""

import json
import re
from dataclasses import replace
from typing import Any

import trio

from runtime.models.port import Reply
from runtime.models.replies import (
    Parsed,
    ReplyCode,
    Unreadable,
    as_reasoning,
    candidates,
    is_whole,
    read_reply,
    respell,
)

REPAIR_MAX = 128 * 1024
"""The largest size, in characters, of a broken JSON text that the program tries to repair."""
THREAD_MIN = 8 * 1024
"""A broken JSON text with at least this many characters, which take 20 ms, is repaired in a thread."""
THOUGHTS_KEPT = 2_000
"""How many characters of reasoning are kept if a reply has nothing else."""

# The parts of a broken JSON text. A comment or string without an end is none of them.
_PARTS = {
    "double": r'"[^"\\]*+(?:\\.[^"\\]*+)*+"',
    "single": r"'[^'\\]*+(?:\\.[^'\\]*+)*+'",
    "number": r"-?\d[\d.]*+(?:[eE][+-]?\d++)?",
    "word": r"[A-Za-z_$][\w$]*+",
    "bracket": r"[\[\]{}]",
    "gap": r"[\s,:]++|//[^\n]*+|/\*.*?\*/|#[^\n]*+",
}
_PART = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _PARTS.items()), re.DOTALL)
_KEY_FOLLOWS = re.compile(r"\s*+:")
_NAMES = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}


async def find_json(reply: Reply, thoughts: str) -> Reply:
    """Return a reply whose text is the requested JSON; the same reply if none is found.

    `thoughts` is the model's reasoning. It replaces an empty text, because some servers put the JSON there. Reasoning
    without JSON is cut to its end and marked as reasoning.
    """
    if not reply.text.strip() and thoughts.strip():
        if not is_whole(thoughts) and await trio.to_thread.run_sync(_mend, thoughts.strip()) is None:
            return replace(reply, text=as_reasoning(thoughts[-THOUGHTS_KEPT:]))
        reply = replace(reply, text=thoughts, notices=(*reply.notices, "the reply was in the field for reasoning"))
    found = read_reply(reply.text)
    if not isinstance(found, Unreadable) or found.code is not ReplyCode.NOT_JSON:
        return reply
    repaired = await _repaired(reply.text)
    if repaired is None:
        return reply
    notice = "the JSON of the reply was broken, and could be read"
    return replace(reply, text=repaired, original=reply.text, notices=(*reply.notices, notice))


async def _repaired(text: str) -> str | None:
    if len(text) < THREAD_MIN:
        return repair(text)
    return await trio.to_thread.run_sync(repair, text)


def repair(text: str) -> str | None:
    """Return the repaired JSON of a broken reply; None if there is none, or if it is ambiguous."""
    found = (_mend(candidate) for candidate in candidates(text))
    return next((value for value in found if value is not None), None)


def _mend(text: str) -> str | None:
    """Return a broken object or array as the library repairs it; None if the words or brackets differ."""
    if len(text) > REPAIR_MAX or not text.startswith(("{", "[")):
        return None
    words = _words(text)
    if words is None:
        return None
    import json_repair  # noqa: PLC0415 -- few replies are broken

    try:
        mended = json.dumps(json_repair.loads(text, skip_json_loads=True), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return mended if _words(mended) == words and isinstance(read_reply(mended), Parsed) else None


def _words(text: str) -> list[tuple[str, Any]] | None:
    """Return the strings, numbers, names and brackets of a text, without commas, colons, blanks and comments.

    Return None if the text has anything else, such as a bare word that is neither a key nor a JSON value.
    """
    words: list[tuple[str, Any]] = []
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            return None
        at = part.end()
        kind = part.lastgroup or ""
        try:
            match kind:
                case "gap":
                    pass
                case "double":
                    words.append(("text", json.loads(part[kind], strict=False)))
                case "single":
                    words.append(("text", json.loads(f'"{respell(part[kind][1:-1])}"', strict=False)))
                case "number":
                    words.append(("number", json.loads(part[kind])))
                case "word" if _KEY_FOLLOWS.match(text, at):
                    words.append(("text", part[kind]))
                case "word" if part[kind] in _NAMES:
                    words.append(("name", _NAMES[part[kind]]))
                case "bracket":
                    words.append(("bracket", part[kind]))
                case _:
                    return None
        except ValueError:
            return None
    return words
