"""What a workflow is: action pairs, the edges between them, search, budgets, policy and prompts.

`Workflow` and `ActionPair` are frozen values with every default in place; what one key means for another (a step's own
`rmax` before the workflow's) is answered by methods, so that nobody else knows the rule. Whether guards and generators
of these names exist is checked by `validate_names`, since plug-ins decide that.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, WithJsonSchema, model_validator

from actors.config.pair import ActionPair, Count, Patience, Positive, Seconds, StepId
from actors.config.searching import SEARCH_SCHEMA, searched
from actors.files.explain import Config, complaint, explain, nearest
from actors.files.yaml_document import Document, KeyPath
from actors.guards.composite_spec import Composite, Name
from actors.search.dag import Dag

__all__ = [
    "FREE_GENERATORS",
    "MODEL_GENERATORS",
    "STEPS_MAX",
    "TEMPLATE_SELECTOR",
    "ActionPair",
    "Assurance",
    "Composite",
    "GuardLevel",
    "Search",
    "Workflow",
    "unknown_names",
    "validate_names",
]

STEPS_MAX = 64
"""Steps of one workflow; the seeds' largest has 12."""
EXPIRY_MAX = 366 * 86_400.0
"""Seconds that a question may stay open, where it does not stay open for ever."""
TEXT_MAX = 20_000
"""Characters of a workflow's `constraints`: they go into every prompt."""

TEMPLATE_SELECTOR = "TemplateSelectorGenerator"
"""The generator that picks the template of a problem's type."""

FREE_GENERATORS = frozenset({"PlanGenerator", TEMPLATE_SELECTOR})
"""The built-in generators that call no model (S123): two names of one, the older of which AtomicGuard's files use."""

MODEL_GENERATORS = frozenset({"model", "LLMJsonGenerator", "LLMPlanGenerator", "LLMPlanRefiner"})
"""The names that all mean: ask the run's model. The seeds have one name per kind of artifact."""

GuardLevel = Literal["minimal", "medium", "expansive"]
Assurance = Literal["none", "weak", "strong_cyclic", "strong"]
Search = Annotated[str, BeforeValidator(searched), WithJsonSchema(SEARCH_SCHEMA)]

_LEVELS: tuple[GuardLevel, ...] = ("minimal", "medium", "expansive")
_PLAN_GUARDS = {f"plan_{level}": level for level in _LEVELS}
_ROLES = {
    "analysis_valid": "analysis",
    "recon_valid": "recon",
    "strategy_valid": "strategy",
    "critique_valid": "critique",
    **dict.fromkeys(_PLAN_GUARDS, "plan"),
}


