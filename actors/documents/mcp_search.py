"""Searches with the search tool of an MCP server. What it answers is read as passages, within limits.

The answer is JSON with a list of results, or plain text. Of a result count the first of the usual names for its text,
its source, its title and its place.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.documents.passages import (
    NAME_CHARACTERS_MAX,
    PASSAGE_CHARACTERS_MAX,
    QUERY_CHARACTERS_MAX,
    Passage,
    clean_text,
    passages_of,
    search_output,
)
from actors.documents.search_config import McpSearch
from actors.documents.text_document import text_document
from actors.handlers.tools import PreparedCall, ToolResult
from actors.quantities.decimal_marks import decimal_mark, language_of
from actors.run.tools import ToolOutcome

OUTPUT_BYTES_MAX = 1024 * 1024
"""Bytes of an answer."""
RESULTS_READ = 100
"""Results of an answer that are looked at."""
_LISTS = ("results", "passages", "documents", "hits", "items", "matches", "data", "result")
_TEXTS = ("text", "content", "snippet", "excerpt", "passage", "chunk", "body", "summary", "description")
_SOURCES = ("source", "url", "uri", "link", "path", "file", "id", "name", "title")
_TITLES = ("title", "name", "heading")
_PLACES = ("place", "location", "page", "line")


@asynccontextmanager
async def mcp_search_call(
    search: McpSearch, query: str, limit: int, outside: Mapping[str, str], home: Path
) -> AsyncIterator[PreparedCall]:
    """Yield the call of a search; `outside` is the driver's environment, with the token where one is needed."""
    from actors.tools.mcp_calls import open_call  # noqa: PLC0415 - most runs ask no server
    from actors.tools.specs import McpSpec  # noqa: PLC0415 - as above

    spec = McpSpec(
        name="search",
        server="search",
        remote=search.tool,
        arguments=json.dumps(search.arguments),
        argv=search.command,
        folder=str(home),
        environment=search.environment,
        url=search.url,
        token_variable=search.token_variable,
        parameters={},
        repeatable=True,
        output_bytes=OUTPUT_BYTES_MAX,
    )
    values = {"query": query[:QUERY_CHARACTERS_MAX], "limit": limit}
    async with open_call(spec, values, outside, home) as call:
        yield _McpSearchCall(call, f"mcp:{search.url or search.command[0]}", limit)


@dataclass(frozen=True, slots=True)
class _McpSearchCall(PreparedCall):
    """One search with a server."""

    call: PreparedCall
    """The call of its tool."""
    server: str
    """The source of what names none."""
    limit: int
    """The most passages that it returns."""

    @property
    def process(self) -> str:
        """The name of the server's process group; empty for an address."""
        return self.call.process

    async def run(self) -> ToolResult:
        """Ask the server, and record its answer as passages."""
        done = await self.call.run()
        if done.outcome is not ToolOutcome.SUCCEEDED:
            return done
        found = list(read_answer(done.output, self.server))[: self.limit]
        return ToolResult(ToolOutcome.SUCCEEDED, search_output(found, (), len(found)))


def read_answer(text: str, server: str) -> Iterator[Passage]:
    """Yield the passages of an answer; the whole text is one document where it is no list of results."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [value])
    if isinstance(value, list):
        for result in value[:RESULTS_READ]:
            if (passage := _passage(result, server)) is not None:
                yield passage
        return
    document, _ = text_document(server, text.encode("utf-8", "replace"))
    if document is not None:
        yield from passages_of(document)


def _passage(result: object, server: str) -> Passage | None:
    if isinstance(result, str):
        result = {"text": result}
    if not isinstance(result, dict):
        return None
    text = clean_text(_document_name(result, _TEXTS))[:PASSAGE_CHARACTERS_MAX]
    if not text.strip():
        return None
    source = clean_text(_document_name(result, _SOURCES) or server)[:NAME_CHARACTERS_MAX]
    title, place = (clean_text(_document_name(result, names)) for names in (_TITLES, _PLACES))
    language = language_of(text)
    return Passage(
        source,
        title[:NAME_CHARACTERS_MAX],
        text,
        decimal_mark=decimal_mark(text, language),
        language=language,
        places=((0, place[:100]),) if place else (),
    )


def _document_name(result: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = result.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{name} {value}"
    return ""
