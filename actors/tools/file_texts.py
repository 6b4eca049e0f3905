"""The texts between the workspace and a model: the output of `workspace:read`, and a reply as a file. Pure."""

import json
import re
from collections.abc import Mapping

_FENCE = re.compile(r"\s*(?P<marks>`{3,}|~{3,})[^\n`]*\n(?P<text>.*?)\n?(?P=marks)[ \t]*\s*", re.DOTALL)


def output_of(files: Mapping[str, str | None]) -> str:
    """Return the output of `workspace:read` for the texts read, None for a file that is not there."""
    return json.dumps({"files": files}, ensure_ascii=False, separators=(",", ":"))


def read_file_output(output: str) -> dict[str, str | None]:
    """Return the texts in an output of `workspace:read` by path, in the order asked for; None for a missing file.

    Raises `ValueError` for any other text.
    """
    value = json.loads(output)
    files = value.get("files") if isinstance(value, dict) else None
    if not isinstance(files, dict) or not all(text is None or isinstance(text, str) for text in files.values()):
        raise ValueError("this is not an output of workspace:read")
    return files


def file_in(reply: str) -> str:
    """Return the file that a model's reply is: the content of the one code block that it consists of, or all of it.

    It ends with one line feed, unless it is empty.
    """
    whole = _FENCE.fullmatch(reply)
    text = whole["text"] if whole and whole["marks"] not in whole["text"] else reply
    body = text.rstrip("\n")
    return f"{body}\n" if body.strip() else ""
