"""The search tool: searches a folder or a service, and records the passages as JSON. It changes nothing.

It is called with `{"query": TEXT, "limit": NUMBER}`. What it returns is recorded in the run:
quotes are checked against the record, and a search that has succeeded is never made again.
"""

import operator
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import trio
from pydantic import Field

from actors.documents.index import DocumentIndex, open_index
from actors.documents.mcp_search import mcp_search_call
from actors.documents.passages import PASSAGES_MAX, SearchFault, search_output
from actors.documents.search_config import McpSearch
from actors.files.validation_errors import Config
from actors.handlers.tools import PreparedCall, Tool, ToolResult
from actors.run.tools import ToolOutcome

SEARCH = "search"
"""The name of the tool."""


class SearchPlaces(Config):
    """The places that a run searches; a folder wins, and without any every search finds nothing."""

    folder: Annotated[str, Field(max_length=4096)] = ""
    """The absolute path of a folder of documents; empty for none."""
    endpoint: Annotated[str, Field(max_length=2000)] = ""
    """The address of a service with SearXNG's JSON interface, such as `https://HOST/search`; empty for none."""
    mcp: McpSearch | None = Field(default=None, exclude_if=operator.not_)
    """The search tool of an MCP server; None for none."""


def search_tool(
    places: SearchPlaces, *, threads: bool = True, outside: Mapping[str, str] | None = None, home: Path = Path("/")
) -> Tool:
    """Return the tool that searches these places. Without `threads`, the index is built in the event loop.

    `outside` is the environment of the driver, and `home` the folder in which a server that is a program is started.
    """

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        await trio.lowlevel.checkpoint()
        query, limit = arguments.get("query"), arguments.get("limit", PASSAGES_MAX)
        most = min(limit, PASSAGES_MAX) if isinstance(limit, int) else PASSAGES_MAX
        asked = query if isinstance(query, str) else ""
        if places.mcp is not None and not places.folder:
            async with mcp_search_call(places.mcp, asked, most, outside or {}, home) as call:
                yield call
        else:
            yield _SearchCall(places, asked, most, threads)

    return Tool(SEARCH, prepare)


@dataclass(frozen=True, slots=True)
class _SearchCall(PreparedCall):
    """A prepared call of the search tool that searches a folder or a search service."""

    places: SearchPlaces
    """Where it searches."""
    query: str
    """The query; nothing in it is an operator."""
    limit: int
    """The most passages that it returns."""
    threads: bool
    """Whether the index is built in a worker thread."""

    async def run(self) -> ToolResult:
        """Search the folder, or the service where there is no folder."""
        output = search_output((), (), 0)
        if self.places.folder:
            try:
                work = partial(_in_folder, Path(self.places.folder), self.query, self.limit)
                output = await trio.to_thread.run_sync(work, abandon_on_cancel=True) if self.threads else work()
            except OSError as error:
                reason = f"{SearchFault.NO_FOLDER}: {self.places.folder}: {(error.strerror or str(error)).lower()}"
                return ToolResult(ToolOutcome.FAILED, reason=reason)
        elif self.places.endpoint:
            from actors.documents.web_search import WebSearchFailed, search_web  # noqa: PLC0415 - it loads a client

            try:
                passages = await search_web(self.places.endpoint, self.query, self.limit)
            except WebSearchFailed as failure:
                return ToolResult(ToolOutcome.TRANSIENT if failure.passing else ToolOutcome.FAILED, reason=str(failure))
            output = search_output(passages, (), len(passages))
        return ToolResult(ToolOutcome.SUCCEEDED, output)


def _in_folder(folder: Path, query: str, limit: int) -> str:
    index: DocumentIndex = open_index(folder)
    return search_output(index.search(query, limit), index.notices, index.documents)
