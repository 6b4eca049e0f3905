"""The configuration of a run: its resolved workflow, policy, prompts, model and price.

The first event stores the whole configuration. All later decisions use this copy, so a new release or an edited file
cannot break a parked run.
"""

import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from actors.config.model_spec import is_deterministic
from actors.config.workflow import Workflow, find_prompt_entry
from actors.guards import review
from actors.policy.author import Author
from actors.policy.belief import BeliefModel
from actors.policy.decision import Escalation
from actors.policy.table import CLASSIFIER, Policy
from actors.prompting.book import PromptBook
from actors.prompting.render import PromptTemplate
from actors.run.limits import LIMITS
from actors.run.settings import SettingsChanged, timeout_after
from actors.search.graph import Graph, StepBudget, happy_calls, worst_case_calls
from actors.search.notation import SINGLE_BRANCH, read_search
from actors.search.progress import Search
from actors.values.model_settings import ModelSettings
from runtime.core.events import Value, text_hash
from runtime.core.ledger import Price

if TYPE_CHECKING:
    from actors.search.tree import SearchStrategy


STOP_BELOW = 0.025
"""The default `stop_below` of a belief policy: the smallest chance of success per call that a move must have."""


LIMIT_KEYS: Mapping[str, str] = {spec.workflow: name for name, spec in LIMITS.items() if spec.workflow}
"""A mapping from each key of a workflow that limits its runs to the name of the limit (`actors.run.limits`)."""


class StepConfig(NamedTuple):
    """The configuration of one step."""

    role: str
    guard: str
    """The name of the guard that judges the artifact. A composite guard has the name of its kind, such as `all_of`."""
    prompt: PromptTemplate | None
    child: "RunConfig | None"
    requires: tuple[str, ...]
    timeout_seconds: float
    output_tokens_max: int
    settings: ModelSettings
    model: str
    price: Price | None


class StepModel(Value):
    """A model that a step uses in place of the run's model."""

    model: str
    price: Price | None = None


