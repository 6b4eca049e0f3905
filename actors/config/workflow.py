"""The model of a workflow file: steps (action pairs), `requires` edges, search, budgets, policy and prompts.

A `Workflow` is an immutable value with every default applied. Methods combine keys: for example, a step's `rmax`
replaces the workflow's `rmax`. `validate_names` checks separately that guards and generators exist, because plug-ins
can provide them.
"""

import operator
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, WithJsonSchema, model_validator

from actors.config.action_pair import (
    SEARCH_SCHEMA,
    ActionPair,
    Count,
    Patience,
    Positive,
    Seconds,
    StepId,
    canonical_search,
)
from actors.files.suggestions import near, nearest
from actors.files.validation_errors import Config, KeyPath, ParsedFile, config_error, usage_problem
from actors.guards.port import Composite, Name
from actors.prompting.book import PromptBook, PromptEntry
from actors.search.graph import Dag
from actors.values.model_settings import KEY, ModelSettings
from runtime.core.errors import UsageProblem
from runtime.core.ledger import AtLimit

STEPS_MAX = 64
EXPIRY_MAX = 366 * 86_400.0
TEXT_MAX = 20_000
"""The largest number of characters in a workflow's `constraints`, which are part of every prompt."""

TEMPLATE_SELECTOR = "TemplateSelectorGenerator"
"""The name of the generator that returns the plan template for the problem's type."""

TEMPLATE_GENERATORS = frozenset({"PlanGenerator", TEMPLATE_SELECTOR})
"""The two names of the generator that returns plan templates. AtomicGuard's files use the name `PlanGenerator`."""

TOOL_PLANS = "ToolPlanGenerator"
"""The name of the generator that searches for a plan among the steps declared in a tools file."""

FREE_GENERATORS = TEMPLATE_GENERATORS | {TOOL_PLANS}
"""The names of the built-in generators that call no model (S123)."""

MODEL_GENERATORS = frozenset({"model", "LLMJsonGenerator", "LLMPlanGenerator", "LLMPlanRefiner"})
"""The names of the one generator that calls the run's model. AtomicGuard's files use a different name for each kind of
artifact."""

GuardLevel = Literal["minimal", "medium", "expansive"]
Assurance = Literal["none", "weak", "strong_cyclic", "strong"]
Search = Annotated[str, BeforeValidator(canonical_search), WithJsonSchema(SEARCH_SCHEMA)]

_LEVELS: tuple[GuardLevel, ...] = ("minimal", "medium", "expansive")
PLAN_GUARDS = {f"plan_{level}": level for level in _LEVELS}
"""A mapping from the name of each plan guard to its level, such as `plan_medium` to `medium`."""
_ROLES = {
    "analysis_valid": "analysis",
    "recon_valid": "recon",
    "strategy_valid": "strategy",
    "critique_valid": "critique",
    **dict.fromkeys(PLAN_GUARDS, "plan"),
}


STRICT_GUARD = "demands_planned"
"""The name of the guard that a workflow with `strict` adds to its last steps, if these steps make a plan."""


