"""The tools file as data: the user's tools and MCP servers, and the bindings of generators, guards and steps. Pure."""

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, JsonValue, StringConstraints, Tag, field_validator
from pydantic import model_validator as checks

from actors.files.validation_errors import Config, KeyPath, config_error
from actors.tools.bindings_config import Bound, ParameterName, PlanName, StepBinding, ToolName
from actors.tools.parameters import PATTERN_CHARACTERS_MAX, Parameter, Regex, path_problem
from actors.tools.specs import PLACEHOLDER, parameters_in, placeholders
from runtime.core.entry_points import PluginGroup
from runtime.core.errors import UsageProblem
from runtime.models.providers import check_base_url

_SHELLS = frozenset({"sh", "ash", "bash", "csh", "dash", "fish", "ksh", "tcsh", "zsh", "cmd", "powershell", "pwsh"})
_OPERATOR = re.compile(r"(\|\|?|&&?|\|&|;;?|[0-9]*(<|>)[<>&|]?.*|&>.*)")
_EXPANSION = re.compile(r"\$(\w+|[({@*#?$!-])|`")
_IN_A_PROGRAM = re.compile(r"[\s|&;<>()$`\"'*?\[\]]")
_CODE_OPTION = re.compile(r"-[a-z]*c[a-z]*|/[cC]|-Command", re.IGNORECASE)

USE_A_SCRIPT = "put the command into a script beside this file, and name the script"
"""The hint about a command that needs a shell."""


def _as_list(line: str) -> str:
    """Return a one-line command as a YAML list; empty if a shell might split or change it in another way."""
    try:
        words = shlex.split(line)
    except ValueError:
        return ""
    return f"[{', '.join(words)}]" if words and not any(_word_problem(word) for word in words) else ""


def _word_problem(word: str) -> str:
    """Return why an argument needs a shell or cannot be passed to a program, as a clause; empty if it can be passed."""
    if not word.isprintable() and any(character in word for character in "\0\n\r"):
        return "contains a line break or a NUL character"
    if _OPERATOR.fullmatch(word):
        return f"{word[:60]!r} means something only to a shell, but commands run without a shell"
    if found := _EXPANSION.search(word):
        return f"only a shell fills in {found.group()!r}, but commands run without a shell"
    if word.startswith("~"):
        return "only a shell fills in '~', but commands run without a shell"
    if set("{}") & set(PLACEHOLDER.sub("", word)):
        return "has a brace outside a parameter: write {{ or }} for the brace itself"
    return ""


def _program_problem(program: str) -> str:
    """Return why a text cannot be the name of a program, as a clause; empty if it can."""
    if not program:
        return "names no program"
    if found := _IN_A_PROGRAM.search(program):
        return f"a program's name cannot contain {found.group()!r}: write arguments as further entries of the list"
    return "a program's name cannot contain a parameter" if PLACEHOLDER.search(program) else ""


def _shell_code(words: Sequence[str]) -> int | None:
    """Return the position of an option, such as `-c` in `sh -c CODE`, that makes a shell run the next word as code.

    Return None if no option does this.
    """
    for position, (word, option) in enumerate(itertools.pairwise(words)):
        name = word.rpartition("/")[2].removesuffix(".exe")
        if name in _SHELLS and _CODE_OPTION.fullmatch(option):
            return position + 1
    return None


def _check_fixed_words(words: Sequence[str], key: str) -> None:
    """Raise an error if the words under a key are not a program and its arguments, or if they contain parameters."""
    for position, word in enumerate(words):
        cause = _program_problem(word) if position == 0 else ""
        if not cause:
            cause = _word_problem(word)
        if not cause and parameters_in(word):
            cause = "cannot contain a parameter"
        if cause:
            raise config_error(cause, (key, position))


def _refuse_command_line(value: Any) -> Any:
    """Return a command unchanged.

    Raises an error if the command is one text, which only a shell could split into words.
    """
    if isinstance(value, str):
        words = _as_list(value)
        hint = f"write {words}" if words else USE_A_SCRIPT
        raise config_error(
            "should be a list of a program and its arguments, because commands run without a shell", hint=hint
        )
    return value


