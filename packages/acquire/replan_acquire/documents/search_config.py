"""The settings for the search tool of an MCP server, in the config file and in the configuration of a run. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from actors.files.validation_errors import Config, config_error


class McpSearch(Config):
    """The search tool of an MCP server."""

    url: Annotated[str, Field(max_length=2000)] = ""
    """The address of a running server, such as `https://HOST/mcp`; empty if `command` is given."""
    command: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """The program of the server, with its arguments; empty if `url` is given."""
    environment: tuple[str, ...] = ("PATH", "HOME")
    """The environment variables of the program. `NAME` copies the variable of this process; `NAME=value` sets one."""
    token_variable: str = ""
    """The environment variable that has the bearer token for the address; empty for no token."""
    tool: Annotated[str, Field(min_length=1, max_length=200)]
    """The name of the server's search tool."""
    arguments: Mapping[str, Any] = Field(default_factory=lambda: {"query": "{query}"})
    """The arguments of the tool. `{query}` stands for the query, and `{limit}` for the number of passages."""

    @model_validator(mode="after")
    def _require_one_place(self) -> "McpSearch":
        if bool(self.url) == bool(self.command):
            raise config_error("a server needs either `url` or `command`", ("url",), "give exactly one of them")
        return self
