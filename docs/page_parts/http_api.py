"""The parts of the page about the HTTP API, and its OpenAPI document."""

from page_parts.markdown import arguments
from replan.web.api_openapi import addressed, openapi
from replan.web.api_routes import openapi_text

FILE = "reference/openapi.json"
"""The published document, in the documentation's folder."""


def operations() -> str:
    """Return the list of operations, each with the keys of the body that is sent."""
    schemas, rows = openapi()["components"]["schemas"], []
    for each, at in addressed():
        schema = schemas[at.body.__name__] if at.body is not None else {}
        takes = arguments(schema.get("properties", {}), schema.get("required", []))
        body = f" *Body:* {takes}." if at.body is not None else ""
        rows.append(f"- `{at.method} {at.path}` (`{each.scope}`): {each.summary}{body}")
    return "\n".join(rows)


PARTS = {"http-operations": operations}
DOCUMENTS = {FILE: openapi_text}
