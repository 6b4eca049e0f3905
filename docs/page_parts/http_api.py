"""The parts of the page about the HTTP API, and its OpenAPI document."""

from page_parts.markdown import table
from replan.web.api_openapi import addressed, openapi
from replan.web.api_routes import openapi_text

FILE = "reference/openapi.json"
"""The published document, in the documentation's folder."""


def operations() -> str:
    """Return the table of operations."""
    return table(
        ("Operation", "Scope", "What it does"),
        ((f"`{at.method} {at.path}`", f"`{each.scope}`", each.summary) for each, at in addressed()),
    )


def sent() -> str:
    """Return the table of the keys of each body that is sent."""
    schemas, rows = openapi()["components"]["schemas"], []
    for _, address in addressed():
        if address.body is not None:
            keys = schemas[address.body.__name__].get("properties", {})
            needed = schemas[address.body.__name__].get("required", [])
            names = ", ".join(f"`{key}`{' (needed)' if key in needed else ''}" for key in keys) or "none"
            rows.append((f"`{address.path}`", names))
    return table(("Body of", "Keys"), rows)


PARTS = {"http-operations": operations, "http-bodies": sent}
DOCUMENTS = {FILE: openapi_text}
