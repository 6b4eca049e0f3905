"""Hooks of the site of the documentation: how the search weighs pages, and links to files that the site lacks."""

import re
from typing import Any

BOOSTS = {"common-questions.md": 20.0, "how-to": 2.0, "tutorial": 1.5}
"""How much a page, or a page of a section, counts in the search; other pages count 1."""

_LINK_TO_CHECKOUT = re.compile(r"\[([^\]]+)\]\(\.\./\.\./([^)]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Weigh a page in the search by its section, and name files of the checkout instead of linking to them."""
    section = page.file.src_uri.partition("/")[0]
    page.meta["search"] = {"exclude": True} if page.is_homepage else {"boost": BOOSTS.get(section, 1.0)}
    return _LINK_TO_CHECKOUT.sub(r"\1 (`\2`)", markdown)
