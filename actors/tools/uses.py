"""The uses that a tools file binds to the generators, guards and steps of a plan. A run stores these uses. Pure.

A `Use` is a call of a tool, a file that a model writes, or work of a person. All arguments come from the tools file,
not from the plan.
"""

import json
import operator
import shlex
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Literal, TypeGuard, Union, assert_never

from pydantic import Field

from actors.plans.plan import UNDO_WORDS, Plan, Step, bound_names
from actors.plans.reader import read_draft
from actors.tools.output_parsing import ValueSource, arguments_with, values_in
from actors.tools.specs import (
    AgentSpec,
    CommandSpec,
    McpSpec,
    PluginToolSpec,
    PythonSpec,
    ToolSpec,
    fill_argument,
    fill_template,
)
from actors.values.format import money
from actors.values.given import DeclaredStep, ReadableResult
from runtime.core.events import Value
from runtime.core.ledger import MICRO

WORKSPACE_READ = "workspace:read"
WORKSPACE_WRITE = "workspace:write"
FILE_SECONDS = 60.0
"""The default time limit for a call of a built-in tool, in seconds."""


def canonical(arguments: Mapping[str, Any]) -> str:
    """Return arguments as the canonical text of a JSON object. Equal arguments give equal texts."""
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class AgentTerms(Value):
    """The instructions for a coding agent, and the limits of a call and of the agent's changes."""

    instructions: str
    micro_usd_max: int
    files_max: int
    diff_bytes_max: int


class ToolUse(Value):
    """A call of a tool, and how its output is parsed."""

    kind: Literal["tool"] = "tool"
    tool: str
    """The tool's name. The address of the tool's actor is `tool:NAME`."""
    arguments: str
    """The fixed arguments: the canonical text of a JSON object."""
    repeatable: bool
    risky: bool
    timeout_seconds: float
    pre_check: Union["ToolUse", None] = None
    """The call that must succeed before this call; None without a pre-check. A pre-check cannot have a pre-check."""
    expect: Literal["success", "failure"] = "success"
    """How the call must end. With `failure`, the call passes if it fails."""
    takes: Mapping[str, str] = Field(default_factory=dict, exclude_if=operator.not_)
    """For each parameter that gets the value of a token: the token."""
    outcomes: Mapping[str, str] = Field(default_factory=dict, exclude_if=operator.not_)
    """The patterns of a step's outcomes, by outcome. A pattern must match a line of the output."""
    values: Mapping[str, ValueSource] = Field(default_factory=dict, exclude_if=operator.not_)
    """For each token whose value is in the output: where the value is."""
    agent: AgentTerms | None = Field(default=None, exclude_if=operator.not_)
    """The terms of a coding agent, whose work is merged after a check; None for any other tool."""

    @property
    def needs(self) -> frozenset[str]:
        """The tokens whose values the call uses, in its arguments or in the patterns of its outcomes."""
        before = self.pre_check.needs if self.pre_check is not None else frozenset()
        return before.union(self.takes.values(), *(values_in(pattern) for pattern in self.outcomes.values()))


def built_in_use(
    tool: str, arguments: Mapping[str, Any], timeout_seconds: float = FILE_SECONDS, *, risky: bool = False
) -> ToolUse:
    """Return a call of a built-in tool. A second call does no harm."""
    text = canonical(arguments)
    return ToolUse(tool=tool, arguments=text, repeatable=True, risky=risky, timeout_seconds=timeout_seconds)


