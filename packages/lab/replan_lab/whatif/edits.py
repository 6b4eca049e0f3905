"""The user's edit of a workflow, guards or a policy.

The files that the user names are read once, and then the edit is applied to each run.
"""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actors.config.loader import LoadedWorkflow, load_policy
from actors.config.step_guards import guards_of, make_step_guard
from actors.config.workflow import PLAN_GUARDS, Workflow
from actors.config.workflow_check import SEARCHES, check_belief, check_workflow
from actors.files.suggestions import nearest
from actors.guards import review
from actors.guards.port import AnyGuard
from actors.handlers.generators import Registry
from actors.planning.children import child_guard
from actors.planning.config import LIMIT_KEYS, RunConfig, read_config
from actors.planning.events import RunStarted, VerdictReached
from actors.planning.prepare import pin, restore_workflow
from actors.policy.table import Policy
from actors.run.calls import Judged
from actors.run.ids import is_child
from actors.run.limits import LIMITS
from actors.search.notation import read_search
from actors.values.findings import Verdict, limit_verdict
from replan_lab.whatif.differences import EditedRules
from runtime.core.errors import UsageProblem


@dataclass(frozen=True, slots=True)
class EditRequest:
    """The edit as the user asked for it. It is sent to the worker processes in this form."""

    workflow: str = ""
    """The name of a shipped workflow, or the path of a file; empty for the recorded workflow."""
    guards: tuple[str, ...] = ()
    """The guards to call again. `NAME` means all steps with this guard; `STEP=NAME` means this guard instead of the
    step's own guard.
    """
    policy: str = ""
    """The name of a shipped policy, or the path of a file; empty for the recorded policy."""
    named: bool = False
    """Whether the user has named the runs. If so, the edited workflow applies to all these runs, even if their own
    workflow has another name.
    """
    plugins: tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether nothing is edited, so that only the program is compared."""
        return not (self.workflow or self.guards or self.policy)


def rules_for(request: EditRequest, registry: Registry, root: Path) -> EditedRules:
    """Return the edit as functions that a replay calls.

    Raises `UsageProblem` if a file cannot be read or a name does not exist.
    """
    if request.is_none:
        return EditedRules()
    loaded, policy = None, None
    if request.workflow:
        loaded, policy = check_workflow(request.workflow, root, registry.guards, registry.generator_names)
    if request.policy:
        policy = load_policy(request.policy, root)
    if loaded is not None and policy is not None and read_search(loaded.workflow.search).name in SEARCHES:
        check_belief(loaded, policy)
    edit = _Edit(request, registry, loaded, policy, *_guards(request.guards, registry))
    return EditedRules(edit.first, edit.verdict, edit.reason_unaffected, in_every_field=False, is_none=False)


def _guards(texts: Sequence[str], registry: Registry) -> tuple[frozenset[str], Mapping[str, str]]:
    again, by_step = set[str](), dict[str, str]()
    for text in texts:
        step, _, name = text.rpartition("=")
        if name not in registry.guards:
            hint = nearest(name, registry.guards, kind="guards")
            raise UsageProblem(f"there is no guard {name!r}", place="--guard", hint=hint)
        if name == review.NAME:
            hint = "name a guard that needs no person"
            raise UsageProblem(
                f"the guard {name!r} asks a person, who cannot be asked again", place="--guard", hint=hint
            )
        if step:
            by_step[step] = name
        else:
            again.add(name)
    return frozenset(again), by_step


@dataclass(frozen=True)
class _Edit:
    request: EditRequest
    registry: Registry
    loaded: LoadedWorkflow | None
    policy: Policy | None
    again: frozenset[str]
    by_step: Mapping[str, str]
    _configs: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)

    def reason_unaffected(self, first: Any) -> str:
        if not isinstance(first, RunStarted):
            return "not a planning run"
        if is_child(first.run) and not self.request.named:
            return "a child run"
        workflow = read_config(first.pinned).workflow
        if self.loaded is not None and not self.request.named and workflow.name != self.loaded.workflow.name:
            return "another workflow"
        if self.request.workflow or self.request.policy:
            return ""
        steps = workflow.action_pairs
        judged = {name for step in steps for name in guards_of(workflow, step)}
        return "" if judged & self.again or steps.keys() & self.by_step.keys() else "another guard"

    def first(self, event: Any) -> Any:
        then, limits = read_config(event.pinned), event.limits
        text = self._configs.get((event.pinned, event.given))
        if text is None:  # Most runs begin with one of few configurations.
            text = self._configs[event.pinned, event.given] = self._config(event, then).model_dump_json()
        now = read_config(text)
        for key, name in LIMIT_KEYS.items():
            limit = LIMITS[name].key
            if key not in event.given and getattr(limits, limit) == then.limits[limit]:
                limits = limits.model_copy(update={limit: now.limits[limit]})
        return event.model_copy(update={"pinned": text, "limits": limits})

    def _config(self, event: RunStarted, then: RunConfig) -> RunConfig:
        now = then
        if self.loaded is not None and self.policy is not None:
            here = restore_workflow(self.loaded, event, then)
            now = pin(here, self.policy, then.model, then.price, no_input=then.no_input)
            kept = {step: own for step, own in then.step_models.items() if step in now.step_models}
            now = now.changed(
                deterministic=then.deterministic,
                model_settings=then.model_settings or now.model_settings,
                step_models={**now.step_models, **kept},
            )
        elif self.policy is not None:
            now = now.changed(policy=self.policy)
        if now.policy.belief is not None and read_search(now.workflow.search).name not in SEARCHES:
            now = now.changed(policy=now.policy.without_belief())
        own = {step: name for step, name in self.by_step.items() if step in now.workflow.action_pairs}
        return now.changed(workflow=_with_guards(now, own)) if own else now

    def verdict(self, machine: Any, state: Any, event: Any, first: Any) -> Judged | None:
        """Return the message with the new verdict if the step must be judged again; otherwise None."""
        request = state.judgements.get(event.request_id) if isinstance(event, VerdictReached) else None
        if request is None or not self._is_edited(read_config(first.pinned).workflow, state.config, request.step):
            return None
        guard = _guard(state.config, request.step, self.registry)
        brief = machine.brief(state, machine.outstanding(state)[event.request_id])
        answer = guard(brief.artifact, brief.context)
        verdict = answer if isinstance(answer, Verdict) else _await_verdict(answer)
        checked = Verdict.model_validate_json(limit_verdict(verdict).model_dump_json())
        return Judged(event.request_id, event.at, event.elapsed, checked, mono=event.mono)

    def _is_edited(self, then: Workflow, now: RunConfig, step: str) -> bool:
        """Return whether a step must be judged again: its guard or settings are edited, or the user named its guard."""
        workflow = now.workflow
        if step not in workflow.action_pairs or step in now.reviewed:
            return False
        names = guards_of(workflow, step)
        if self.again & {*names} or step in self.by_step or step not in then.action_pairs:
            return True
        return _guard_inputs(then, step) != _guard_inputs(workflow, step)


def _guard_inputs(workflow: Workflow, step: str) -> tuple[Any, ...]:
    """Return the parts of a workflow on which the verdict of a step's guard depends."""
    own = workflow.action_pairs[step].guard_config
    shared = workflow.r_max, workflow.guard_catalog, workflow.assurance, workflow.target_guard_level
    return workflow.effective_guard(step), own, shared


