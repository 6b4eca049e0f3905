"""The models `template:NAME`, which write a workflow's artifacts from a template, deterministically and offline."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
import trio

from actors.guards import plan_medium
from actors.guards.plan_settings import GUARD_CATALOG
from actors.policy.table import CLASSIFIER, Cause
from actors.templates.plan import BASIS, FILES_MAX, TemplateRequest, plan_of, read_request, shorten_line
from actors.templates.template_files import PlanTemplate
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Finding
from actors.values.open_questions import NOT_UNDERSTOOD
from actors.values.requirements import RequirementKind, requirement_to_json
from runtime.core.ledger import Usage
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply

REMARKS_MAX = 5
"""A critique quotes at most this number of findings about a draft."""


class TemplateModel:
    """The model `template:NAME`.

    The model reads the `material` of a request: the `role` (a key of `AUTHORS`), the texts of the user and the accepted
    `dependencies`. It also reads the `settings` (`r_max`, `guard_catalog` and `assurance`) and the facts in `given`.
    For an unknown role, the model returns the fault `BAD_REQUEST`.
    """

    def __init__(self, name: str, template: PlanTemplate) -> None:
        self._name, self._template = name, template

    @property
    def name(self) -> str:
        """The name of the model in the form that `--model` accepts."""
        return f"template:{self._name}"

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the artifact of the request's role as JSON text. The reply has a usage of 0 tokens."""
        await trio.lowlevel.checkpoint()
        role = request.material.get("role")
        if not isinstance(role, str) or role not in AUTHORS:
            message = f"a template cannot write for the role {role!r}, only for {', '.join(AUTHORS)}"
            return Fault(kind=FaultKind.BAD_REQUEST, message=message)
        text = write(role, request.material, self._name, self._template)
        return Reply(text=text, usage=Usage(), model=self.name)

    async def aclose(self) -> None:
        """Do nothing: the model holds no resources."""
        await trio.lowlevel.checkpoint()


def write(role: str, material: Mapping[str, Any], name: str, template: PlanTemplate) -> str:
    """Return the artifact of a role as JSON text. Raises `KeyError` for an unknown role."""
    artifact = AUTHORS[role](read_request(material), template)
    if role == "plan" and artifact["steps"]:
        artifact["basis"] = BASIS.replace("{name}", f"`template:{name}`")
    return orjson.dumps(artifact, option=orjson.OPT_INDENT_2).decode()


def analysis(request: TemplateRequest, template: PlanTemplate) -> dict[str, Any]:
    """Return the analysis. Its problem type is the template's type, because the user chose the template."""
    doubts = request.doubts()
    if doubts and not doubts["open_questions"]:
        return doubts
    return {
        "problem_type": template.kind,
        "language": "unknown",
        "severity": "medium",
        "key_signals": [request.title],
        "affected_area": request.files[0] if request.files else request.title,
        "rationale": f"The person who started the run chose the template for a {template.noun}.",
        "open_questions": [],
        **doubts,
    }


def recon(request: TemplateRequest, _: PlanTemplate) -> dict[str, Any]:
    """Return the artifact of the role `recon`: the files and the demands in the user's texts."""
    kept = (RequirementKind.MUST_AVOID, RequirementKind.MUST_KEEP)
    return {
        "mentioned_files": list(request.files),
        "stack_traces": [],
        "apis_involved": [],
        "test_references": [],
        "reproduction_steps": [],
        "constraints_mentioned": [item.text for item in request.requirements if item.kind in kept][:FILES_MAX],
        "requirements": [requirement_to_json(item) for item in request.requirements],
        "open_questions": [],
    }


def strategy(request: TemplateRequest, template: PlanTemplate) -> dict[str, Any]:
    """Return the template's strategy. If no earlier step made an analysis, the strategy asks the open questions."""
    doubts = {} if "analysis" in request.dependencies else request.doubts()
    if doubts and not doubts["open_questions"]:
        return doubts
    followed = template.strategy
    return {
        "strategy_id": followed.id,
        "strategy_name": followed.name,
        "rationale": f"The person chose the template for a {template.noun}, and this is its strategy.",
        "for_type": template.kind,
        "key_steps": [
            {"id": step.id, "text": step.name.split(" {n}")[0].replace("{title}", request.title)}
            for step in template.steps
            if step.key
        ],
        "expected_guards": list(followed.guards),
        "risk_factors": ["The steps come from a template; no model has analysed this problem"],
        "evidence": list(request.files),
        "open_questions": [],
        **doubts,
    }


def plan(request: TemplateRequest, template: PlanTemplate) -> dict[str, Any]:
    """Return the template's plan. If no step before made an analysis or strategy, the plan asks the open questions."""
    doubts = {} if request.dependencies.keys() & {"analysis", "strategy"} else request.doubts()
    if doubts and not doubts["open_questions"]:
        return {"plan_id": NOT_UNDERSTOOD, "steps": [], **doubts}
    return {**plan_of(template, request), **doubts}


def critique(request: TemplateRequest, template: PlanTemplate) -> dict[str, Any]:
    """Return a critique of the draft. It lists the errors of `plan_medium` and the demands that no step satisfies."""
    draft = request.dependency("plan")
    steps = [step for step in draft.get("steps") or () if isinstance(step, Mapping)]
    satisfied = {name for step in steps for name in step.get("satisfies") or ()}
    planned = (RequirementKind.GOAL, RequirementKind.MUST_AVOID, RequirementKind.MUST_KEEP)
    missing = [
        f"A step for this: {shorten_line(item.text, 200)}"
        for item in request.requirements
        if item.kind in planned and item.id not in satisfied
    ]
    wrong = [finding.message for finding in _findings(request, draft) if finding.severity == "error"]
    return {
        "overall_assessment": "needs_revision" if missing or wrong else "good",
        "problem_type_match": f"The draft is compared with the template for a {template.noun}.",
        "missing_steps": missing,
        "unnecessary_steps": [],
        "ordering_issues": [],
        "guard_appropriateness": [],
        "specific_suggestions": wrong[:REMARKS_MAX] or ["Keep the structure of the draft"],
        "open_questions": [],
    }


def _unclear_cause(_: TemplateRequest, __: PlanTemplate) -> dict[str, Any]:
    """Return the cause `unclear`, because a template cannot judge a failure."""
    return {"cause": str(Cause.UNCLEAR)}


def _findings(request: TemplateRequest, draft: Mapping[str, Any]) -> Sequence[Finding]:
    catalogue = sorted(GUARD_CATALOG.union(request.catalogue))
    guard = plan_medium.make({"guard_catalog": catalogue, "r_max": request.r_max})
    content = orjson.dumps(draft).decode()
    return guard(Artifact(artifact_id="draft", step="plan", content=content), Context(specification="")).findings


AUTHORS: Mapping[str, Callable[[TemplateRequest, PlanTemplate], dict[str, Any]]] = {
    "analysis": analysis,
    "recon": recon,
    "strategy": strategy,
    "plan": plan,
    "critique": critique,
    CLASSIFIER: _unclear_cause,
}
"""For each role, the function that makes the artifact of a step with this role."""