class RunConfig(Value):
    """The resolved configuration of one run, which its first event stores."""

    workflow: Workflow
    """The workflow, after options have replaced values of its file."""
    policy: Policy
    prompts: PromptBook
    model: str
    price: Price | None = None
    children: Mapping[str, "RunConfig"] = Field(default_factory=dict)
    """The configurations of the child runs, by the name that follows `workflow:` in a step."""
    author: Author | None = Field(default=None, exclude_if=lambda author: author is None)
    """The behaviour of the model's family, in numbers; None if unknown, or if the policy does not use numbers."""
    deterministic: bool = Field(default=False, exclude_if=lambda deterministic: not deterministic)
    """Whether the model always gives the same reply to the same prompt. If so, no reply is requested twice."""
    no_input: bool = Field(default=False, exclude_if=lambda no_input: not no_input)
    """For a belief policy: whether nobody can answer questions, so that the policy considers no questions.

    False for other policies.
    """
    model_settings: Mapping[str, ModelSettings] = Field(default_factory=dict, exclude_if=operator.not_)
    """The settings of calls; a key is a step or the classifier's name. Steps without settings have no key."""
    step_models: Mapping[str, StepModel] = Field(default_factory=dict, exclude_if=operator.not_)

    @property
    def question_expires_seconds(self) -> float | None:
        """The seconds after which an unanswered question expires; None if it never expires."""
        return self.workflow.question_expires_seconds

    def child_of(self, step: str) -> "RunConfig | None":
        """Return the configuration of the child run for a step; None if no child run carries out the step."""
        return self.steps[step].child

    @property
    def all(self) -> "Iterator[RunConfig]":
        """Yield this configuration and the configurations of all its child runs."""
        yield self
        for child in self.children.values():
            yield from child.all

    def with_settings(self, event: SettingsChanged) -> "RunConfig":
        """Return the configuration after a person changed the model, the limits or settings of a call, or `strict`.

        The limits and the model apply to every step, and to later child runs. A new model also replaces a step's own
        model, because the provider of the step's model may no longer work. `strict` applies only to the run's own
        plans, because child runs make only parts of these plans.
        """
        call_fields = (event.model, event.timeout_seconds, event.output_tokens_max)
        if not event.strict and not event.model_settings and all(value is None for value in call_fields):
            return self
        workflow = self.workflow.changed(strict=True) if event.strict else self.workflow
        if event.timeout_seconds is not None:
            workflow = _set_for_every_step(workflow, "timeout_seconds", "model_timeout_seconds", event.timeout_seconds)
        elif (seconds := timeout_after(workflow.model_timeout_seconds, event)) != workflow.model_timeout_seconds:
            workflow = workflow.changed(model_timeout_seconds=seconds)
        if event.output_tokens_max is not None:
            workflow = _set_for_every_step(workflow, "output_tokens_max", "output_tokens_max", event.output_tokens_max)
        below = event.model_copy(update={"strict": False})
        model = event.model or self.model
        return self.changed(
            workflow=workflow,
            model=model,
            price=event.price if event.model is not None else self.price,
            author=None if event.model is not None else self.author,
            children={name: child.with_settings(below) for name, child in self.children.items()},
            deterministic=is_deterministic(model) if event.model is not None else self.deterministic,
            step_models={} if event.model is not None else self.step_models,
            model_settings=self._patch_settings(event.model_settings) if event.model_settings else self.model_settings,
        )

    def with_step_models(self, other: "RunConfig") -> "RunConfig":
        """Return the configuration with the step models of `other`, also in child runs.

        Both configurations must have the same workflow.
        """
        return self.changed(
            step_models=other.step_models,
            deterministic=writes_the_same(self.model, other.step_models),
            children={name: child.with_step_models(other.children[name]) for name, child in self.children.items()},
        )

    def changed(self, **fields: Any) -> "RunConfig":
        """Return the configuration with new values for some fields."""
        # `model_copy` would also copy the cached properties, which were computed from the old values.
        return RunConfig(**({name: getattr(self, name) for name in RunConfig.model_fields} | fields))

    def _patch_settings(self, patch: Mapping[str, Any]) -> dict[str, ModelSettings]:
        names = (*self.workflow.model_steps, CLASSIFIER)
        patched = {name: self.model_settings.get(name, ModelSettings()).apply_patch(patch) for name in names}
        return {name: settings for name, settings in patched.items() if settings}

    def with_stop_below(self, least: float) -> "RunConfig":
        """Return the configuration with another `stop_below`; unchanged if its policy has no belief."""
        if self.policy.belief is None:
            return self
        return self.changed(workflow=self.workflow.changed(stop_below=least))

    @property
    def price_known(self) -> bool:
        """Whether the prices of all models are known, including models of child runs."""
        prices = (*(item.price for item in self.all), *self.step_prices.values())
        return all(price is not None for price in prices)

    @property
    def step_prices(self) -> dict[str, Price | None]:
        """The prices of the models that steps use in place of the run's model, including steps of child runs."""
        return {own.model: own.price for item in self.all for own in item.step_models.values()}

    @property
    def most_calls(self) -> int:
        """The largest number of calls of a run: the lower of the worst case of one round and the run's limit."""
        return min(worst_case_calls(self.graph, self.workflow.classifications_max), self.workflow.max_total_calls)

    @cached_property
    def search(self) -> Search:
        """The way in which the strategy searches within each branch."""
        name = read_search(self.workflow.search).name
        return Search(name) if name in SINGLE_BRANCH else self.strategy.moves

    @cached_property
    def compares(self) -> bool:
        """Whether the strategy compares branches. If not, there is only one branch, and no view or tree is computed."""
        return read_search(self.workflow.search).name not in SINGLE_BRANCH and self.strategy.compares

    @cached_property
    def strategy(self) -> "SearchStrategy":
        """The strategy that opens and prunes branches, made from the workflow's `search`."""
        from actors.search.strategies import strategy_of  # noqa: PLC0415 -- reading a run needs none

        return strategy_of(read_search(self.workflow.search), self.graph)

    @cached_property
    def graph(self) -> Graph:
        """The graph of the workflow's steps, for the search."""
        return graph_of(self.workflow, self.children)

    @cached_property
    def roles(self) -> dict[str, str]:
        """The role of each step's artifact; empty for a step without a role."""
        return {step: self.workflow.role(step) for step in self.workflow.action_pairs}

    @cached_property
    def belief(self) -> BeliefModel | None:
        """The policy's belief table, compiled for this workflow; None if the policy has only rows."""
        table = self.policy.belief
        return None if table is None else BeliefModel(table, self.graph, self.roles, self.author)

    @property
    def stop_below(self) -> float | None:
        """The default `stop_below` of runs with this configuration; None if the policy has no belief."""
        if self.policy.belief is None:
            return None
        return STOP_BELOW if self.workflow.stop_below is None else self.workflow.stop_below

    @property
    def limits(self) -> dict[str, Any]:
        """The default limits of runs with this configuration; the keys are the names of the fields of `Limits`."""
        values = {key: getattr(self.workflow, key) for key in LIMIT_KEYS} | {"stop_below": self.stop_below}
        return {LIMITS[name].key: values[key] for key, name in LIMIT_KEYS.items()}

    @cached_property
    def classifier(self) -> PromptTemplate:
        """The prompt that asks a model for the cause of a rejection."""
        entry = self.prompts.entries[CLASSIFIER].shown(compact=self.classifier_settings.compact)
        return PromptTemplate(entry, self.prompts)

    @cached_property
    def classifier_settings(self) -> ModelSettings:
        """The settings of the calls that ask for the cause of a rejection."""
        return self.model_settings.get(CLASSIFIER) or ModelSettings()

    @cached_property
    def reviewed(self) -> frozenset[str]:
        """The steps whose artifacts a person reviews. The guard of each of these steps is or contains a review."""
        guards = {step: self.workflow.effective_guard(step) for step in self.workflow.action_pairs}
        return frozenset(step for step, guard in guards.items() if review.includes_review(guard))

    @cached_property
    def steps(self) -> dict[str, StepConfig]:
        """The configuration of each step, computed once."""
        order = self.workflow.graph.order
        return {step: self._step(step, order) for step in self.workflow.action_pairs}

    def _step(self, step: str, order: Sequence[str]) -> StepConfig:
        workflow, pair = self.workflow, self.workflow.action_pairs[step]
        guard, own = workflow.effective_guard(step), self.step_models.get(step)
        settings = self.model_settings.get(step) or ModelSettings()
        return StepConfig(
            role=self.roles[step],
            guard=guard if isinstance(guard, str) else guard.kind,
            prompt=None
            if workflow.is_deterministic(step)
            else PromptTemplate(
                find_prompt_entry(self.prompts, workflow, step).shown(compact=settings.compact), self.prompts
            ),
            child=None if pair.child is None else self.children[pair.child],
            requires=tuple(upper for upper in order if upper in pair.requires),
            timeout_seconds=workflow.timeout_seconds_of(step),
            output_tokens_max=workflow.output_tokens_max_of(step),
            settings=settings,
            model="" if own is None else own.model,
            price=self.price if own is None else own.price,
        )

    def settings(self, step: str) -> dict[str, Any]:
        """Return the settings for a step's generator and guard, as new objects."""
        workflow = self.workflow
        return {
            "role": self.steps[step].role,
            "roles": dict(self.roles),
            "target_guard_level": workflow.target_guard_level,
            "assurance": workflow.assurance,
            "r_max": workflow.r_max,
            "guard_catalog": list(workflow.guard_catalog),
        }

    def escalation(self, step: str) -> Escalation:
        """Return a step's escalation settings. Settings that the step does not set come from the workflow."""
        pair = self.workflow.action_pairs[step]
        return Escalation(
            r_patience=self.workflow.r_patience_of(step),
            e_max=self.workflow.e_max_of(step),
            escalate_to=pair.escalate_to,
            escalate_by_guard=self.workflow.escalate_by_guard_of(step),
        )

    @cached_property
    def workflow_ref(self) -> str:
        """The hash of the configuration. Two runs with the same hash make the same decisions."""
        return text_hash(self.model_dump_json())