class Workflow(Config):
    """A workflow, with every default applied."""

    name: Name
    """The workflow's name, as people see it in messages."""
    description: str = ""
    """What the workflow does, in one line for people."""
    action_pairs: Annotated[
        Mapping[StepId, ActionPair],
        Field(json_schema_extra={"minProperties": 1, "maxProperties": STEPS_MAX, "additionalProperties": False}),
    ]
    """The steps by id. If several steps can come next, their order in the file decides."""
    search: Search = "depth_first"
    """The search strategy: a name, a name with its numbers (`beam:4`), or a mapping."""
    target_guard_level: GuardLevel = "medium"
    """The level of the plan guards in the last steps. If missing: the strictest level of these guards."""
    assurance: Assurance = "strong_cyclic"
    """The guarantee that an expansive plan guard demands for all traces that do not escalate."""
    rmax: Positive = 3
    """The largest number of attempts per visit of a step."""
    max_total_calls: Positive = 30
    """The largest number of model calls in the run."""
    stop_below: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """The least chance of success per call that a belief policy accepts for a move; if missing, 0.025. With 0, the run
    continues even if its model repeats a rejected artifact."""
    at_limit: AtLimit | None = Field(default=None, exclude_if=lambda value: value is None)
    """What a run does at a limit: it asks a person, or it stops. If missing, the run asks only if somebody can answer.
    """
    r_max: Positive = 100
    """The largest `total_retry_budget` of a plan, checked by plan guards."""
    r_patience: Patience = 2
    """The number of successive equal failures of a step that counts as stagnation."""
    e_max: Count | None = None
    """The largest number of escalations that one step may cause in a round; null for no limit."""
    policy: Name = "default"
    """The policy, which decides how far the search goes back: a name in `configs/policies`, or a path."""
    prompts: Name = "planning"
    """The prompts: a name in `prompts`, or a path relative to this file."""
    constraints: Annotated[str, StringConstraints(max_length=TEXT_MAX)] = ""
    """Rules for the model, part of every prompt."""
    strict: bool = Field(default=False, exclude_if=lambda value: not value)
    """Whether a plan that leaves out a demand of the text is rejected. `strict` adds the guard `demands_planned`."""
    questions_max: Count = 5
    """The largest number of questions that a run may ask the user; reviews by a `human_review` guard do not count."""
    question_expires_seconds: Annotated[float, Field(strict=True, gt=0, le=EXPIRY_MAX, allow_inf_nan=False)] | None = (
        None
    )
    """The seconds after which the run continues without an answer; null for no limit."""
    classifications_max: Count = 0
    """The largest number of failures that the model classifies before the run backtracks far; 0 disables
    classification.
    """
    feedback_window: Positive = 5
    """How many of the newest rejections of each kind a prompt shows."""
    guard_catalog: tuple[Name, ...] = ()
    """Guard names that a plan's steps may use in addition to the built-in names."""
    model_timeout_seconds: Seconds = 120.0
    """The time limit of one model call, in seconds."""
    guard_timeout_seconds: Seconds = 60.0
    """The time limit of one judgement, in seconds; if a guard exceeds it again and again, the run is parked."""
    output_tokens_max: Positive = 4096
    """The largest number of tokens in one reply. Each call reserves these tokens and its prompt's tokens."""
    model_settings: ModelSettings = Field(default_factory=ModelSettings, exclude_if=operator.not_)
    """The settings of all model calls; missing settings come from `config.yaml` for the model."""

    @model_validator(mode="after")
    def _check_edges(self) -> "Workflow":
        """Check the edges between steps.

        A missing step is reported before a cycle, because a misspelt name can cause a cycle.
        """
        pairs = self.action_pairs
        if not 1 <= len(pairs) <= STEPS_MAX:
            hint = (
                "remove steps, or move some steps into a child workflow"
                if pairs
                else "add a step, such as `g_plan: ...`"
            )
            raise config_error(
                f"a workflow must have 1 to {STEPS_MAX} steps, and this workflow has {len(pairs)}",
                ("action_pairs",),
                hint,
            )
        for step, pair in pairs.items():
            for key, targets in _references(pair):
                for index, target in enumerate(targets):
                    if target not in pairs:
                        path = ("action_pairs", step, *key, index)
                        raise config_error(f"there is no step {target!r}", path, nearest(target, pairs, kind="steps"))
        cycle = self.graph.cycle()
        if cycle:
            path, hint = ("action_pairs", cycle[0], "requires"), "remove one of these steps from `requires`"
            raise config_error(f"steps require each other: {' -> '.join(cycle)}", path, hint)
        for step, pair in pairs.items():
            above = self.graph.ancestors[step]
            for key, targets in _references(pair)[1:]:
                for index, target in enumerate(targets):
                    if target not in above:
                        path = ("action_pairs", step, *key, index)
                        hint = nearest("", above, kind=f"{step} requires") or f"{step} requires nothing"
                        raise config_error(
                            f"{target!r} is not a step that {step!r} requires, directly or through other steps",
                            path,
                            hint,
                        )
        return self

    @model_validator(mode="after")
    def _set_default_level(self) -> "Workflow":
        if "target_guard_level" not in self.model_fields_set:
            levels = [
                _LEVELS.index(PLAN_GUARDS[guard])
                for step in self.graph.leaves
                for guard in self.action_pairs[step].guards
                if guard in PLAN_GUARDS
            ]
            if levels:
                # Frozen, but still under construction.
                object.__setattr__(self, "target_guard_level", _LEVELS[max(levels)])
        return self

    @model_validator(mode="after")
    def _check_model_keys(self) -> "Workflow":
        for step, pair in self.action_pairs.items():
            key = "model" if pair.model is not None else KEY if pair.model_settings else None
            if key is not None and pair.generator not in MODEL_GENERATORS:
                cause = f"generator {pair.generator!r} does not call the step's model, so this key has no effect"
                raise config_error(cause, ("action_pairs", step, key), "remove the key")
        return self

    @model_validator(mode="after")
    def _check_strict(self) -> "Workflow":
        if self.strict and self.never_strict:
            raise config_error(self.never_strict, ("strict",))
        return self

    @cached_property
    def never_strict(self) -> str:
        """The reason why `strict` cannot be set, as a sentence without its full stop; empty if `strict` can be set."""
        plans = [step for step in self.graph.leaves if self.role(step) == "plan"]
        if not plans:
            return "`strict` needs a last step that makes a plan"
        for step in plans:
            guard = self.action_pairs[step].guard
            if isinstance(guard, Composite) and guard.majority is not None:
                return f"with `strict`, the guard of step {step} must not be a majority"
        return ""

    def changed(self, **keys: Any) -> "Workflow":
        """Return the workflow with other values for the keys in `keys`. Raises `UsageProblem` if a value is invalid."""
        try:
            # Keys that the file leaves out stay unset: a belief policy refuses an `r_patience` that somebody has set.
            return Workflow.model_validate(self.model_dump(include=set(self.model_fields_set)) | keys)
        except ValidationError as error:
            raise usage_problem(error, ParsedFile("", keys, {(key,): 0 for key in keys})) from None

    @property
    def plans_from_tools(self) -> bool:
        """Whether at least one step makes a plan from steps that tools declare."""
        return any(pair.generator == TOOL_PLANS for pair in self.action_pairs.values())

    @property
    def model_steps(self) -> tuple[str, ...]:
        """The steps whose generators call a model."""
        return tuple(step for step, pair in self.action_pairs.items() if pair.generator in MODEL_GENERATORS)

    @cached_property
    def graph(self) -> Dag:
        """The graph of the `requires` edges."""
        return Dag({step: pair.requires for step, pair in self.action_pairs.items()})

    def is_deterministic(self, step: str, free: Collection[str] = FREE_GENERATORS) -> bool:
        """Return whether a step calls no model. Such a step costs nothing, and always makes the same artifact."""
        pair = self.action_pairs[step]
        return pair.deterministic if pair.deterministic is not None else pair.generator in free

    def role(self, step: str) -> str:
        """Return the role that a step states, else the role of its guard; empty if neither has a role."""
        pair = self.action_pairs[step]
        return pair.role or next((_ROLES[guard] for guard in pair.guards if guard in _ROLES), "")

    def effective_guard(self, step: str) -> str | Composite:
        """Return the guard that judges a step.

        In a last step (no step requires it), the plan guard of the target level replaces other plan guards.
        """
        guard = self.action_pairs[step].guard
        added = (STRICT_GUARD,) if self.strict and step in self.graph.leaves and self.role(step) == "plan" else ()
        if isinstance(guard, str):
            own = self.guard_at_target_level(step, guard)
            return Composite(all_of=(own, *added)) if added else own
        members = (*(self.guard_at_target_level(step, member) for member in guard.members), *added)
        return Composite.model_validate({guard.kind: tuple(dict.fromkeys(members))})

    def guard_at_target_level(self, step: str, guard: str) -> str:
        """Return the name of the guard that is used instead of `guard`.

        In a last step, this is the plan guard of the target level if `guard` is a plan guard. Otherwise it is `guard`.
        """
        return f"plan_{self.target_guard_level}" if guard in PLAN_GUARDS and step in self.graph.leaves else guard

    def escalate_by_guard_of(self, step: str) -> Mapping[str, tuple[str, ...]]:
        """Return a mapping from the names of guards in verdicts to the steps to redo after the guard rejects.

        If the plan guard of the target level has no entry, it uses the entry of the guard that it replaces.
        """
        pair = self.action_pairs[step]
        guards = [guard for guard in pair.guards if guard in pair.escalate_by_guard]
        replaced = {
            self.guard_at_target_level(step, guard): pair.escalate_by_guard[guard] for guard in reversed(guards)
        }
        return {**replaced, **pair.escalate_by_guard}

    def rmax_of(self, step: str) -> int:
        """Return the largest number of attempts in one visit to a step."""
        return self.action_pairs[step].rmax or self.rmax

    def r_patience_of(self, step: str) -> int:
        """Return the number of successive equal failures that counts as stagnation."""
        return self.action_pairs[step].r_patience or self.r_patience

    def e_max_of(self, step: str) -> int | None:
        """Return the largest number of escalations that a step may cause in a round; None for no limit."""
        own = self.action_pairs[step].e_max
        return self.e_max if own is None else own

    def timeout_seconds_of(self, step: str) -> float:
        """Return the time limit of one model call, in seconds."""
        return self.action_pairs[step].timeout_seconds or self.model_timeout_seconds

    def set_for_every_step(self, own: str, common: str, value: float) -> "Workflow":
        """Return the workflow with `value` as its key `common`, and with the key `own` removed from every step.

        Raises `UsageProblem`.
        """
        pairs = {step: pair.model_dump() | {own: None} for step, pair in self.action_pairs.items()}
        return self.changed(**{common: value}, action_pairs=pairs)

    def output_tokens_max_of(self, step: str) -> int:
        """Return the token limit of one reply."""
        return self.action_pairs[step].output_tokens_max or self.output_tokens_max