Words = Annotated[tuple[str, ...], BeforeValidator(_refuse_command_line)]
"""A program and its arguments, as a list."""
TIMEOUT_SECONDS = 300.0
"""The default time limit of a tool's call, in seconds."""
OUTPUT_BYTES = 65_536
"""The largest number of bytes that are kept of a call's output, unless the tool sets another limit."""
OUTPUT_BYTES_MAX = 1024 * 1024
"""The largest value that a tools file can set for `output_bytes`."""
FILE_BYTES = 65_536
"""The default limit, in bytes, for the file that a model writes, and for all files together that the model reads."""
FILE_BYTES_MAX = 262_144
"""The largest value that a tools file can set for `file_bytes`."""
ENVIRONMENT = ("PATH", "HOME", "LANG")
"""The environment variables that a command sees by default."""

Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(=[^\x00]*)?$", max_length=4_000)]
"""An environment variable of a program. `NAME` passes the variable on from Replan's own environment. `NAME=value` sets
the variable."""


VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]


WritablePath = Annotated[str, StringConstraints(pattern=r"^(/|~/)[^\x00]*$", max_length=1_000)]
"""An absolute path, or a path below the user's home folder."""


class _Called(Config):
    """The keys of every kind of tool except `human`."""

    risk: Literal["none", "risky"] = "risky"
    """Whether a person must approve each call under `--approve risky`; with `none`, nobody must."""
    pre_check: Bound | None = None
    """A command, Python function or MCP tool that must succeed before each call."""
    disk_mb: int = Field(default=0, ge=0, le=1_000_000_000)
    """The free disk space that the tool needs, in megabytes (10^6 bytes), checked before the plan runs."""
    makes: tuple[str, ...] = Field(default=(), max_length=50)
    """The files and folders that a successful call makes in the workspace, for later steps."""
    undo: ToolName | None = None
    """For steps without an `undo`: the tool that undoes one successful call, `nothing`, or `irreversible`."""

    @field_validator("makes")
    @classmethod
    def _check_makes(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for position, path in enumerate(paths):
            if cause := path_problem(path):
                raise config_error(cause, (position,))
        return paths


class _Run(_Called):
    """The keys of every kind of tool that runs code."""

    parameters: dict[ParameterName, Parameter] = Field(default_factory=dict, max_length=50)
    """The parameters by name. Bindings give their values."""
    repeatable: bool = False
    """Whether a second call does no harm. If so, Replan may repeat a call after a crash or interruption."""
    timeout_seconds: float = Field(default=TIMEOUT_SECONDS, gt=0, le=86_400)
    """The time limit of a call, in seconds. A longer call is ended, and counts as a transient failure."""
    output_bytes: int = Field(default=OUTPUT_BYTES, ge=1, le=OUTPUT_BYTES_MAX)
    """The largest number of bytes of output that are kept. Further bytes are dropped."""

    def _check_used(self, used: Mapping[str, KeyPath]) -> None:
        """Raise an error unless the declared parameters are the keys of `used`.

        The values of `used` are places in the file.
        """
        for name, path in used.items():
            if name not in self.parameters:
                listed = f"parameters: {', '.join(self.parameters)}" if self.parameters else "add it under `parameters`"
                raise config_error(f"there is no parameter {name!r}", path, listed)
        for name in self.parameters:
            if name not in used:
                raise config_error(
                    "no argument uses this parameter", ("parameters", name), f"write {{{name}}} in an argument"
                )


ExitCode = Annotated[int, Field(ge=1, le=255, strict=True)]
"""An exit code that means a failure: a number from 1 to 255."""


class CommandTool(_Run):
    """A program that runs in the workspace, without a shell."""

    command: Words = Field(min_length=1, max_length=200)
    """The program and its arguments, as a list; `{name}` stands for a parameter."""
    wrap: Words = Field(default=(), max_length=200)
    """A program and fixed arguments to put before the command, such as a sandbox. `[isolated]` is built-in."""
    environment: tuple[Variable, ...] = Field(default=ENVIRONMENT, max_length=200)
    """The environment variables that the program sees, and no others: `NAME` is passed on, `NAME=value` is set."""
    transient_exit_codes: tuple[ExitCode, ...] = Field(default=(), max_length=255)
    """Exit codes of failures that may be temporary, so that a repeated call may succeed."""
    broken_exit_codes: tuple[ExitCode, ...] | None = Field(default=None, max_length=255)
    """Exit codes that mean that the program could not do its work, such as 2 to 5 of pytest."""
    failure_pattern: Regex = Field(default="", max_length=PATTERN_CHARACTERS_MAX)
    """A regular expression. If a line of the kept output matches it, exit code 0 is a failure."""

    @checks(mode="after")
    def _check_words(self) -> "CommandTool":
        for key, words in (("command", self.command), ("wrap", self.wrap)):
            for position, word in enumerate(words):
                if not position and (cause := _program_problem(word)):
                    raise config_error(cause, (key, 0), USE_A_SCRIPT if set(word) & set("|&;<>$`") else "")
                if cause := _word_problem(word):
                    raise config_error(cause, (key, position), USE_A_SCRIPT if "shell" in cause else "")
        words = (*self.wrap, *self.command)
        code = _shell_code(words)
        if code is not None:
            inside = code - len(self.wrap)
            path = ("command", inside) if inside >= 0 else ("wrap", code)
            raise config_error("a shell would run the next argument as code", path, USE_A_SCRIPT)
        for position, word in enumerate(self.wrap):
            if parameters_in(word):
                raise config_error("cannot contain a parameter", ("wrap", position))
        self._check_used(
            {name: ("command", at) for at, word in enumerate(self.command) for name in parameters_in(word)}
        )
        return self


class PythonTool(_Run):
    """A Python function that runs in Replan's process. It is synchronous, or async with anyio."""

    python: str = Field(max_length=500)
    """`module:function`, or `./FILE.py:function`, whose path is relative to the tools file's folder."""

    @field_validator("python")
    @classmethod
    def _check_entry(cls, entry: str) -> str:
        place, colon, function = entry.rpartition(":")
        named = place.endswith(".py") or all(part.isidentifier() for part in place.split("."))
        if not (colon and named and function.isidentifier()):
            raise config_error(f"should be module:function or ./FILE.py:function, not {entry[:60]!r}")
        return entry


TOOL_PLUGINS = PluginGroup(
    "replan.tools",
    "a module with check(settings) and call(settings, workspace, **arguments)",
    lambda value: all(callable(getattr(value, name, None)) for name in ("check", "call")),
    dict.fromkeys(("command", "python", "mcp", "model", "agent", "human"), ""),
)
"""The sorts of tools that installed packages add.

`check(settings)` raises `ValueError` for settings that cannot be used, and runs no tool. `call` does the work in the
folder `workspace`. Its results and exceptions mean the same as those of a Python tool.
"""


class PluginTool(_Run):
    """A tool of a sort that an installed package adds."""

    plugin: str = Field(max_length=200)
    """The name of the sort: an entry point of the group `replan.tools`."""
    settings: dict[str, JsonValue] = Field(default_factory=dict, max_length=100)
    """The settings of this tool, which the package defines."""


class McpServer(Config):
    """An MCP server: a program that is started for each call and uses its standard streams, or an address."""

    command: Words = Field(default=(), max_length=200)
    """The program and its arguments, as a list."""
    environment: tuple[Variable, ...] = Field(default=ENVIRONMENT, max_length=200)
    """The environment variables that the program sees, and no others: `NAME` is passed on, `NAME=value` is set."""
    url: str = Field(default="", max_length=2_000)
    """The address of a running server, such as `https://HOST/mcp`, instead of a program."""
    token: VariableName | None = None
    """The environment variable with the bearer token for the address."""

    @checks(mode="after")
    def _check_server(self) -> "McpServer":
        if bool(self.command) == bool(self.url):
            raise config_error("should have either `command` or `url`")
        if self.command and self.token is not None:
            raise config_error("is only for a server with a `url`", ("token",), "list the variable under `environment`")
        _check_fixed_words(self.command, "command")
        if self.url:
            try:
                check_base_url(self.url, place="url")
            except UsageProblem as problem:
                raise config_error(problem.cause, ("url",), "such as https://HOST/mcp") from None
        return self


class RemoteTool(Config):
    """The tool of an MCP server that is called."""

    server: ToolName
    """The server's name under `mcp_servers`."""
    tool: Annotated[str, Field(min_length=1, max_length=200)]
    """The name that the server gives the tool."""
    arguments: dict[Annotated[str, Field(max_length=200)], Any] | None = Field(default=None, max_length=100)
    """The arguments for the server. `{name}` in a text stands for a parameter; a text that is only `{name}` becomes the
    parameter's value. By default, each parameter is sent as the argument of the same name.
    """


class McpTool(_Run):
    """A tool of an MCP server. Replan ignores the server's hints about the tool, such as `readOnlyHint`."""

    mcp: RemoteTool
    """The server and its tool."""

    @checks(mode="after")
    def _check_arguments(self) -> "McpTool":
        if (arguments := self.mcp.arguments) is not None:
            places = {key: placeholders(value) for key, value in arguments.items()}
            self._check_used({name: ("mcp", "arguments", key) for key, names in places.items() for name in names})
        return self


class ModelFile(Config):
    """A file of the workspace that the run's model writes."""

    file: str
    """The path of the file below the workspace. The whole file is replaced, or created."""
    instructions: str = Field(min_length=1, max_length=20_000)
    """The instructions for the model."""
    context_files: tuple[str, ...] = Field(default=(), max_length=50)
    """Paths of other files below the workspace to show to the model."""
    missing: Literal["empty", "failure"] = "failure"
    """Whether a missing context file counts as empty or fails the step."""
    file_bytes: int = Field(default=FILE_BYTES, ge=1, le=FILE_BYTES_MAX)
    """The largest number of bytes in the written file, and in all read files together."""

    @checks(mode="after")
    def _check_paths(self) -> "ModelFile":
        if cause := path_problem(self.file):
            raise config_error(cause, ("file",))
        for position, path in enumerate(self.context_files):
            if cause := path_problem(path):
                raise config_error(cause, ("context_files", position))
        return self


class ModelTool(_Called):
    """A file that the run's model writes and a guard checks."""

    model: ModelFile
    """The file, and the instructions for it."""


class AgentCommand(Config):
    """A coding agent: a program that gets a prompt on its standard input and changes files of a worktree."""

    command: Words = Field(default=(), max_length=200)
    """The program and its arguments, as a list."""
    mcp: RemoteTool | None = None
    """Instead of a program: a tool of an MCP server that is started in the worktree; `{prompt}` stands for the prompt.
    """
    instructions: str = Field(min_length=1, max_length=20_000)
    """The instructions for the agent. The agent's prompt also has the step of the plan and the problem."""
    report: Literal["claude", "codex", "none"] = "none"
    """The form of the output: `claude` for `claude -p --output-format json`, `codex` for `codex exec --json`, or
    `none`. With `none`, a call's cost is unknown, and `max_cost_usd` is charged.
    """
    max_cost_usd: float = Field(ge=0, le=100_000, allow_inf_nan=False)
    """The largest cost of a call in dollars. Each call reserves it, and work that cost more is not merged."""
    timeout_seconds: float = Field(gt=0, le=86_400)
    """The time limit of a call, in seconds. A longer call is killed, and its work is not merged."""
    environment: tuple[Variable, ...] = Field(default=ENVIRONMENT, max_length=200)
    """The environment variables that the program sees, and no others: `NAME` is passed on, `NAME=value` is set."""
    confined: bool = True
    """Whether Linux lets the agent write only to its worktree, a folder for temporary files, and `writable`."""
    writable: tuple[WritablePath, ...] = Field(default=(), max_length=50)
    """Other files and folders that the agent may write, such as `~/.claude`."""
    repeatable: bool = False
    """Whether Replan calls the agent again after a crash, without asking a person. Unfinished work is not merged."""
    max_files: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 200
    """The largest number of files that the agent may change."""
    max_diff_bytes: Annotated[int, Field(strict=True, ge=1, le=OUTPUT_BYTES_MAX)] = 262_144
    """The largest number of bytes in the agent's changes as a diff."""
    output_bytes: int = Field(default=OUTPUT_BYTES, ge=1, le=OUTPUT_BYTES_MAX)
    """The largest number of bytes kept of the agent's final text."""

    @checks(mode="after")
    def _check_words(self) -> "AgentCommand":
        if bool(self.command) == (self.mcp is not None):
            raise config_error("should have either `command` or `mcp`")
        _check_fixed_words(self.command, "command")
        if (code := _shell_code(self.command)) is not None:
            raise config_error("a shell would run the next argument as code", ("command", code), USE_A_SCRIPT)
        if self.writable and not self.confined:
            raise config_error(
                "is only for a confined agent", ("writable",), "leave out `writable` or `confined: false`"
            )
        if self.mcp is not None:
            if self.report != "none" or "environment" in self.model_fields_set:
                key = "report" if self.report != "none" else "environment"
                raise config_error("is only for an agent with a `command`", (key,), "leave it out")
            if set(placeholders(self.mcp.arguments)) - {"prompt"} or not self.sent:
                raise config_error("should contain {prompt} and no other parameter", ("mcp", "arguments"))
        return self

    @property
    def sent(self) -> Mapping[str, Any]:
        """The arguments to send to the server's tool; empty if they do not contain the prompt."""
        arguments = None if self.mcp is None else self.mcp.arguments
        if arguments is None:
            arguments = {"prompt": "{prompt}"}
        return arguments if "prompt" in placeholders(arguments) else {}


class AgentTool(_Called):
    """Work of a coding agent. The step's guard checks the work before it is merged into the workspace."""

    agent: AgentCommand
    """The program, its instructions and its limits."""


class HumanTool(Config):
    """Work that a person does and reports, or a check that a person makes."""

    human: str = Field(min_length=1, max_length=20_000)
    """The instructions for the person."""


_KINDS = ("command", "python", "plugin", "mcp", "model", "agent", "human")


def _kind_of(value: Any) -> str | None:
    if not isinstance(value, dict):
        return next((f"a {kind}" for kind in _KINDS if hasattr(value, kind)), None)
    kinds = [kind for kind in _KINDS if kind in value]
    return f"a {kinds[0]}" if len(kinds) == 1 else None


AnyTool = Annotated[
    Annotated[CommandTool, Tag("a command")]
    | Annotated[PythonTool, Tag("a python")]
    | Annotated[PluginTool, Tag("a plugin")]
    | Annotated[McpTool, Tag("a mcp")]
    | Annotated[ModelTool, Tag("a model")]
    | Annotated[AgentTool, Tag("a agent")]
    | Annotated[HumanTool, Tag("a human")],
    Discriminator(
        _kind_of,
        custom_error_type="config",
        custom_error_message="should have exactly one of the keys command, python, plugin, mcp, model, agent, human",
        custom_error_context={"path": (), "hint": ""},
    ),
]
"""A tool in a tools file. A tool has exactly one of the keys `command`, `python`, `plugin`, `mcp`, `model`, `agent` and
`human`."""


class ToolsFile(Config):
    """A tools file: the tools that steps of plans may use, and the names of these tools in plans."""

    tools: dict[ToolName, AnyTool] = Field(max_length=200)
    """The tools by name."""
    mcp_servers: dict[ToolName, McpServer] = Field(default_factory=dict, max_length=50)
    """The MCP servers by name, for tools with the key `mcp`."""
    generators: dict[PlanName, Bound] = Field(default_factory=dict, max_length=1_000)
    """For each generator: the tool that executes its steps, as a name or `{tool, with}`."""
    guards: dict[PlanName, Bound] = Field(default_factory=dict, max_length=1_000)
    """For each guard: the tool that checks its steps."""
    steps: dict[PlanName, StepBinding] = Field(default_factory=dict, max_length=1_000)
    """The tools of single steps, by step id: `{generator, guard}`. They replace the tools under `generators` and
    `guards`.
    """
