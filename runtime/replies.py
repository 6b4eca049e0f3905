"""Reading what a model wrote: find the one JSON value in it, and parse it strictly.

`read_reply(text)` never raises. It gives either the value or a code out of the closed set `ReplyCode` with a message.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ReplyCode(StrEnum):
    """Why a reply has no value. These strings are finding codes (`configs/policies/` names them)."""

    EMPTY = "reply.empty"
    TOO_LARGE = "reply.too_large"
    NOT_JSON = "reply.not_json"
    TOO_DEEP = "reply.too_deep"
    DUPLICATE_KEY = "reply.duplicate_key"
    NOT_FINITE = "reply.not_finite"
    BAD_TEXT = "reply.bad_text"  # lone surrogates and the like


@dataclass(frozen=True, slots=True)
class Parsed:
    """The JSON value found in a reply."""

    value: Any


@dataclass(frozen=True, slots=True)
class Unreadable:
    """No JSON value was found; `message` is one sentence for the model and for people."""

    code: ReplyCode
    message: str