class Workflow(Config):
    """A whole workflow, with every default in place."""

    name: Name
    """What people call it."""
    description: str = ""
    """One line for people."""
    action_pairs: Annotated[
        Mapping[StepId, ActionPair],
        Field(json_schema_extra={"minProperties": 1, "maxProperties": STEPS_MAX, "additionalProperties": False}),
    ]
    """The steps by id; their order breaks ties."""
    search: Search = "depth_first"
    """How the next attempt is chosen: a name, with a number where it takes one (`beam:4`), or a mapping of both."""
    target_guard_level: GuardLevel = "medium"
    """The goal test: the level of the plan guard of every leaf. Left out, the strictest level among those guards."""
    assurance: Assurance = "strong_cyclic"
    """What an expansive plan guard asks of the traces that do not escalate."""
    rmax: Positive = 3
    """Attempts per visit of a step."""
    max_total_calls: Positive = 30
    """Model calls of the whole run."""
    r_max: Positive = 100
    """The limit that plan guards set to a plan's `total_retry_budget`."""
    r_patience: Patience = 2
    """So many equal failures of a step in a row are stagnation."""
    e_max: Count | None = None
    """Escalations that one step may cause in a round; null is no limit."""
    policy: Name = "default"
    """The rule table that says how far back a failure goes: a name in `configs/policies`, or a path."""
    prompts: Name = "planning"
    """The prompts: a name in `prompts`, or a path counted from this file."""
    constraints: Annotated[str, StringConstraints(max_length=TEXT_MAX)] = ""
    """Rules that stand in every prompt."""
    questions_max: Count = 5
    """Questions that a run may ask the user; the reviews of a `human_review` guard do not count."""
    question_expires_seconds: Annotated[float, Field(strict=True, gt=0, le=EXPIRY_MAX, allow_inf_nan=False)] | None = (
        None
    )
    """How long a question stays open before the run goes on without an answer; null is for ever."""
    classifications_max: Count = 0
    """Failures that a run may ask the model to classify before a costly step back; 0 asks none."""
    feedback_window: Positive = 5
    """The newest rejections of each kind that a prompt repeats."""
    guard_catalog: tuple[Name, ...] = ()
    """Guard names that a plan's steps may use beside the built-in ones."""
    model_timeout_seconds: Seconds = 120.0
    """Time limit of one model call."""
    guard_timeout_seconds: Seconds = 60.0
    """Time limit of one judgement."""
    output_tokens_max: Positive = 4096
    """Length limit of one reply."""

    @model_validator(mode="after")
    def _sound(self) -> "Workflow":
        """Check what holds between steps; a missing step is told before a cycle, since it may be the same slip."""
        pairs = self.action_pairs
        if not 1 <= len(pairs) <= STEPS_MAX:
            hint = (
                "leave some out, or run them as a workflow of their own" if pairs else "add one, such as `g_plan: ...`"
            )
            raise complaint(
                f"a workflow has 1 to {STEPS_MAX} steps, this one has {len(pairs)}", ("action_pairs",), hint
            )
        for step, pair in pairs.items():
            for key, targets in _references(pair):
                for index, target in enumerate(targets):
                    if target not in pairs:
                        path = ("action_pairs", step, *key, index)
                        raise complaint(f"there is no step {target!r}", path, nearest(target, pairs, kind="steps"))
        cycle = self.graph.cycle()
        if cycle:
            path, hint = ("action_pairs", cycle[0], "requires"), "take one out of `requires`"
            raise complaint(f"steps require each other: {' -> '.join(cycle)}", path, hint)
        for step, pair in pairs.items():
            above = self.ancestors(step)
            for key, targets in _references(pair)[1:]:
                for index, target in enumerate(targets):
                    if target not in above:
                        path = ("action_pairs", step, *key, index)
                        hint = nearest("", above, kind=f"{step} requires") or f"{step} requires nothing"
                        raise complaint(f"{target!r} is not a step that {step!r} builds on", path, hint)
        return self

    @model_validator(mode="after")
    def _level_of_leaves(self) -> "Workflow":
        """Take the goal's level from the leaves if the file names none: a file never means less than it says."""
        if "target_guard_level" not in self.model_fields_set:
            levels = [
                _LEVELS.index(_PLAN_GUARDS[guard])
                for step in self.leaves()
                for guard in self.action_pairs[step].guards
                if guard in _PLAN_GUARDS
            ]
            if levels:
                # The value is still being made; from here on it is frozen.
                object.__setattr__(self, "target_guard_level", _LEVELS[max(levels)])
        return self

    def changed(self, **keys: Any) -> "Workflow":
        """Return the workflow with other values for some keys, checked like a file.

        Raises:
            UsageProblem: a value is not allowed; its place is the key.
        """
        try:
            return Workflow.model_validate(self.model_dump() | keys)
        except ValidationError as error:
            raise explain(error, Document("", keys, {(key,): 0 for key in keys})) from None

    @cached_property
    def graph(self) -> Dag:
        """The graph of the `requires` edges."""
        return Dag({step: pair.requires for step, pair in self.action_pairs.items()})

    def order(self) -> tuple[str, ...]:
        """Return the steps in topological order; of those that are ready together, the earlier in the file first."""
        return self.graph.order

    def ancestors(self, step: str) -> frozenset[str]:
        """Return all that a step requires, directly or not."""
        return self.graph.ancestors[step]

    def dependents(self, step: str) -> frozenset[str]:
        """Return all that require a step, directly or not: what a new artifact of it makes stale."""
        return self.graph.dependents[step]

    def leaves(self) -> tuple[str, ...]:
        """Return the steps that nothing requires."""
        return self.graph.leaves

    def roots(self) -> tuple[str, ...]:
        """Return the steps that require nothing."""
        return self.graph.roots

    def distance(self, upper: str, lower: str) -> int | None:
        """Return how many steps up `upper` is from `lower`, by the longest path; None when it is not above it."""
        return self.graph.distance(upper, lower)

    def is_deterministic(self, step: str, free: Collection[str] = FREE_GENERATORS) -> bool:
        """Return whether a step calls no model, so that it costs nothing and redoing it changes nothing."""
        pair = self.action_pairs[step]
        return pair.deterministic if pair.deterministic is not None else pair.generator in free

    def role(self, step: str) -> str:
        """Return a step's role: its own, or the one that its guard says; empty when neither does."""
        pair = self.action_pairs[step]
        return pair.role or next((_ROLES[guard] for guard in pair.guards if guard in _ROLES), "")

    def effective_guard(self, step: str) -> str | Composite:
        """Return the guard that judges a step: on a leaf, a plan guard of the target level replaces that of another."""
        guard = self.action_pairs[step].guard
        if isinstance(guard, str):
            return self._judging(step, guard)
        members = (self._judging(step, member) for member in guard.members)
        return Composite.model_validate({guard.kind: tuple(dict.fromkeys(members))})

    def _judging(self, step: str, guard: str) -> str:
        """Return the name of the guard that judges in the place of the one that the file names."""
        return f"plan_{self.target_guard_level}" if guard in _PLAN_GUARDS and step in self.leaves() else guard

    def escalate_by_guard_of(self, step: str) -> Mapping[str, tuple[str, ...]]:
        """Return where the failures of each guard lead, by the name that its verdicts bear.

        A plan guard that judges at the target level keeps the entry of the one that the file names for the step, unless
        the file has an entry for that level too.
        """
        pair = self.action_pairs[step]
        named = [guard for guard in pair.guards if guard in pair.escalate_by_guard]
        raised = {self._judging(step, guard): pair.escalate_by_guard[guard] for guard in reversed(named)}
        return {**raised, **pair.escalate_by_guard}

    def rmax_of(self, step: str) -> int:
        """Return the attempts of one visit."""
        return self.action_pairs[step].rmax or self.rmax

    def r_patience_of(self, step: str) -> int:
        """Return how many equal failures in a row are stagnation."""
        return self.action_pairs[step].r_patience or self.r_patience

    def e_max_of(self, step: str) -> int | None:
        """Return how many escalations a step may cause; None is no limit."""
        own = self.action_pairs[step].e_max
        return self.e_max if own is None else own

    def timeout_seconds_of(self, step: str) -> float:
        """Return the time limit of one model call."""
        return self.action_pairs[step].timeout_seconds or self.model_timeout_seconds

    def output_tokens_max_of(self, step: str) -> int:
        """Return the token limit of one reply."""
        return self.action_pairs[step].output_tokens_max or self.output_tokens_max