def _with_guards(config: RunConfig, guards: Mapping[str, str]) -> Workflow:
    """Return the workflow with the guards in `guards`, without the settings of the guards that they replace.

    The steps keep their prompts: a step without its own prompt keeps the prompt for the role that the replaced guard
    gives the step.
    """
    workflow, pairs = config.workflow, dict(config.workflow.action_pairs)
    for step, name in guards.items():
        pair, role = pairs[step], workflow.role(step)
        by_role = not pair.prompt and step not in config.prompts.entries and role in config.prompts.entries
        own = {"prompt": role} if by_role else {}
        pairs[step] = pair.model_copy(update={"guard": name, "guard_config": {}, **own})
    levels = [name for name in guards.values() if name in PLAN_GUARDS]  # On a leaf, the level says which one judges.
    level = {"target_guard_level": levels[-1].removeprefix("plan_")} if levels else {}
    return workflow.model_copy(update={"action_pairs": pairs, **level})


def _guard(config: RunConfig, step: str, registry: Registry) -> AnyGuard:
    guard = make_step_guard(config.workflow, step, registry.guards)
    return guard if config.workflow.action_pairs[step].child is None else child_guard(guard)


def _await_verdict(answer: Awaitable[Verdict]) -> Verdict:
    import trio  # noqa: PLC0415 -- few guards wait

    async def wait() -> Verdict:
        return await answer

    return trio.run(wait)
