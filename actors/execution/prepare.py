"""Prepares an execution: reads the plan, binds its names to tools, proves the plan, and makes the configuration."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actors.config.loader import load_policy
from actors.config.model_spec import check_settings
from actors.execution.config import Approval, ExecutionConfig
from actors.execution.events import ExecutionStarted
from actors.execution.replan_rules import LEVELS, guard_of, prove
from actors.planning.config import RunConfig
from actors.plans.reader import read_plan
from actors.policy.table import Policy
from actors.prompting.book import load_prompts
from actors.run.kind import Setup
from actors.tools.uses import ToolSet, is_agent
from actors.tools.worktrees import check_git
from actors.values.findings import Finding, Verdict
from actors.values.format import format_count, title_of
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Limits

CALLS = 90
"""The default limit of an execution's model calls. The limit is enough for two replans of 30 calls each, and for files
that models write.
"""
OUTPUT_TOKENS = 16_384
"""The default limit of tokens in one reply of a model. A reply contains one file that the model writes."""
REPLANS = 2
"""The default limit of replans in an execution. Reopening the execution starts a new count."""
QUESTIONS = 5
"""The default limit of questions that an execution asks about troubles. Reopening the execution starts a new count."""
PATIENCE = 2
"""The default number of equal failures of a step in a row that count as stagnation. Workflows have this default too."""
PLAN_BYTES_MAX = 4 * 1024 * 1024
"""The largest number of bytes in a plan that is written as JSON. A model's reply has the same limit."""


@dataclass(frozen=True)
class ExecutionInput:
    """The input of an execution: a plan, and the tools bound to its names."""

    plan: Mapping[str, Any]
    """The plan as a JSON object. The plan is proved again, even if it was proved before."""
    tools: ToolSet
    workspace: Path
    approval: Approval = "risky"
    level: str = "plan_expansive"
    """The guard that proves the plan."""
    assurance: str = "strong_cyclic"
    """The weakest assurance that the guard `plan_expansive` accepts."""
    r_max: int = 100
    """The largest `total_retry_budget` that the plan may have."""
    snapshots: bool = True
    looks: bool = True
    problem: str = ""
    plan_of: str = ""
    """The id of the planning run that made the plan; empty for a plan from a file."""
    planning: RunConfig | None = None
    author_lacks: str = ""
    """The reason why the model cannot make a plan for these tools, as a clause; empty if the model can plan."""
    policy: Policy | None = None
    """The rule table that decides after a failure; None for the shipped table."""
    limits: Limits = field(default_factory=lambda: Limits(calls=CALLS))
    replans_max: int = REPLANS
    questions_max: int = QUESTIONS
    question_expires_seconds: float | None = None
    timeout_seconds: float = 120.0
    output_tokens_max: int = OUTPUT_TOKENS
    model_settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PreparedExecution:
    """An execution that is ready to begin (`actors.run.kind.PreparedRun`)."""

    config: ExecutionConfig
    verdict: Verdict
    title: str
    limits: Limits
    plan_of: str = ""
    notices: tuple[str, ...] = ()
    """The guard's warnings, as notices for the user before the run starts."""
    kind: str = "execution"

    @property
    def other_models(self) -> tuple[str, ...]:
        """The models that the planning runs of replans use for single steps."""
        return () if self.config.planning is None else tuple(self.config.planning.step_prices)

    def first(self, run: str, at: float) -> ExecutionStarted:
        """Return the event that starts the execution."""
        pinned = self.config.model_dump_json()
        return ExecutionStarted(at=at, run=run, pinned=pinned, limits=self.limits, plan_of=self.plan_of)