def _references(pair: ActionPair) -> list[tuple[KeyPath, tuple[str, ...]]]:
    """Return every list of step ids in a pair, with its keys; `requires` first."""
    by_guard = [(("escalate_by_guard", guard), steps) for guard, steps in pair.escalate_by_guard.items()]
    return [(("requires",), pair.requires), (("escalate_to",), pair.escalate_to), *by_guard]


def validate_names(
    workflow: Workflow, guards: Collection[str], generators: Collection[str], document: Document | None = None
) -> None:
    """Check that every guard and generator is one of the known names; the workflow's document gives the line.

    Raises:
        UsageProblem: the first that is not, with the nearest name; or a step that asks the model and says that it calls
            none, since what is deterministic costs nothing and the budget would not hold.
    """
    found = document or Document(workflow.name, {})
    for step, pair in workflow.action_pairs.items():
        if pair.deterministic and pair.generator in MODEL_GENERATORS:
            cause = f"generator {pair.generator!r} asks a model, which always counts"
            raise found.problem(cause, ("action_pairs", step, "deterministic"), "leave it out")
    for kind, name, path in unknown_names(workflow, guards, generators):
        hint = nearest(name, guards if kind == "guard" else generators, kind=f"{kind}s")
        raise found.problem(f"unknown {kind} {name!r}", path, hint)


def unknown_names(
    workflow: Workflow, guards: Collection[str], generators: Collection[str]
) -> Iterator[tuple[Literal["generator", "guard"], str, KeyPath]]:
    """Yield every use of a generator or guard that is not one of the known names, with its place."""
    for step, pair in workflow.action_pairs.items():
        path = ("action_pairs", step)
        if pair.child is None and pair.generator not in generators:
            yield "generator", pair.generator, (*path, "generator")
        for key, names in (("guard", pair.guards), ("escalate_by_guard", tuple(pair.escalate_by_guard))):
            for name in names:
                if name not in guards:
                    yield "guard", name, (*path, key)
