"""Every bound of a tools file: what is at it is read, and what is one above it is refused with its place.

The table names each bound of the models of a tools file once; one that it lacks fails a test.
"""

import inspect

import pytest
from pydantic import ValidationError

from actors.files.validation_errors import Config
from actors.tools import bindings_config, parameters, tools_file
from actors.tools.parameters import INTEGER_MAX, PATTERN_CHARACTERS_MAX, TEXT_CHARACTERS_MAX
from actors.tools.tools_file import FILE_BYTES_MAX, OUTPUT_BYTES_MAX, ToolsFile


def names(number):
    return [f"n{each}" for each in range(number)]


def words(number):
    return ["ls", *["x"] * (number - 1)]


def command(**keys):
    return {"tools": {"t": {"command": ["ls"], **keys}}}


def with_parameter(**keys):
    return command(command=["ls", "{p}"], parameters={"p": keys})


def server(**keys):
    return {"tools": {}, "mcp_servers": {"s": keys}}


def remote(**keys):
    return {"tools": {"t": {"mcp": {"server": "s", "tool": "x", **keys}}}, "mcp_servers": {"s": {"command": ["ls"]}}}


def written(**keys):
    return {"tools": {"t": {"model": {"file": "a.py", "instructions": "Write it.", **keys}}}}


def declared(**keys):
    return {"tools": {"t": {"command": ["ls"]}}, "generators": {"g": {"tool": "t", "step": keys}}}


def bindings(key, name="t"):
    return lambda number: {"tools": {"t": {"command": ["ls"]}}, key: dict.fromkeys(names(number), name)}


def many_parameters(number):
    listed = {each: {"type": "path"} for each in names(number)}
    return command(command=["ls", *[f"{{{each}}}" for each in listed]], parameters=listed)


def codes(key):
    return lambda number: command(**{key: [1] * number})


def steps(number):
    return {"tools": {"t": {"command": ["ls"]}}, "steps": {each: {"guard": "t"} for each in names(number)}}


def read_from(**binding):
    """Return a tools file in which a generator reads the output of a command."""
    return {"tools": {"t": {"command": ["ls"]}}, "generators": {"g": {"tool": "t", **binding}}}


def agent(**fields):
    given = {"command": ["ls"], "instructions": "x", "report": "none", "max_cost_usd": 1, "timeout_seconds": 60}
    return {"tools": {"t": {"agent": given | fields}}}