class ModelUse(Value):
    """A file of the workspace that a model writes.

    The step makes three requests: the call `reading`, a call of the model, and the call `writing`.
    """

    kind: Literal["model"] = "model"
    name: str
    file: str
    instructions: str
    context_files: tuple[str, ...]
    """The paths of other files to show to the model. The file itself is always shown."""
    missing: Literal["empty", "failure"]
    """Whether a missing context file counts as empty or fails the step. `file` itself may be missing."""
    file_bytes_max: int
    """The largest number of bytes in the file written, and in all files read together."""
    repeatable: Literal[True] = True
    """Always True: the file is replaced as a whole, so a second call does no harm."""
    risky: bool
    pre_check: ToolUse | None = None

    def reading(self) -> ToolUse:
        """Return the call that reads the file and its context files. `read_file_output` parses the output."""
        arguments = {
            "files": [self.file, *(path for path in self.context_files if path != self.file)],
            "missing": self.missing,
            "optional": [self.file],
            "bytes_max": self.file_bytes_max,
        }
        return built_in_use(WORKSPACE_READ, arguments)

    def writing(self, content: str) -> ToolUse:
        """Return the call that replaces the file's content by `content`."""
        arguments = {"file": self.file, "content": content, "bytes_max": self.file_bytes_max}
        return built_in_use(WORKSPACE_WRITE, arguments, risky=self.risky)


class PersonUse(Value):
    """Work that a person does and reports, or a check that a person makes."""

    kind: Literal["person"] = "person"
    name: str
    instructions: str


def is_agent(use: object) -> TypeGuard[ToolUse]:
    """Return whether a use is a call of a coding agent."""
    return isinstance(use, ToolUse) and use.agent is not None


Use = Annotated[ToolUse | ModelUse | PersonUse, Field(discriminator="kind")]
"""A use is what executes or checks a step: a call of a tool, a file that a model writes, or work of a person."""


class StepUses(Value):
    """The uses that a tools file binds to one step of a plan."""

    generator: Use | None = None
    """The use that executes the step; None for the use of the step's generator."""
    guard: Use | None = None
    """The use that checks the step; None for the use of the step's guard."""


