"""Turns the bindings of a tools file into uses, and checks the arguments of the bindings. Pure."""

from collections.abc import Mapping
from typing import Any, assert_never

from actors.files.suggestions import nearest
from actors.files.validation_errors import KeyPath, ParsedFile
from actors.plans.plan import UNDO_WORDS
from actors.tools.bindings_config import Binding, StepBinding, TokenValue
from actors.tools.output_parsing import ValueSource
from actors.tools.parameters import first_problem, with_defaults
from actors.tools.tools_file import (
    AgentTool,
    AnyTool,
    CommandTool,
    HumanTool,
    McpTool,
    ModelTool,
    PluginTool,
    PythonTool,
    ToolsFile,
)
from actors.tools.uses import AgentTerms, ModelUse, PersonUse, StepUses, ToolUse, Use, canonical, is_agent
from actors.values.given import DeclaredOutcome, DeclaredStep
from runtime.core.ledger import MICRO


def bind_uses(file: ToolsFile, document: ParsedFile) -> dict[str, Any]:
    """Return the fields of a `ToolSet` that depend on bindings.

    These are all fields from `generators` to `undo_of`, and `declared`.
    Raises `UsageProblem` for an invalid binding, pre-check or undo.
    """
    for name, tool in file.tools.items():
        if not isinstance(tool, HumanTool) and tool.pre_check is not None:
            _pre_check(file, tool.pre_check, document, ("tools", name, "pre_check"))
    generators = {
        name: _generator_use(file, generator, document, ("generators", name))
        for name, generator in file.generators.items()
    }
    guards = {name: _guard_use(file, guard, document, ("guards", name)) for name, guard in file.guards.items()}
    steps = {name: _step_uses(file, step, document, ("steps", name)) for name, step in file.steps.items()}
    undos = {name: use for name, tool in file.tools.items() if (use := _undo_use(name, tool)) is not None}
    undo_of = {name: tool.undo for name, tool in file.tools.items() if not isinstance(tool, HumanTool) and tool.undo}
    for name, undo in undo_of.items():
        if undo not in undos and undo not in UNDO_WORDS:
            path: KeyPath = ("tools", name, "undo")
            if undo in file.tools:
                what = "is an agent" if isinstance(file.tools[undo], AgentTool) else "writes a file"
                raise document.problem(f"the tool {undo!r} {what}, so it cannot undo a call", path)
            hint = nearest(undo, (*undos, *UNDO_WORDS)) or f"name a tool, or {' or '.join(sorted(UNDO_WORDS))}"
            raise document.problem(f"there is no tool {undo!r}", path, hint)
    declared = tuple(
        _declare_step(name, generator, generators[name], guards, document)
        for name, generator in file.generators.items()
        if generator.step is not None
    )
    return {
        "generators": generators,
        "guards": guards,
        "steps": steps,
        "undos": undos,
        "undo_of": undo_of,
        "declared": declared,
    }


def _declare_step(
    name: str, binding: Binding, use: Use, guards: Mapping[str, Use], document: ParsedFile
) -> DeclaredStep:
    step, path = binding.step, ("generators", name, "step")
    assert step is not None, "only bindings with a step are declared"
    if step.guard is not None and step.guard not in guards:
        hint = nearest(step.guard, guards, kind="guards") or "bind the guard under `guards`"
        raise document.problem(f"there is no guard {step.guard!r}", (*path, "guard"), hint)
    for outcome in step.outcomes:
        if outcome not in binding.outcomes:
            hint = (
                nearest(outcome, binding.outcomes, kind="outcomes") or "add a pattern under `outcomes` of the binding"
            )
            raise document.problem(
                f"the binding has no pattern for the outcome {outcome!r}", (*path, "outcomes", outcome), hint
            )
    uses = [guard for guard in (use, guards.get(step.guard or "")) if isinstance(guard, ToolUse)]
    values = sorted(frozenset().union(*(item.needs for item in uses)) - set(step.preconditions))
    outcomes = ((item, step.outcomes.get(item)) for item in binding.outcomes)
    return DeclaredStep(
        generator=name,
        guard=step.guard or "",
        retry_budget=step.retry_budget,
        preconditions=(*step.preconditions, *values),
        effects=step.effects,
        delete_effects=step.delete_effects,
        outcomes=tuple(
            DeclaredOutcome(name=item)
            if tokens is None
            else DeclaredOutcome(name=item, effects=tokens.effects, delete_effects=tokens.delete_effects)
            for item, tokens in outcomes
        ),
    )


