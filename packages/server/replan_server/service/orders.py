"""Orders of clients to plan a problem, to execute a plan and to fork a run.

A client sends text, bytes and names. Names refer to workflows, policies, models and tool sets in the server's config
file. The server never accepts a path, an address, a plug-in or a prompt from a client.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from actors.config.loader import shipped_policies, shipped_workflows
from actors.execution.prepare import CALLS as EXECUTION_CALLS
from actors.handlers.generators import Registry
from actors.planning.prepare import PlanningInput, RunOptions, RunRequest
from actors.run.kind import PreparedRun
from actors.run.limits import RunLimits
from actors.values.given import Attachment
from replan.runs.attaching import check_sizes, read_upload
from replan.runs.changes import Changes
from replan.runs.executing import ExecutionOptions, PlanToExecute, prepare_to_execute
from replan.runs.forks import ForkRequest
from replan.runs.kind_interface import ModelAndLimits, Offer, choose
from replan.runs.prepare import Prepared, RunOrder, prepare
from replan.setup.settings import DEFAULT
from runtime.core.errors import UsageProblem
from runtime.logs.redact import Redactor, secrets_in

UPLOADS_MAX = 20
"""The largest number of files that can be attached when a run is started."""

_FILE_NAME = re.compile(r"[\w@+-][\w@+. -]{0,119}")


@dataclass(frozen=True, slots=True)
class Order(ModelAndLimits):
    """An order of a client to plan a problem."""

    problem: str
    workflow: str = "search"
    uploads: Sequence[tuple[str, bytes]] = ()
    strict: bool = False
    """Whether a plan is rejected if a demand of the problem is in no step of the plan."""


@dataclass(frozen=True, slots=True)
class ExecutionOrder(ModelAndLimits):
    """An order of a client to execute a plan."""

    plan: PlanToExecute
    tools: str


@dataclass(frozen=True, slots=True)
class ForkOrder(ModelAndLimits):
    """An order of a client to fork a run. The model `default` is the run's own model."""

    at: str = ""
    """The place of the fork; see `ForkRequest.at`."""
    workflow: str | None = None
    """The name of another workflow; None for the run's own workflow."""
    policy: str | None = None
    """The name of another policy. None stands for the policy of the new workflow. Without a new workflow, None stands
    for the run's own policy.
    """
    given: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ServerOffer(Offer):
    """The names that a server offers its clients, for planning, executions, forks and runs of installed kinds."""

    root: Path

    @property
    def workflows(self) -> Mapping[str, str]:
        """The path of each workflow, by the name that clients use."""
        own = {name: str(self.folder / path) for name, path in self.config.clients.workflows.items()}
        return {**{name: name for name in shipped_workflows(self.root)}, **own}

    @property
    def policies(self) -> Mapping[str, str]:
        """The path of each policy for forks, by the name that clients use."""
        own = {name: str(self.folder / path) for name, path in self.config.clients.policies.items()}
        return {**{name: name for name in shipped_policies(self.root)}, **own}

    def prepare_execution(
        self, order: ExecutionOrder, registry: Registry, environment: Mapping[str, str] = os.environ
    ) -> PreparedRun:
        """Return the execution that a client has ordered. Raises `UsageProblem`, whose place is the wrong field."""
        chosen = choose(order.tools, self.config.clients.tools, "tools", thing="tool set", things="tools")
        options = ExecutionOptions(
            tools=str(self.folder / chosen.file),
            workspace=str(self.folder / chosen.workspace),
            approval=chosen.approve,
            limits=self.limits_of(order, EXECUTION_CALLS),
        )
        prepared = prepare_to_execute(
            order.plan,
            options,
            choose(order.model, self.models, "model"),
            registry=registry,
            environment=environment,
            config=self.config,
        )
        prepared.check_model()
        return prepared.request

    def prepare(
        self, order: Order, registry: Registry, environment: Mapping[str, str] = os.environ
    ) -> Prepared[RunRequest]:
        """Return the run that a client has ordered, ready to begin.

        Raises `UsageProblem`, whose place is the wrong field.
        """
        options, files = self._options(order), _attachments(order, environment)
        task = original = PlanningInput(order.problem, options, files)
        model = self.model_of(order, environment)
        resources: dict[str, Any] = {"registry": registry, "environment": environment, "config": self.config}
        prepared: Prepared[RunRequest] = prepare(RunOrder(task, model), **resources)
        limits, ceilings = prepared.request.limits, self.config.clients.ceilings
        if limits.calls > ceilings["max_calls"]:
            task = _limited(task, max_calls=ceilings["max_calls"])
        if limits.stop_below is not None and limits.stop_below < (ceilings["stop_below"] or 0.0):
            task = _limited(task, stop_below=ceilings["stop_below"])
        if task is not original:
            prepared = prepare(RunOrder(task, model), **resources)
        prepared.check_model()
        return prepared

    def fork_of(self, order: ForkOrder, environment: Mapping[str, str] = os.environ) -> ForkRequest:
        """Return the fork that a client has ordered. If the order lacks a limit, the default for clients is used.

        Raises `UsageProblem`, whose place is the wrong field.
        """
        limits = self.limits_of(order, self.config.clients.ceilings["max_calls"])
        workflow = None if order.workflow is None else self.workflow_path(order.workflow)
        policy = None if order.policy is None else choose(order.policy, self.policies, "policy", things="policies")
        model = None if order.model == DEFAULT else self.choice_of(order.model, environment).text
        return ForkRequest(order.at, workflow, policy, Changes(limits, model), order.given)

    def workflow_path(self, name: str) -> str:
        """Return the path of the workflow with a name that clients use. Raises `UsageProblem`."""
        return choose(name, self.workflows, "workflow")

    def _options(self, order: Order) -> RunOptions:
        workflow = choose(order.workflow, self.workflows, "workflow")
        return RunOptions(workflow=workflow, strict=order.strict, limits=self.limits_of(order, None))


def _limited(task: PlanningInput, **limits: Any) -> PlanningInput:
    merged = cast("RunLimits", {**task.options.limits, **limits})
    return replace(task, options=replace(task.options, limits=merged))


def offer_fields(offer: ServerOffer, *, allow_execute: bool) -> dict[str, Any]:
    """Return, as plain data, the names that clients may use in the orders of this module, and the ceilings of runs.

    Tool sets are included only with `allow_execute`.
    """
    clients = offer.config.clients
    rates = {"runs_at_once": clients.runs_at_once, "runs_per_day": clients.runs_per_day}
    return {
        "workflows": list(offer.workflows),
        "policies": list(offer.policies),
        "models": list(offer.models),
        "tools": list(clients.tools) if allow_execute else [],
        "ceilings": {**clients.ceilings, **rates},
    }


def _attachments(order: Order, environment: Mapping[str, str]) -> tuple[Attachment, ...]:
    if len(order.uploads) > UPLOADS_MAX:
        raise UsageProblem(f"a run has at most {UPLOADS_MAX} files", place="attachments", hint="attach fewer files")
    redactor, names = Redactor(secrets_in(environment)), set[str]()
    for name, _ in order.uploads:
        if not _FILE_NAME.fullmatch(name) or name in names:
            hint = "use letters, digits, dots, dashes and blanks, no path, and each name only once"
            raise UsageProblem(f"{name[:60]!r} is not a valid name for a file", place="attachments", hint=hint)
        names.add(name)
    attachments = [read_upload(name, data, redactor) for name, data in order.uploads]
    check_sizes(attachments, "attachments")
    return tuple(attachments)
