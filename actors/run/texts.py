"""The cleaning of texts from outside before they are stored."""


def storable(text: str) -> str:
    """Return the text with lone surrogates replaced: they have no UTF-8 and could not be written."""
    return text.encode("utf-8", "replace").decode()
