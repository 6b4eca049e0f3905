"""Files that the user gives a run beside the problem, and their form in a run's first record. Pure."""

from functools import cache
from typing import Literal

from pydantic import TypeAdapter

from runtime.core.events import Value

ATTACHMENT_BYTES_MAX = 64_000
"""Of one file or listing; a longer one is cut."""
ATTACHMENTS_BYTES_MAX = 256_000
"""Of all of them together, names included: about 64,000 tokens, in every prompt of the run."""


class Attachment(Value):
    """A file, or the list of a folder's files."""

    name: str
    """The path as the user named it, or relative to the repository."""
    text: str
    """The content, without what looks like a secret; for a listing a path per line."""
    kind: Literal["file", "listing"] = "file"
    """What it is."""
    left_out: int = 0
    """How many bytes of a file, or paths of a listing, were left out."""

    @property
    def shown(self) -> str:
        """The text that a prompt shows: the name, then the content."""
        unit = "bytes" if self.kind == "file" else "files"
        more = f"\n({self.left_out:,} more {unit})" if self.left_out else ""
        return f"{self.name}\n\n{self.text}{more}"


@cache
def _adapter() -> TypeAdapter[tuple[Attachment, ...]]:
    return TypeAdapter(tuple[Attachment, ...])


def stored_form(attachments: tuple[Attachment, ...]) -> str:
    """Return attachments as the text that a record holds; empty for none."""
    return _adapter().dump_json(attachments, exclude_defaults=True).decode() if attachments else ""


def read_stored(text: str) -> tuple[Attachment, ...]:
    """Return the attachments in a record's text. Raises `pydantic.ValidationError`."""
    return _adapter().validate_json(text) if text else ()