def _undo_use(name: str, tool: AnyTool) -> ToolUse | PersonUse | None:
    match tool:
        case CommandTool() | PythonTool() | PluginTool() | McpTool():
            return ToolUse(
                tool=name,
                arguments=canonical(with_defaults(tool.parameters, {})),
                repeatable=tool.repeatable,
                risky=tool.risk == "risky",
                timeout_seconds=tool.timeout_seconds,
            )
        case HumanTool():
            return PersonUse(name=name, instructions=tool.human)
        case ModelTool() | AgentTool():
            return None
        case _:
            assert_never(tool)


def _step_uses(file: ToolsFile, binding: StepBinding, document: ParsedFile, path: KeyPath) -> StepUses:
    act, check = binding.generator, binding.guard
    return StepUses(
        generator=None if act is None else _use_without_step(file, act, document, (*path, "generator")),
        guard=None if check is None else _guard_use(file, check, document, (*path, "guard")),
    )


def _use_without_step(file: ToolsFile, binding: Binding, document: ParsedFile, path: KeyPath) -> Use:
    if binding.step is not None:
        hint = "move `step` to the binding of the generator, under `generators`"
        raise document.problem("only a binding under `generators` can declare a step", (*path, "step"), hint)
    return _generator_use(file, binding, document, path)


def _guard_use(file: ToolsFile, binding: Binding, document: ParsedFile, path: KeyPath) -> Use:
    use = _use_without_step(file, binding, document, path)
    if binding.outcomes or binding.values:
        key = "outcomes" if binding.outcomes else "values"
        hint = f"move `{key}` to the binding of a generator"
        raise document.problem("outcomes and values are read only from a generator's output", (*path, key), hint)
    if isinstance(use, ModelUse) or is_agent(use):
        what = "writes a file" if isinstance(use, ModelUse) else "is an agent"
        hint = "bind the guard to a command that checks the result, such as tests"
        raise document.problem(f"the tool {binding.tool!r} {what}, so it cannot be a guard", path, hint)
    return use


def _generator_use(file: ToolsFile, binding: Binding, document: ParsedFile, path: KeyPath) -> Use:
    tool, before = _find_tool(file, binding, document, path), None
    if not isinstance(tool, HumanTool) and tool.pre_check is not None:
        before = _pre_check(file, tool.pre_check, document, ("tools", binding.tool, "pre_check"))
    match tool:
        case CommandTool() | PythonTool() | PluginTool() | McpTool():
            return _tool_use(tool, binding, document, path, before)
        case ModelTool():
            _check_takes_nothing(binding, document, path)
            return ModelUse(
                name=binding.tool,
                file=tool.model.file,
                instructions=tool.model.instructions,
                context_files=tool.model.context_files,
                missing=tool.model.missing,
                file_bytes_max=tool.model.file_bytes,
                risky=tool.risk == "risky",
                pre_check=before,
            )
        case AgentTool():
            return _agent_use(tool, binding, document, path, before)
        case HumanTool():
            _check_takes_nothing(binding, document, path)
            return PersonUse(name=binding.tool, instructions=tool.human)
        case _:
            assert_never(tool)


def _tool_use(
    tool: CommandTool | PythonTool | PluginTool | McpTool,
    binding: Binding,
    document: ParsedFile,
    path: KeyPath,
    before: ToolUse | None,
) -> ToolUse:
    takes = {name: given.value for name, given in binding.with_.items() if isinstance(given, TokenValue)}
    given = {name: value for name, value in binding.with_.items() if name not in takes}
    fixed = {name: parameter for name, parameter in tool.parameters.items() if name not in takes}
    arguments = with_defaults(fixed, given)
    unknown = {name: "" for name in takes if name not in tool.parameters}
    if problem := first_problem(fixed, {**unknown, **given, **arguments}):
        name, cause, hint = problem
        own = name in binding.with_
        place = (*path, "with", name) if own else path
        if not own and name in arguments:
            place = ("tools", binding.tool, "parameters", name, "default")
        raise document.problem(cause, place, hint)
    if binding.expect == "failure" and isinstance(tool, CommandTool) and tool.broken_exit_codes is None:
        cause = f"the tool {binding.tool!r} does not distinguish its crashes from the expected failure"
        hint = "give it `broken_exit_codes`: [2, 3, 4, 5] for pytest, or [] if every exit code is a result"
        raise document.problem(cause, (*path, "expect"), hint)
    return ToolUse(
        tool=binding.tool,
        arguments=canonical(arguments),
        repeatable=tool.repeatable,
        risky=tool.risk == "risky",
        timeout_seconds=tool.timeout_seconds,
        pre_check=before,
        expect=binding.expect,
        takes=takes,
        outcomes=binding.outcomes,
        values=_sources(binding),
    )