def writes_the_same(model: str, step_models: Mapping[str, StepModel]) -> bool:
    """Return whether every model of a run always gives the same reply to the same prompt."""
    return all(map(is_deterministic, (model, *(own.model for own in step_models.values()))))


def _set_for_every_step(workflow: Workflow, own: str, common: str, value: float) -> Workflow:
    steps = {step: pair.model_copy(update={own: value}) for step, pair in workflow.action_pairs.items()}
    return workflow.model_copy(update={"action_pairs": steps, common: value})


@lru_cache(maxsize=64)
def read_config(text: str) -> RunConfig:
    """Return the configuration of a run from its JSON.

    Runs with the same JSON share one object.
    """
    return RunConfig.model_validate_json(text)


def graph_of(workflow: Workflow, children: Mapping[str, RunConfig] | None = None) -> Graph:
    """Return the workflow's steps and budgets as a graph. A child run's calls count for its step."""
    by_name = children or {}

    def calls(step: str) -> tuple[int, int]:
        pair = workflow.action_pairs[step]
        child = by_name.get(pair.child or "")
        if child is None:
            return pair.child_calls or 1, 1
        most = pair.child_calls or child.most_calls
        return most, min(most, happy_calls(child.graph))

    return Graph(
        requires={step: pair.requires for step, pair in workflow.action_pairs.items()},
        budgets={
            step: StepBudget(
                rmax=workflow.rmax_of(step),
                backtrack_budget=pair.backtrack_budget,
                deterministic=workflow.is_deterministic(step),
                calls=calls(step)[0],
                happy=calls(step)[1],
            )
            for step, pair in workflow.action_pairs.items()
        },
    )
