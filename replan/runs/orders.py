"""Runs that clients of a server order: checks their names and limits by the settings, and prepares them.

A client gives text, bytes and names. Names refer to workflows and models in the server's config file; a path, an
address, a plug-in or a prompt is never taken from a client.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from actors.config.loader import shipped_policies, shipped_workflows
from actors.execution.prepare import CALLS as EXECUTION_CALLS
from actors.files.suggestions import nearest
from actors.handlers.registry import Registry
from actors.planning.prepare import PlanningInput, RunOptions, RunRequest
from actors.run.kind import PreparedRun
from actors.run.limits import LIMITS, RunLimits, check_limits, least_value
from actors.values.given import Attachment
from actors.values.model_settings import EXTRAS
from replan.runs.attaching import check_sizes, read_upload
from replan.runs.changes import Changes
from replan.runs.executing import ExecutionOptions, PlanToExecute, prepare_to_execute
from replan.runs.forks import ForkRequest
from replan.runs.prepare import Prepared, RunOrder, prepare
from replan.setup.model_discovery import TEMPLATES
from replan.setup.settings import ModelChoice, UserConfig, choose_model
from runtime.core.errors import UsageProblem
from runtime.logs.redact import Redactor, secrets_in

DEFAULT = "default"
"""The name of the home's own model."""
UPLOADS_MAX = 20
"""The largest number of files that one run can be started with."""

