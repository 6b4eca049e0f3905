"""The sanitizer for texts of models and users that are shown on a terminal.

Control characters in a text could move the cursor, forge a status line, write to the clipboard, or change the order of
the displayed words. Only printable text, line feeds and tabs pass. JSON output needs no sanitizer, because it is
escaped.
"""

import re
import unicodedata

_SEQUENCES = re.compile(
    # OSC, DCS, APC, PM, SOS: the whole sequence if it is terminated, else only to the end of the line, so that later
    # lines stay visible. A body ends at any other control sequence, as in a terminal, so the search is linear.
    "(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])"
    "(?:[^\x07\x18\x1a\x1b\x80-\x9f]*(?:\x07|\x1b\\\\|\x9c)|[^\n\x07\x18\x1a\x1b\x80-\x9f]*)"
    # A CSI sequence, with its final byte if there is one.
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    # All other escapes.
    "|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_INVISIBLE = re.compile(r"[^\x20-\x7e]")


def clean(text: str, *, one_line: bool = False, width: int | None = None) -> str:
    """Return a text that is safe to show on a terminal.

    Removed are whole control sequences, the control characters of C0 (except line feed and tab) and C1, and controls of
    the writing direction. A lone surrogate becomes U+FFFD. With `one_line`, format characters (also zero-width ones)
    are removed too, and white space becomes single spaces. With `width` (columns, at least 1), longer lines are cut and
    end in an ellipsis. A tab counts as one column.
    """
    if width is None and text.isascii() and text.isprintable():  # Most texts are printable.
        return " ".join(text.split()) if one_line else text
    text = _SEQUENCES.sub("", text).replace("\r\n", "\n")
    text = _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))
    if one_line:
        text = " ".join(_INVISIBLE.sub(_visible, text).split())
    if width is not None:
        text = "\n".join(_cut(line, width) for line in text.split("\n"))
    return text


def _visible(match: re.Match[str]) -> str:
    return "" if unicodedata.category(match[0]) == "Cf" else match[0]


def _cut(line: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 -- most texts are not cut

    if cell_len(line) <= width:
        return line
    return set_cell_size(line, width - 1).rstrip() + "…"
