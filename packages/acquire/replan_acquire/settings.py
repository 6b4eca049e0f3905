"""The keys of the config file `config.yaml` that acquisitions read."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from actors.files.validation_errors import Config, config_error
from replan.setup.settings import UserConfig
from replan_acquire.documents.search_config import McpSearch
from runtime.core.errors import UsageProblem
from runtime.models.providers import check_base_url


class SearchEntry(Config):
    """The search service or the MCP server for acquisitions without a folder of documents."""

    endpoint: Annotated[str, Field(max_length=2000)] = ""
    """The address of a service with SearXNG's JSON interface, such as `https://HOST/search`."""
    mcp: McpSearch | None = None
    """The search tool of an MCP server, in place of an endpoint."""

    @model_validator(mode="after")
    def _is_allowed(self) -> Self:
        if bool(self.endpoint) == (self.mcp is not None):
            raise config_error("a search needs either `endpoint` or `mcp`", ("endpoint",), "give exactly one of them")
        for key, address in (("endpoint", self.endpoint), ("mcp", "" if self.mcp is None else self.mcp.url)):
            try:
                if address:
                    check_base_url(address, place=key)
            except UsageProblem as problem:
                raise config_error(problem.cause, (key,), "such as https://HOST/search") from None
        return self


class AcquisitionsEntry(Config):
    """The profiles and documents that clients of `replan serve` and `replan mcp` may choose."""

    profiles: Mapping[str, str] = Field(default_factory=dict)
    """Further profiles by the name that clients use. Paths are relative to the config's folder."""
    documents: Mapping[str, str] = Field(default_factory=dict)
    """Folders of documents by the name that clients use. Paths are relative to the config's folder."""


class AcquireConfig(UserConfig):
    """The config file with the keys of acquisitions."""

    secret_keys: ClassVar[tuple[str, ...]] = ("search",)
    """The keys of this class whose values may contain a secret, or an address with a token."""

    search: SearchEntry | None = None
    """The search service for acquisitions. Without a service, only folders of documents are searched."""
    acquisitions: AcquisitionsEntry = Field(default_factory=AcquisitionsEntry)
    """The profiles and documents that clients may choose."""
