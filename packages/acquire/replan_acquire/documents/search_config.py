"""The search tool of an MCP server, as named by settings files and by the configuration of a run. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from actors.files.validation_errors import Config, config_error


class McpSearch(Config):
    """The search tool of an MCP server."""

    url: Annotated[str, Field(max_length=2000)] = ""
    """The address of a server that listens, such as `https://HOST/mcp`; empty for a program."""
    command: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """The program that is the server, with its arguments; empty for an address."""
    environment: tuple[str, ...] = ("PATH", "HOME")
    """The environment variables that the program sees: `NAME` is passed on, `NAME=value` is set."""
    token_variable: str = ""
    """The environment variable with the bearer token of an address; empty for none."""
    tool: Annotated[str, Field(min_length=1, max_length=200)]
    """The name of the search tool at the server."""
    arguments: Mapping[str, Any] = Field(default_factory=lambda: {"query": "{query}"})
    """Its arguments; in their texts `{query}` stands for the query and `{limit}` for the number of passages."""

    @model_validator(mode="after")
    def _require_one_place(self) -> "McpSearch":
        if bool(self.url) == bool(self.command):
            raise config_error("a server needs either `url` or `command`", ("url",), "give exactly one of them")
        return self
