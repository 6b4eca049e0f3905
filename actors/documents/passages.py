"""Passages: pieces of documents with their place, and the JSON in which a search is recorded. Pure."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from actors.quantities.numerals import DecimalMark

PASSAGES_MAX = 10
"""Passages of one search."""
PASSAGE_CHARACTERS_MAX = 1500
"""Characters of one passage."""
NAME_CHARACTERS_MAX = 500
"""Characters of a source and of a title."""
NOTICES_MAX = 20
"""Notices of one search; one more line says how many there are."""
QUERY_CHARACTERS_MAX = 400
"""Characters of a query; the rest is not used."""


class SearchFault(StrEnum):
    """Why a search brought nothing."""

    DOWN = "search.down"  # no connection, or it broke
    SLOW = "search.slow"  # no answer within the time limit
    REFUSED = "search.refused"  # a status that is no success
    REDIRECTED = "search.redirected"  # redirects are not followed
    NOT_JSON = "search.not_json"  # such as an HTML page
    TOO_LARGE = "search.too_large"  # over the limit of an answer
    PRIVATE_ADDRESS = "search.private_address"  # the service's name leads into a private network
    NO_FOLDER = "search.no_folder"  # the folder of documents is not there any more


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document. Its text is data: nothing in it is ever obeyed."""

    source: str
    """The file's path within its folder, or the address of a page."""
    title: str
    """The document's title, and the heading that the passage stands under."""
    text: str
    """The text, at most `PASSAGE_CHARACTERS_MAX` characters."""
    first_line: int = 1
    """The line of the file in which it begins, from 1."""
    last_line: int = 1
    """The line of the file in which it ends."""
    decimal_mark: DecimalMark = ""
    """The decimal mark of the document; empty where nothing tells."""
    language: str = ""
    """The language of the document as a code; empty where it is not clear."""


def search_output(passages: Sequence[Passage], notices: Sequence[str], searched: int) -> str:
    """Return what a search records: the passages, best first, the notices, and how many documents were searched."""
    shown = list(notices[:NOTICES_MAX])
    if len(notices) > len(shown):
        shown.append(f"{len(notices) - len(shown)} more files are left out or read in part")
    content = {"passages": [asdict(passage) for passage in passages], "notices": shown, "searched": searched}
    return json.dumps(content, ensure_ascii=False)


def storable(text: str) -> str:
    """Return a text without zero bytes and halves of surrogate pairs, which no journal stores."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