def _references(pair: ActionPair) -> list[tuple[KeyPath, tuple[str, ...]]]:
    by_guard = [(("escalate_by_guard", guard), steps) for guard, steps in pair.escalate_by_guard.items()]
    return [(("requires",), pair.requires), (("escalate_to",), pair.escalate_to), *by_guard]


def validate_names(
    workflow: Workflow, guards: Collection[str], generators: Collection[str], document: ParsedFile | None = None
) -> None:
    """Check that every guard and generator of a workflow is known; `document` gives the line numbers of errors.

    Raises:
        UsageProblem: a name is unknown, or a step that calls a model is marked as deterministic.
    """
    document = document or ParsedFile(workflow.name, {})
    for step, pair in workflow.action_pairs.items():
        if pair.deterministic and pair.generator in MODEL_GENERATORS:
            cause = f"generator {pair.generator!r} calls a model, so the step is not deterministic"
            raise document.problem(cause, ("action_pairs", step, "deterministic"), "remove the key")
    for kind, name, path in unknown_names(workflow, guards, generators):
        valid_names = guards if kind == "guard" else generators
        hint = (
            near(name, valid_names)
            or f"{nearest(name, valid_names, kind=f'{kind}s')}; --plugins FILE.py adds your own {kind}s"
        )
        raise document.problem(f"unknown {kind} {name!r}", path, hint)