def _agent_use(
    tool: AgentTool, binding: Binding, document: ParsedFile, path: KeyPath, before: ToolUse | None
) -> ToolUse:
    if binding.with_:
        raise document.problem(f"the tool {binding.tool!r} takes no arguments", (*path, "with"), "leave `with` out")
    if binding.expect == "failure":
        cause = f"the tool {binding.tool!r} is an agent, so it cannot have `expect: failure`"
        raise document.problem(cause, (*path, "expect"), "leave `expect` out")
    terms = AgentTerms(
        instructions=tool.agent.instructions,
        micro_usd_max=round(tool.agent.max_cost_usd * MICRO),
        files_max=tool.agent.max_files,
        diff_bytes_max=tool.agent.max_diff_bytes,
    )
    return ToolUse(
        tool=binding.tool,
        arguments="{}",
        repeatable=tool.agent.repeatable,
        risky=tool.risk == "risky",
        timeout_seconds=tool.agent.timeout_seconds,
        pre_check=before,
        outcomes=binding.outcomes,
        values=_sources(binding),
        agent=terms,
    )


def _sources(binding: Binding) -> dict[str, ValueSource]:
    return {token: ValueSource(after=source.after, pattern=source.pattern) for token, source in binding.values.items()}


def _pre_check(file: ToolsFile, binding: Binding, document: ParsedFile, path: KeyPath) -> ToolUse:
    tool = _find_tool(file, binding, document, path)
    if not isinstance(tool, CommandTool | PythonTool | PluginTool | McpTool):
        raise document.problem(
            f"the tool {binding.tool!r} cannot be a pre-check: it is a model, an agent or a person", path
        )
    if tool.pre_check is not None:
        hint = "name a tool without a pre-check"
        raise document.problem(
            f"the tool {binding.tool!r} has a pre-check, so it cannot be a pre-check itself", path, hint
        )
    return _tool_use(tool, binding, document, path, None)


def _find_tool(file: ToolsFile, binding: Binding, document: ParsedFile, path: KeyPath) -> AnyTool:
    if binding.tool not in file.tools:
        raise document.problem(f"there is no tool {binding.tool!r}", path, nearest(binding.tool, file.tools))
    return file.tools[binding.tool]


def _check_takes_nothing(binding: Binding, document: ParsedFile, path: KeyPath) -> None:
    if binding.with_:
        raise document.problem(f"the tool {binding.tool!r} takes no arguments", (*path, "with"), "leave `with` out")
    if binding.outcomes or binding.values:
        key = "outcomes" if binding.outcomes else "values"
        cause = f"the tool {binding.tool!r} is a model or a person, so no {key} can be read from its output"
        raise document.problem(cause, (*path, key), f"leave `{key}` out")
    if binding.expect == "failure":
        cause = f"the tool {binding.tool!r} does not run code, so it cannot have `expect: failure`"
        raise document.problem(cause, (*path, "expect"), "name a command, a Python function or a tool of an MCP server")


def unused_names(file: ToolsFile) -> tuple[str, ...]:
    """Return the tools that no binding, pre-check or undo uses, and the servers that no tool uses.

    The names have the same order as in the file.
    """
    bindings = [*file.generators.values(), *file.guards.values()]
    bindings += [item for step in file.steps.values() for item in (step.generator, step.guard) if item is not None]
    checks = [tool.pre_check for tool in file.tools.values() if not isinstance(tool, HumanTool)]
    named = {binding.tool for binding in (*bindings, *checks) if binding is not None}
    named |= {tool.undo for tool in file.tools.values() if not isinstance(tool, HumanTool) and tool.undo}
    servers = {tool.mcp.server for tool in file.tools.values() if isinstance(tool, McpTool)}
    servers |= {tool.agent.mcp.server for tool in file.tools.values() if isinstance(tool, AgentTool) and tool.agent.mcp}
    idle = [f"the server {name}" for name in file.mcp_servers if name not in servers]
    return (*(name for name in file.tools if name not in named), *idle)


def environment_of(allowed: tuple[str, ...], outside: Mapping[str, str]) -> dict[str, str]:
    """Return a tool's environment: the variables that `allowed` sets, and the variables passed on from `outside`."""
    passed = {name: outside[name] for name in allowed if "=" not in name and name in outside}
    return passed | dict(entry.split("=", 1) for entry in allowed if "=" in entry)
