"""The parts of the page about the HTTP API, and its OpenAPI document."""

from page_parts.markdown import table
from replan.web.api_openapi import openapi
from replan.web.api_operations import OPERATIONS
from replan.web.api_routes import openapi_text

FILE = "reference/openapi.json"
"""The published document, in the documentation's folder."""


def operations() -> str:
    """Return the table of operations."""
    return table(
        ("Operation", "Scope", "What it does"),
        ((f"`{each.method} {each.path}`", f"`{each.scope}`", each.summary) for each in OPERATIONS),
    )


def sent() -> str:
    """Return the table of the keys of each body that is sent."""
    schemas, rows = openapi()["components"]["schemas"], []
    for operation in OPERATIONS:
        if operation.body is not None:
            keys = schemas[operation.body.__name__].get("properties", {})
            needed = schemas[operation.body.__name__].get("required", [])
            names = ", ".join(f"`{key}`{' (needed)' if key in needed else ''}" for key in keys) or "none"
            rows.append((f"`{operation.path}`", names))
    return table(("Body of", "Keys"), rows)


PARTS = {"http-operations": operations, "http-bodies": sent}
DOCUMENTS = {FILE: openapi_text}