def prepare_execution(request: ExecutionInput, setup: Setup) -> PreparedExecution:
    """Return an execution that is ready to begin. No step is run.

    Raises `UsageProblem` if the plan cannot be read, uses a name that is bound to no tool, or is rejected by its guard.
    Also raises `UsageProblem` if the workspace is not a folder.
    """
    text = _check_plan(request)
    verdict = _prove_plan(request, text)
    others = {} if request.planning is None else request.planning.step_prices
    setup.check_price(limited=request.limits.micro_usd is not None, others=others)
    prompts, _ = load_prompts(setup.root / "prompts/execution.yaml", setup.root / "prompts/planning.yaml")
    policy = request.policy or load_policy("default", setup.root)
    assurance = verdict.facts.get("assurance")
    config = ExecutionConfig(
        plan=text,
        level=request.level,
        assurance=assurance if isinstance(assurance, str) else None,
        required_assurance=request.assurance,
        r_max=request.r_max,
        tools=request.tools,
        approval=request.approval,
        policy=policy,
        prompts=prompts,
        workspace=str(request.workspace.absolute()),
        snapshots=request.snapshots,
        looks=request.looks,
        problem=request.problem,
        planning=request.planning,
        author_lacks=request.author_lacks,
        replans_max=request.replans_max,
        questions_max=request.questions_max,
        r_patience=PATIENCE,
        question_expires_seconds=request.question_expires_seconds,
        model=setup.model,
        price=setup.price,
        timeout_seconds=request.timeout_seconds,
        output_tokens_max=request.output_tokens_max,
        model_settings=setup.settings_of(setup.model).apply_patch(request.model_settings),
    )
    check_settings(setup.model, config.model_settings.body)
    goal = request.plan.get("goal")
    title = title_of(request.problem) or title_of(goal if isinstance(goal, str) else "")
    warnings = tuple(_finding_text(finding) for finding in verdict.findings if finding.severity == "warning")
    if request.author_lacks:
        warnings = (*warnings, f"if this plan fails, no new plan can be made: {request.author_lacks}")
    name = str(request.plan.get("plan_id", "plan"))
    return PreparedExecution(config, verdict, title or title_of(name), request.limits, request.plan_of, warnings)


def _check_plan(request: ExecutionInput) -> str:
    """Check that the plan can be read and that its names are bound to tools. Return the JSON that the run stores."""
    plan, findings = read_plan(dict(request.plan))
    if plan is None:
        errors = [finding for finding in findings if finding.severity == "error"]
        raise UsageProblem(errors[0].message, place="PLAN", hint="`replan check` shows all findings")
    plan = read_plan(dict(request.tools.with_undo(request.plan)))[0] or plan
    unbound = request.tools.unbound(plan)
    if unbound:
        source = request.tools.source
        hint = f"bind them in the tools file {source}" if source else "bind them in a tools file (option --tools)"
        raise UsageProblem(f"no tool or check implements {', '.join(unbound)}", place="PLAN", hint=hint)
    if not request.workspace.is_dir():
        cause = "there is no folder at this path"
        raise UsageProblem(cause, place=str(request.workspace), hint="name a folder with --workspace")
    uses = map(request.tools.generator_use, plan.steps)
    agents = sorted(use.tool for use in uses if is_agent(use))
    if agents:
        check_git(request.workspace, agents[0])
    text = json.dumps(request.tools.with_undo(request.plan), sort_keys=True)
    if len(text) > PLAN_BYTES_MAX:
        cause = f"the plan has {format_count(len(text), 'byte')}, more than the limit of {PLAN_BYTES_MAX:,}"
        raise UsageProblem(cause, place="PLAN", hint="leave out everything that is not part of the plan")
    return text


def _prove_plan(request: ExecutionInput, text: str) -> Verdict:
    if request.level not in LEVELS:
        raise UsageProblem(f"unknown level {request.level!r}", place="level", hint=f"one of {', '.join(LEVELS)}")
    verdict = prove(guard_of(request.level, request.tools, request.assurance, request.r_max), text)
    if not verdict.passed:
        first, more = verdict.errors[0], len(verdict.errors) - 1
        others = f" (and {format_count(more, 'more finding')})" if more else ""
        cause = f"the plan is not proved: {_finding_text(first)}{others}"
        raise UsageProblem(cause, place="PLAN", hint="`replan check` shows all findings")
    return verdict


def _finding_text(finding: Finding) -> str:
    return f"{finding.code}: {' '.join(finding.message.split())}"