_Choice = TypeVar("_Choice")
_FILE_NAME = re.compile(r"[\w@+-][\w@+. -]{0,119}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAndLimits:
    """The model and the limits that a client wants for a run."""

    model: str = DEFAULT
    limits: RunLimits = field(default_factory=RunLimits)
    """The limits. A missing limit has the server's value, or else the default."""


@dataclass(frozen=True, slots=True)
class Order(ModelAndLimits):
    """An order of a client to plan a problem."""

    problem: str
    workflow: str = "search"
    uploads: Sequence[tuple[str, bytes]] = ()
    strict: bool = False
    """Whether a plan is rejected that leaves a demand of the problem in no step."""


@dataclass(frozen=True, slots=True)
class KindOrder(ModelAndLimits):
    """An order of a client for a run of an installed kind (`replan.runs.kind_interface.KindInterface`)."""

    fields: BaseModel
    """The other fields of the order, checked: an instance of `KindInterface.order`."""


@dataclass(frozen=True, slots=True)
class ExecutionOrder(ModelAndLimits):
    """An order of a client to execute a plan."""

    plan: PlanToExecute
    tools: str


@dataclass(frozen=True, slots=True)
class ForkOrder(ModelAndLimits):
    """An order of a client to fork a run; the model `default` is the run's own."""

    at: str = ""
    """The place of the fork; see `ForkRequest.at`."""
    workflow: str | None = None
    """The name of another workflow; None for the run's own."""
    policy: str | None = None
    """The name of another policy; None for no change, or for the policy of the new workflow."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Values that hold from there on, as texts by the path of the field."""


@dataclass(frozen=True)
class Offer:
    """The choices that a server offers its clients."""

    config: UserConfig
    """The settings of the home."""
    folder: Path
    """The folder that relative paths in the settings start from."""
    root: Path
    """The folder of the shipped workflows."""

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

    @property
    def models(self) -> Mapping[str, str | None]:
        """The model behind each name that clients use; None for the home's own."""
        return {DEFAULT: None, **{name: name for name in TEMPLATES}, **self.config.clients.models}

    def model_of(self, order: ModelAndLimits) -> str | None:
        """Return the model of an order in the form of `--model`; None for the home's own. Raises `UsageProblem`."""
        return choose(order.model, self.models, "model")

    def prepare_execution(
        self, order: ExecutionOrder, registry: Registry, environment: Mapping[str, str] = os.environ
    ) -> PreparedRun:
        """Return the execution that a client has ordered. Raises `UsageProblem`, whose place is the field."""
        chosen = choose(order.tools, self.config.clients.tools, "tools", thing="tool set", things="tools")
        options = ExecutionOptions(
            tools=str(self.folder / chosen.file),
            workspace=str(self.folder / chosen.workspace),
            approval=chosen.approve,
            limits=self.limits_of(order, EXECUTION_CALLS),
        )
        prepared = prepare_to_execute(
            order.plan, options, self.model_of(order), registry=registry, environment=environment, config=self.config
        )
        prepared.check_model()
        return prepared.request

    def prepare(
        self, order: Order, registry: Registry, environment: Mapping[str, str] = os.environ
    ) -> Prepared[RunRequest]:
        """Return the run that a client has ordered, ready to begin. Raises `UsageProblem`, whose place is the field."""
        options, files = self._options(order), _attachments(order, environment)
        task = original = PlanningInput(order.problem, options, files)
        model = self.model_of(order)
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
        """Return the fork that a client has ordered. Limits that the order lacks are the defaults of clients.

        Raises `UsageProblem`, whose place is the field.
        """
        limits = self.limits_of(order, self.config.clients.ceilings["max_calls"])
        workflow = None if order.workflow is None else self.workflow_path(order.workflow)
        policy = None if order.policy is None else choose(order.policy, self.policies, "policy", things="policies")
        model = None if order.model == DEFAULT else self.choice_of(order.model, environment).text
        return ForkRequest(order.at, workflow, policy, Changes(limits, model), order.given)

    def choice_of(self, name: str, environment: Mapping[str, str] = os.environ) -> ModelChoice:
        """Return the model behind a name. Raises `UsageProblem`."""
        return choose_model(choose(name, self.models, "model"), environment, self.config)

    def workflow_path(self, name: str) -> str:
        """Return the path of the workflow behind a name. Raises `UsageProblem`."""
        return choose(name, self.workflows, "workflow")

    def check_changes(self, changes: Changes) -> None:
        """Raise `UsageProblem`, whose place is the field, if a client wants a limit beyond the server's."""
        self._check_limits(changes.limits)

    def _options(self, order: Order) -> RunOptions:
        workflow = choose(order.workflow, self.workflows, "workflow")
        return RunOptions(workflow=workflow, strict=order.strict, limits=self.limits_of(order, None))

    def limits_of(self, order: ModelAndLimits, calls: int | None) -> RunLimits:
        """Return the limits of an order within the ceilings. `calls` is the default limit of calls; None sets none."""
        self._check_limits(order.limits)
        ceilings = self.config.clients.ceilings
        usual = {name: most for name, most in ceilings.items() if LIMITS[name].ceiling and name != "max_calls"}
        if calls is not None:
            usual["max_calls"] = min(calls, ceilings["max_calls"])
        return cast("RunLimits", usual | check_limits(order.limits))

    def _check_limits(self, order_limits: RunLimits) -> None:
        """Check that the limits of an order are valid, and within those that the server allows to clients.

        Raises `UsageProblem`; its place is the name of the limit.
        """
        limits: Mapping[str, Any] = check_limits(order_limits)
        for name, most in self.config.clients.ceilings.items():
            if LIMITS[name].ceiling and most is not None and name in limits and limits[name] > most:
                hint = f"clients.{name} in the server's config.yaml; the command line may go beyond it"
                raise UsageProblem(f"the most that clients may ask for is {most:,}", place=name, hint=hint)
        for extra in limits.get("model_settings", {}).keys() & EXTRAS:
            hint = "model_settings in the server's config.yaml may have it"
            raise UsageProblem(f"clients may not set {extra}", place="model_settings", hint=hint)
        least, worth = self.config.clients.ceilings["stop_below"], least_value(order_limits)
        if worth is not None and least is not None and worth < least:
            hint = "clients.stop_below in the server's config.yaml; the command line may go below it"
            raise UsageProblem(f"the least that clients may ask for is {least:g}", place="stop_below", hint=hint)


def _limited(task: PlanningInput, **limits: Any) -> PlanningInput:
    merged = cast("RunLimits", {**task.options.limits, **limits})
    return replace(task, options=replace(task.options, limits=merged))


def offer_fields(offer: Offer, *, allow_execute: bool) -> dict[str, Any]:
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


def choose(
    name: str, choices: Mapping[str, _Choice], place: str, *, thing: str = "", things: str = "", setting: str = ""
) -> _Choice:
    """Return the choice with a name. Raises `UsageProblem`, whose place is the field of the order.

    `thing` and `things` are the words for one choice and for several; the default is the name of the field. `setting`
    is the key of the config file that names the choices.
    """
    if name not in choices:
        thing, things = thing or place, things or f"{place}s"
        hint = nearest(name[:100], choices, kind=things)
        hint = hint or f"{setting or f'clients.{things}'} in the server's config.yaml gives them names"
        raise UsageProblem(f"there is no {thing} {name[:100]!r} here", place=place, hint=hint)
    return choices[name]


def _attachments(order: Order, environment: Mapping[str, str]) -> tuple[Attachment, ...]:
    if len(order.uploads) > UPLOADS_MAX:
        raise UsageProblem(f"a run has at most {UPLOADS_MAX} files", place="attachments", hint="leave some out")
    redactor, names = Redactor(secrets_in(environment)), set[str]()
    for name, _ in order.uploads:
        if not _FILE_NAME.fullmatch(name) or name in names:
            hint = "letters, digits, dots, dashes and blanks, each name once; no path"
            raise UsageProblem(f"{name[:60]!r} cannot name a file", place="attachments", hint=hint)
        names.add(name)
    attachments = [read_upload(name, data, redactor) for name, data in order.uploads]
    check_sizes(attachments, "attachments")
    return tuple(attachments)