def unknown_names(
    workflow: Workflow, guards: Collection[str], generators: Collection[str]
) -> Iterator[tuple[Literal["generator", "guard"], str, KeyPath]]:
    """Yield (kind, name, path) for each generator and guard that the workflow names and that is not known."""
    for step, pair in workflow.action_pairs.items():
        path = ("action_pairs", step)
        if pair.child is None and pair.generator not in generators:
            yield "generator", pair.generator, (*path, "generator")
        for key, names in (("guard", pair.guards), ("escalate_by_guard", tuple(pair.escalate_by_guard))):
            for name in names:
                if name not in guards:
                    yield "guard", name, (*path, key)


def find_prompt_entry(book: PromptBook, workflow: Workflow, step: str) -> PromptEntry:
    """Return the prompt entry that a step names, else the entry for the step's id, else the entry for its role.

    Raises:
        UsageProblem: there is no such entry. `load_workflow` makes sure that every step with model calls has an entry.
    """
    prompt = workflow.action_pairs[step].prompt
    names = (prompt,) if prompt else tuple(filter(None, (step, workflow.role(step))))
    for name in names:
        if name in book.entries:
            return book.entries[name]
    entries = " or ".join(repr(name) for name in names)
    hint = nearest(names[0], book.entries, kind="entries")
    raise UsageProblem(f"the prompts have no entry {entries}", place=f"action_pairs.{step}", hint=hint)
