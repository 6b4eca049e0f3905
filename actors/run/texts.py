"""The cleaning of texts from outside before they are stored."""

from typing import Annotated

from pydantic import BeforeValidator


def storable(text: str) -> str:
    """Return the text with lone surrogates replaced: they have no UTF-8 and could not be written."""
    return text.encode("utf-8", "replace").decode()


StorableText = Annotated[str, BeforeValidator(lambda text: storable(text) if isinstance(text, str) else text)]
"""A field for a text from outside, which is cleaned when the value is made."""