LENGTHS = {
    "CommandTool.makes": (50, lambda n: command(makes=names(n))),
    "ToolsFile.tools": (200, lambda n: {"tools": {each: {"human": "Look."} for each in names(n)}}),
    "ToolsFile.mcp_servers": (50, lambda n: {"tools": {}, "mcp_servers": {s: {"command": ["ls"]} for s in names(n)}}),
    "ToolsFile.generators": (1_000, bindings("generators")),
    "ToolsFile.guards": (1_000, bindings("guards")),
    "ToolsFile.steps": (1_000, steps),
    "Binding.outcomes": (50, lambda n: read_from(outcomes=dict.fromkeys(names(n), "a"))),
    "Binding.values": (50, lambda n: read_from(values={name: {"pattern": "a"} for name in names(n)})),
    "StepTokens.preconditions": (200, lambda n: declared(preconditions=names(n))),
    "StepTokens.effects": (200, lambda n: declared(effects=names(n))),
    "StepTokens.delete_effects": (200, lambda n: declared(delete_effects=names(n))),
    "StepTokens.outcomes": (50, lambda n: declared(outcomes={name: {} for name in names(n)})),
    "OutcomeTokens.effects": (200, lambda n: declared(outcomes={"o": {"effects": names(n)}})),
    "OutcomeTokens.delete_effects": (200, lambda n: declared(outcomes={"o": {"delete_effects": names(n)}})),
    "a token of a step": (200, lambda n: declared(effects=["x" * n])),
    "OutputValue.after": (
        PATTERN_CHARACTERS_MAX,
        lambda n: read_from(values={"a": {"after": "x" * n, "pattern": "a"}}),
    ),
    "OutputValue.pattern": (PATTERN_CHARACTERS_MAX, lambda n: read_from(values={"a": {"pattern": "a" * n}})),
    "a pattern of an outcome": (PATTERN_CHARACTERS_MAX, lambda n: read_from(outcomes={"a": "a" * n})),
    "the name of an outcome": (64, lambda n: read_from(outcomes={"o" * n: "a"})),
    "the name of a token with a value": (64, lambda n: read_from(values={"o" * n: {"pattern": "a"}})),
    "CommandTool.parameters": (50, many_parameters),
    "CommandTool.command": (200, lambda n: command(command=words(n))),
    "CommandTool.wrap": (200, lambda n: command(wrap=words(n))),
    "CommandTool.environment": (200, lambda n: command(environment=[f"V{each}" for each in range(n)])),
    "CommandTool.transient_exit_codes": (255, codes("transient_exit_codes")),
    "CommandTool.broken_exit_codes": (255, codes("broken_exit_codes")),
    "CommandTool.failure_pattern": (PATTERN_CHARACTERS_MAX, lambda n: command(failure_pattern="a" * n)),
    "PythonTool.python": (500, lambda n: {"tools": {"t": {"python": "m:" + "f" * (n - 2)}}}),
    "PluginTool.plugin": (200, lambda n: {"tools": {"t": {"plugin": "p" * n}}}),
    "PluginTool.settings": (100, lambda n: {"tools": {"t": {"plugin": "p", "settings": dict.fromkeys(names(n), 1)}}}),
    "McpServer.command": (200, lambda n: server(command=words(n))),
    "McpServer.environment": (200, lambda n: server(command=["ls"], environment=[f"V{each}" for each in range(n)])),
    "McpServer.url": (2_000, lambda n: server(url="https://example.org/".ljust(n, "x"))),
    "RemoteTool.tool": (200, lambda n: remote(tool="x" * n)),
    "RemoteTool.arguments": (100, lambda n: remote(arguments=dict.fromkeys(names(n), 1))),
    "ModelFile.instructions": (20_000, lambda n: written(instructions="x" * n)),
    "ModelFile.context_files": (50, lambda n: written(context_files=[f"{each}.py" for each in names(n)])),
    "AgentCommand.command": (200, lambda n: agent(command=words(n))),
    "AgentCommand.environment": (200, lambda n: agent(environment=[f"V{each}" for each in range(n)])),
    "AgentCommand.writable": (50, lambda n: agent(writable=[f"/{each}" for each in names(n)])),
    "a path that an agent may write": (1_000, lambda n: agent(writable=["/" + "x" * (n - 1)])),
    "AgentCommand.instructions": (20_000, lambda n: agent(instructions="x" * n)),
    "HumanTool.human": (20_000, lambda n: {"tools": {"t": {"human": "x" * n}}}),
    "StringParameter.pattern": (PATTERN_CHARACTERS_MAX, lambda n: with_parameter(type="string", pattern="a" * n)),
    "ChoiceParameter.choices": (100, lambda n: with_parameter(type="choice", choices=names(n))),
    # Bounds of what a field holds.
    "a name in a plan": (200, lambda n: {"tools": {"t": {"command": ["ls"]}}, "guards": {"x" * n: "t"}}),
    "a variable": (4_000, lambda n: command(environment=["V=".ljust(n, "x")])),
    "the name of a variable": (200, lambda n: server(url="https://example.org", token="V" * n)),
    "the name of an argument": (200, lambda n: remote(arguments={"x" * n: 1})),
    "a choice": (TEXT_CHARACTERS_MAX, lambda n: with_parameter(type="choice", choices=["x" * n])),
    "the name of a tool": (64, lambda n: {"tools": {"t" * n: {"command": ["ls"]}}}),
    "the name of a parameter": (
        64,
        lambda n: command(command=["ls", f"{{{'p' * n}}}"], parameters={"p" * n: {"type": "path"}}),
    ),
}
NUMBERS = {
    "CommandTool.disk_mb": (1_000_000_000, lambda n: command(disk_mb=n)),
    "StepTokens.retry_budget": (1_000, lambda n: declared(retry_budget=n)),
    "CommandTool.timeout_seconds": (86_400, lambda n: command(timeout_seconds=n)),
    "CommandTool.output_bytes": (OUTPUT_BYTES_MAX, lambda n: command(output_bytes=n)),
    "ModelFile.file_bytes": (FILE_BYTES_MAX, lambda n: written(file_bytes=n)),
    "AgentCommand.max_cost_usd": (100_000, lambda n: agent(max_cost_usd=n)),
    "AgentCommand.max_files": (10_000, lambda n: agent(max_files=n)),
    "AgentCommand.max_diff_bytes": (OUTPUT_BYTES_MAX, lambda n: agent(max_diff_bytes=n)),
    "an exit code": (255, lambda n: command(transient_exit_codes=[n])),
    "a bound": (INTEGER_MAX, lambda n: with_parameter(type="integer", minimum=0, maximum=n)),
}
LEAST = {
    "CommandTool.disk_mb": (0, -1, lambda n: command(disk_mb=n)),
    "StepTokens.retry_budget": (1, 0, lambda n: declared(retry_budget=n)),
    "a token of a step": (1, 0, lambda n: declared(effects=["x" * n])),
    "CommandTool.timeout_seconds": (0.001, 0, lambda n: command(timeout_seconds=n)),
    "CommandTool.output_bytes": (1, 0, lambda n: command(output_bytes=n)),
    "ModelFile.file_bytes": (1, 0, lambda n: written(file_bytes=n)),
    "AgentCommand.instructions": (1, 0, lambda n: agent(instructions="x" * n)),
    "AgentCommand.max_cost_usd": (0, -1, lambda n: agent(max_cost_usd=n)),
    "AgentCommand.max_files": (1, 0, lambda n: agent(max_files=n)),
    "AgentCommand.max_diff_bytes": (1, 0, lambda n: agent(max_diff_bytes=n)),
    "an exit code": (1, 0, lambda n: command(transient_exit_codes=[n])),
    "a bound": (-INTEGER_MAX, -INTEGER_MAX - 1, lambda n: with_parameter(type="integer", minimum=n, maximum=0)),
    "CommandTool.command": (1, 0, lambda n: command(command=["ls"][:n])),
    "HumanTool.human": (1, 0, lambda n: {"tools": {"t": {"human": "x" * n}}}),
    "ModelFile.instructions": (1, 0, lambda n: written(instructions="x" * n)),
    "RemoteTool.tool": (1, 0, lambda n: remote(tool="x" * n)),
    "StringParameter.pattern": (1, 0, lambda n: with_parameter(type="string", pattern="a" * n)),
    "ChoiceParameter.choices": (1, 0, lambda n: with_parameter(type="choice", choices=names(n))),
    "OutputValue.pattern": (1, 0, lambda n: read_from(values={"a": {"pattern": "a" * n}})),
    "a name in a plan": (1, 0, lambda n: {"tools": {"t": {"command": ["ls"]}}, "guards": {"x" * n: "t"}}),
}
KINDS = {"max_length": "max_length", "le": "le", "ge": "least", "gt": "least", "min_length": "least"}
"""The table for each sort of bound that a field may have."""