class ToolSet(Value):
    """A tools file in the form that a run stores: its tools, and the uses of the names in a plan."""

    source: str
    """The path of the tools file as the user gave it; empty if there is no file."""
    sha256: str
    """The hash of the tools file's content, in hex; empty if there is no file."""
    tools: Mapping[str, ToolSpec]
    """The tools that have actors, by name. The built-in tools are not included."""
    generators: Mapping[str, Use]
    guards: Mapping[str, Use]
    """For each guard's name: the use that checks its steps.

    A guard is independent of a generator with the same name.
    """
    steps: Mapping[str, StepUses] = {}
    """For the id of a single step: the uses of the step (see `bound_names`)."""
    undos: Mapping[str, Annotated[ToolUse | PersonUse, Field(discriminator="kind")]] = Field(
        default_factory=dict, exclude_if=operator.not_
    )
    """The tools that may undo a call, by name. The arguments of each call are the defaults of the tool's parameters."""
    undo_of: Mapping[str, str] = Field(default_factory=dict, exclude_if=operator.not_)
    """For the name of each tool that declares an undo tool: the undo tool. It is used for steps that name no undo."""
    disk_mb: Mapping[str, int] = Field(default_factory=dict, exclude_if=operator.not_)
    """For each tool: the free disk space that it needs, in megabytes (10^6 bytes)."""
    makes: Mapping[str, tuple[str, ...]] = Field(default_factory=dict, exclude_if=operator.not_)
    """For each tool: the files and folders that a successful call leaves."""
    declared: tuple[DeclaredStep, ...] = Field(default=(), exclude_if=operator.not_)
    """The steps that generators declare, from which plans are made without a model."""

    def generator_use(self, step: Step) -> Use:
        """Return the use that executes a step. Raises `KeyError` if `unbound` reports the step's generator."""
        own = self._bound_use(step, "generator")
        return own or self.generators[step.generator]

    def guard_use(self, step: Step) -> Use | None:
        """Return the use that checks a step; None if no guard checks the step.

        Raises `KeyError` if `unbound` reports the guard.
        """
        own = self._bound_use(step, "guard")
        return own or (self.guards[step.guard] if step.guard else None)

    def _bound_use(self, step: Step, what: Literal["generator", "guard"]) -> Use | None:
        if not self.steps:
            return None
        uses = (getattr(self.steps[name], what) for name in bound_names(step.step_id) if name in self.steps)
        return next((use for use in uses if use is not None), None)

    def step_names(self, what: Literal["generator", "guard"]) -> tuple[str, ...]:
        """Return the sorted names of the steps to which a generator, or a guard, is bound."""
        return tuple(sorted(name for name, uses in self.steps.items() if getattr(uses, what) is not None))

    @property
    def names_given(self) -> Mapping[str, Any]:
        """The fields of `Given` for a planner: the bound names, the results that are read, and the undo tools."""
        step_uses = {name: uses.generator for name, uses in self.steps.items() if uses.generator is not None}
        guard_tokens = {name: use.needs for name, use in self.guards.items() if isinstance(use, ToolUse)}
        return {
            "generators": tuple(sorted(self.generators)),
            "guards": tuple(sorted(self.guards)),
            "step_generators": self.step_names("generator"),
            "step_guards": self.step_names("guard"),
            "results": _results(self.generators),
            "step_results": _results(step_uses),
            "guard_uses": {name: tuple(sorted(tokens)) for name, tokens in sorted(guard_tokens.items()) if tokens},
            "undos": self._undos(self.generators),
            "step_undos": self._undos(step_uses),
        }

    def unbound(self, plan: Plan, known: AbstractSet[str] = frozenset()) -> tuple[str, ...]:
        """Return, sorted, what a plan uses but the bindings do not provide, such as `guard 'all_tests_pass'`.

        The result has the generators, guards and undo tools that are not bound. If all names are bound, it has outcomes
        that no binding reads, values that may be unknown, and missing arguments of undo tools. `known` has the tokens
        that hold at the start and whose values are known.
        """
        return self.unbound_names(plan) or tuple(
            sorted({*self._unread_problems(plan, known), *self._missing_undo_arguments(plan, known)})
        )

    def unbound_names(self, plan: Plan) -> tuple[str, ...]:
        """Return the generators, guards and undo tools in a plan that are not bound, each sorted and only once."""
        generators = {
            f"generator {step.generator!r}"
            for step in plan.steps
            if step.generator not in self.generators and self._bound_use(step, "generator") is None
        }
        guards = {
            f"guard {step.guard!r}"
            for step in plan.steps
            if step.guard and step.guard not in self.guards and self._bound_use(step, "guard") is None
        }
        undos = {
            f"undo {step.undo!r} of step {step.step_id!r}"
            for step in plan.steps
            if step.undo and step.undo not in UNDO_WORDS and step.undo not in self.undos
        }
        return (*sorted(generators), *sorted(guards), *sorted(undos))

    def _missing_undo_arguments(self, plan: Plan, known: AbstractSet[str]) -> Iterator[str]:
        """Yield a text for each parameter of an undo tool that gets no argument. Every name in the plan must be bound.

        A parameter gets the argument of the same name from the call that is undone. If the call has no such argument,
        the parameter gets the value of the token of the same name. Every success of the step must then read or need
        this token. Otherwise the parameter gets its default.
        """
        for step in plan.steps:
            undo = self.undos.get(step.undo)
            spec = self.tools.get(step.undo)
            if not isinstance(undo, ToolUse) or spec is None:
                continue
            names = {*json.loads(undo.arguments), *self._names_known_after(plan, step, known)}
            for name in spec.parameters:
                if name not in names:
                    yield f"the parameter {name!r} of undo {step.undo!r} for step {step.step_id!r}"

    def _names_known_after(self, plan: Plan, step: Step, known: AbstractSet[str]) -> Iterator[str]:
        """Yield the names that have an argument or a value after every success of a step."""
        use = self.generator_use(step)
        if isinstance(use, ModelUse):
            yield "file"
        if isinstance(use, ToolUse):
            yield from json.loads(use.arguments)
            yield from use.takes
            added_by_outcome = [step.effects | item.effects for item in step.outcomes] or [step.effects]
            yield from frozenset.intersection(*added_by_outcome) & use.values.keys()
        for token in step.preconditions - (plan.initial_state - known):
            makers = [other for other in plan.steps if token in other.may_add or token in other.failure_effects]
            if any(token in maker.failure_effects for maker in makers):  # The output of a failed call is not read.
                continue
            maker_uses = [self.generator_use(maker) for maker in makers]
            if all(isinstance(made_by, ToolUse) and token in made_by.values for made_by in maker_uses):
                yield token

    def with_undo(self, plan: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the JSON of a valid plan. Steps without an undo get the undo that their tools declare."""
        if not self.undo_of:
            return plan
        draft, _ = read_draft(dict(plan))
        by_id = {} if draft is None else {step.step_id: step for step in draft.steps}
        steps = [{**item, **self._declared_undo(by_id[item["step_id"]])} for item in plan["steps"]]
        return {**plan, "steps": steps}

    def _declared_undo(self, step: Step) -> dict[str, str]:
        """Return the `undo` that a step's tool declares; empty if there is none, or if the step has its own."""
        use = self._bound_use(step, "generator") or self.generators.get(step.generator)
        undo = "" if use is None or step.undo else self._undo_of(use)
        return {"undo": undo} if undo else {}

    def _undo_of(self, use: Use) -> str:
        return self.undo_of.get(use.tool if isinstance(use, ToolUse) else use.name, "")

    def _undos(self, uses: Mapping[str, Use]) -> dict[str, str]:
        return {name: undo for name, use in sorted(uses.items()) if (undo := self._undo_of(use))}

    def undo_arguments(self, tool: str, call: Mapping[str, Any], values: Mapping[str, str]) -> str | None:
        """Return the arguments for a call of an undo tool, as canonical text; None if an argument is unknown.

        `call` has the arguments of the call that is undone. `values` has the values of tokens that were known after
        this call.
        """
        undo = self.undos[tool]
        spec = self.tools.get(tool)
        parameters = {} if spec is None else spec.parameters
        assert isinstance(undo, ToolUse), "a person is asked"
        from_call = {name: call[name] for name in parameters if name in call}
        from_tokens = {name: name for name in parameters if name not in from_call and name in values}
        arguments = {**json.loads(undo.arguments), **arguments_with(from_call, from_tokens, parameters, values)}
        return canonical(arguments) if parameters.keys() <= arguments.keys() else None

    def _unread_problems(self, plan: Plan, known: AbstractSet[str]) -> Iterator[str]:
        """Yield a text for each outcome that no binding reads, and for each used value that may be unknown.

        All names in the plan must be bound. If a call uses a token's value, the call's step must have the token among
        its preconditions. Each success that adds the token must read the value. So the proof of the preconditions also
        proves that the value is known.
        """
        generator_uses = {step.step_id: self.generator_use(step) for step in plan.steps}
        used_anywhere: frozenset[str] = frozenset()
        for step in plan.steps:
            calls = [use for use in (generator_uses[step.step_id], self.guard_use(step)) if isinstance(use, ToolUse)]
            tokens_used: frozenset[str] = frozenset().union(*(use.needs for use in calls))
            used_anywhere |= tokens_used
            for token in sorted(tokens_used - step.preconditions):
                yield f"the value of {token!r} for step {step.step_id!r}, which does not list it as a precondition"
        for token in sorted((used_anywhere & plan.initial_state) - known):
            yield f"the value of {token!r}, which holds at the start"
        for step in plan.steps:
            use = generator_uses[step.step_id]
            outcomes, values = (use.outcomes, use.values) if isinstance(use, ToolUse) else ({}, {})
            yield from (
                f"the outcome {outcome.name!r} of step {step.step_id!r}"
                for outcome in step.outcomes
                if outcome.name not in outcomes
            )
            unread = (step.may_add & used_anywhere) - values.keys()
            never_read = step.failure_effects & used_anywhere  # The output of a failed call is not read.
            for token in sorted(unread | never_read):
                yield f"the value of {token!r} that step {step.step_id!r} makes"

    def arguments(self, use: ToolUse, values: Mapping[str, str]) -> str:
        """Return the arguments of a call, completed with the values of tokens, as canonical text."""
        if not use.takes:
            return use.arguments
        spec = self.tools.get(use.tool)
        parameters = {} if spec is None else spec.parameters
        return canonical(arguments_with(json.loads(use.arguments), use.takes, parameters, values))

    @property
    def names(self) -> frozenset[str]:
        """All names by which people may call tools: the tools' own names, and the names of generators and guards."""
        bound = {use.tool if isinstance(use, ToolUse) else use.name for use in self._uses()}
        return frozenset((*self.tools, *self.generators, *self.guards, *self.undos, *bound))

    def _uses(self) -> Iterator[ToolUse | ModelUse | PersonUse]:
        yield from self.generators.values()
        yield from self.guards.values()
        for uses in self.steps.values():
            yield from (use for use in (uses.generator, uses.guard) if use is not None)


NO_TOOLS = ToolSet(source="", sha256="", tools={}, generators={}, guards={})
"""The empty set of tools, for a run without a tools file."""


def _results(uses: Mapping[str, Use]) -> dict[str, ReadableResult]:
    """Return for each name the outcomes and values that its outputs give, and the tokens that its calls use.

    The result is sorted by name. The result has no names without outcomes, values and used tokens.
    """
    results = {
        name: ReadableResult(
            outcomes=tuple(use.outcomes), values=tuple(sorted(use.values)), uses=tuple(sorted(use.needs))
        )
        for name, use in sorted(uses.items())
        if isinstance(use, ToolUse)
    }
    return {name: result for name, result in results.items() if result.shown}


def use_text(use: Use, tools: ToolSet) -> str:
    """Return a complete description of a use in one line. A command is quoted as for a shell."""
    match use:
        case ToolUse():
            return f"{_call_text(use, tools)}{', which must fail' if use.expect == 'failure' else ''}"
        case ModelUse():
            return f"a model writes {use.file}"
        case PersonUse():
            return f"a person: {' '.join(use.instructions.split())}"
        case _:
            assert_never(use)


def _call_text(use: ToolUse, tools: ToolSet) -> str:
    spec = tools.tools.get(use.tool)
    arguments = json.loads(use.arguments)
    arguments |= {name: f"<{token}>" for name, token in use.takes.items()}
    match spec:
        case CommandSpec():
            return f"{use.tool}: {shlex.join((*spec.wrap, *(fill_argument(word, arguments) for word in spec.argv)))}"
        case PythonSpec():
            keywords = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
            return f"{use.tool}: {spec.module or spec.file.rpartition('/')[2]}:{spec.function}({keywords})"
        case PluginToolSpec():
            return f"{use.tool}: {spec.plugin} {spec.settings} with {json.dumps(arguments, ensure_ascii=False)}"
        case McpSpec():
            sent = json.dumps(fill_template(json.loads(spec.arguments), arguments), ensure_ascii=False)
            where = spec.url or shlex.join(spec.argv)
            return f"{use.tool}: {spec.remote} of the MCP server {spec.server} ({where}) with {sent}"
        case AgentSpec():
            limits = f"at most {money(spec.micro_usd_max / MICRO)} and {use.timeout_seconds:g} s"
            what = shlex.join(spec.argv)
            if spec.mcp is not None:
                what = f"{spec.mcp.remote} of the MCP server {spec.mcp.server} ({shlex.join(spec.mcp.argv)})"
            where = "every file that your user may change"
            if spec.writable is not None:
                where = " and ".join(("its worktree", *spec.writable))
            return f"{use.tool}: the agent {what}, {limits}, which may change {where}"
        case None:
            return use.tool
        case _:
            assert_never(spec)
