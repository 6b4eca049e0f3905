"""The search tool: searches a folder, a service or an MCP server, and returns the passages as JSON.

The arguments of the tool are `query` (a text) and `limit` (a number). The tool changes nothing. The run records the
result, and later checks a model's quotes against it. After a crash, a search with a recorded result is not repeated.
"""

import json
import operator
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import trio
from pydantic import Field

from actors.files.validation_errors import Config
from actors.handlers.tools import PreparedCall, Tool, ToolResult
from actors.run.tools import ToolOutcome
from replan_acquire.documents.index import DocumentIndex, open_index
from replan_acquire.documents.passages import (
    PASSAGES_MAX,
    QUERY_CHARACTERS_MAX,
    Passage,
    SearchFault,
    found_passage,
    passages_of,
    search_output,
)
from replan_acquire.documents.search_config import McpSearch
from replan_acquire.documents.text_document import text_document

OUTPUT_BYTES_MAX = 1024 * 1024
RESULTS_READ = 100
_LISTS = ("results", "passages", "documents", "hits", "items", "matches", "data", "result")
_TEXTS = ("text", "content", "snippet", "excerpt", "passage", "chunk", "body", "summary", "description")
_SOURCES = ("source", "url", "uri", "link", "path", "file", "id", "name", "title")
_TITLES = ("title", "name", "heading")
_PLACES = ("place", "location", "page", "line")


@asynccontextmanager
async def _mcp_search_call(
    search: McpSearch, query: str, limit: int, outside: Mapping[str, str], home: Path
) -> AsyncIterator[PreparedCall]:
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
    call: PreparedCall
    server: str
    """The name of the source for results that state none."""
    limit: int

    @property
    def process(self) -> str:
        """The name of the server's process group; empty if the server is reached by an address."""
        return self.call.process

    async def run(self) -> ToolResult:
        """Ask the server, and return its answer as passages."""
        done = await self.call.run()
        if done.outcome is not ToolOutcome.SUCCEEDED:
            return done
        found = list(read_answer(done.output, self.server))[: self.limit]
        return ToolResult(ToolOutcome.SUCCEEDED, search_output(found, (), len(found)))


def read_answer(text: str, server: str) -> Iterator[Passage]:
    """Yield the passages of a server's answer: the results in its list.

    If the answer has no list, its text is divided into passages.
    """
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
    text, title, place = (_first_text(result, names) for names in (_TEXTS, _TITLES, _PLACES))
    if not text.strip():
        return None
    return found_passage(_first_text(result, _SOURCES) or server, title, text, place)


def _first_text(result: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = result.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{name} {value}"
    return ""


SEARCH = "search"


class SearchPlaces(Config):
    """The places that a run searches. A folder takes precedence. If there is no place, every search finds nothing."""

    folder: Annotated[str, Field(max_length=4096)] = ""
    """The absolute path of a folder of documents; empty if there is no folder."""
    endpoint: Annotated[str, Field(max_length=2000)] = ""
    """The address of a service with SearXNG's JSON interface, such as `https://HOST/search`; empty if there is no
    service.
    """
    mcp: McpSearch | None = Field(default=None, exclude_if=operator.not_)
    """The search tool of an MCP server; None if there is no server."""


def search_tool(
    places: SearchPlaces, *, threads: bool = True, outside: Mapping[str, str] | None = None, home: Path = Path("/")
) -> Tool:
    """Return the tool that searches the places.

    `threads` tells whether the index is built in a worker thread instead of the event loop. `outside` has the
    environment variables of the driver. An MCP server that is a program is started in the folder `home`.
    """

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        await trio.lowlevel.checkpoint()
        query, limit = arguments.get("query"), arguments.get("limit", PASSAGES_MAX)
        most = min(limit, PASSAGES_MAX) if isinstance(limit, int) else PASSAGES_MAX
        query_text = query if isinstance(query, str) else ""
        if places.mcp is not None and not places.folder:
            async with _mcp_search_call(places.mcp, query_text, most, outside or {}, home) as call:
                yield call
        else:
            yield _SearchCall(places, query_text, most, threads)

    return Tool(SEARCH, prepare)


@dataclass(frozen=True, slots=True)
class _SearchCall(PreparedCall):
    places: SearchPlaces
    query: str
    """The query as plain words. No word acts as an operator."""
    limit: int
    threads: bool
    """Whether the index is built in a worker thread instead of the event loop."""

    async def run(self) -> ToolResult:
        """Search the folder, or the service if there is no folder."""
        output = search_output((), (), 0)
        if self.places.folder:
            try:
                work = partial(_search_folder, Path(self.places.folder), self.query, self.limit)
                output = await trio.to_thread.run_sync(work, abandon_on_cancel=True) if self.threads else work()
            except OSError as error:
                reason = f"{SearchFault.NO_FOLDER}: {self.places.folder}: {(error.strerror or str(error)).lower()}"
                return ToolResult(ToolOutcome.FAILED, reason=reason)
        elif self.places.endpoint:
            from replan_acquire.documents.web_search import WebSearchFailed, search_web  # noqa: PLC0415 - it loads a client

            try:
                passages = await search_web(self.places.endpoint, self.query, self.limit)
            except WebSearchFailed as failure:
                return ToolResult(ToolOutcome.TRANSIENT if failure.passing else ToolOutcome.FAILED, reason=str(failure))
            output = search_output(passages, (), len(passages))
        return ToolResult(ToolOutcome.SUCCEEDED, output)


def _search_folder(folder: Path, query: str, limit: int) -> str:
    index: DocumentIndex = open_index(folder)
    return search_output(index.search(query, limit), index.notices, index.documents)