@pytest.mark.parametrize("place", {**LENGTHS, **NUMBERS})
def test_what_is_at_a_bound_is_read_and_what_is_above_it_is_refused(place):
    most, document = (LENGTHS | NUMBERS)[place]
    ToolsFile.model_validate(document(most))
    with pytest.raises(ValidationError):
        ToolsFile.model_validate(document(most + 1))


@pytest.mark.parametrize("place", LEAST)
def test_what_is_at_the_least_is_read_and_what_is_below_it_is_refused(place):
    least, below, document = LEAST[place]
    ToolsFile.model_validate(document(least))
    with pytest.raises(ValidationError):
        ToolsFile.model_validate(document(below))


def test_the_table_has_every_bound_of_a_field():
    """A bound that several classes inherit is tested in one of them."""
    bounded = {"max_length": set(), "le": set(), "least": set()}
    for module in (bindings_config, parameters, tools_file):
        for name, model in inspect.getmembers(module, inspect.isclass):
            if not issubclass(model, Config) or model.__module__ != module.__name__ or name.startswith("_"):
                continue
            for key, field in model.model_fields.items():
                for word, kind in KINDS.items():
                    if any(getattr(bound, word, None) is not None for bound in field.metadata):
                        bounded[kind].add((name, key))
    inherited = {"parameters", "timeout_seconds", "output_bytes", "makes", "disk_mb"}
    for kind, table in (("max_length", LENGTHS), ("le", NUMBERS), ("least", LEAST)):
        shown = {(name, key) for name, key in bounded[kind] if name == "CommandTool" or key not in inherited}
        bounds_of_items = {("IntegerParameter", "minimum"), ("IntegerParameter", "maximum"), ("McpServer", "token")}
        missing = {f"{name}.{key}" for name, key in shown - bounds_of_items} - table.keys()
        assert not missing, kind
