"""The replies of the simulated author: a function of profile, seed, request id and the content of the prompt."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from actors.guards.shapes import PROBLEM_TYPES
from actors.policy.cause import CLASSIFIER
from actors.run.ids import call_of
from actors.simulated import acquisition
from actors.simulated.plans import DEFECT_STEPS, simulated_plan
from actors.simulated.profile import Cause, Profile
from actors.simulated.seeded import draw, normal, pick, tag
from actors.simulated.world import UPSTREAM, World, read_views, strategy_for, views_text
from runtime.core.cost import Usage
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply

BYTES_PER_TOKEN = 4
"""A common rule of thumb for English text and JSON."""


@dataclass(frozen=True)
class Request:
    """A request to the author."""

    world: World
    """The problem."""
    node: str
    """The id of the attempt; all tries of an attempt have the same."""
    material: Mapping[str, Any]
    """The content of the prompt as data."""

    def dependency(self, role: str) -> Any:
        """Return the accepted artifact of a role, or an empty mapping."""
        return self.material.get("dependencies", {}).get(role) or {}

    @property
    def feedback(self) -> list[str]:
        """The texts of all rejections in the prompt."""
        return [*self.material.get("retry", ()), *self.material.get("escalation", ())]


def answer(profile: Profile, seed: int, request: ModelRequest, name: str) -> tuple[Reply | Fault, float]:
    """Return the reply, and its latency in seconds. An unknown role is the fault `BAD_REQUEST`."""
    role = request.material.get("role")
    writer = AUTHORS.get(role) if isinstance(role, str) else None
    if writer is None and role not in acquisition.ROLES:
        known = ", ".join((*AUTHORS, *sorted(acquisition.ROLES)))
        message = f"the simulated author has no role {role!r}; it knows {known}"
        return Fault(kind=FaultKind.BAD_REQUEST, message=message), 0.0
    world = World(profile, seed, str(request.material.get("specification", "")))
    node = call_of(request.request_id)  # Every try of an attempt gets the same reply.
    if writer is None:
        text = acquisition.acquisition_text(profile, world.key, node, request.material)
    else:
        text = orjson.dumps(writer(Request(world, node, request.material))).decode()
    if draw(world.key, node, "malformed") < profile.malformed:
        text = text[: len(text) // 2]
    prompt_bytes = len(request.system.encode(errors="replace")) + len(request.user.encode(errors="replace"))
    usage = Usage(
        input_tokens=prompt_bytes // BYTES_PER_TOKEN,
        output_tokens=len(text) // BYTES_PER_TOKEN + profile.cost.reasoning_tokens,
    )
    latency = profile.latency
    seconds = latency.median_seconds * math.exp(latency.spread * normal(world.key, request.request_id, "latency"))
    return Reply(text=text, usage=usage, model=name), seconds


def _analysis(request: Request) -> dict[str, Any]:
    world = request.world
    view = world.view(Cause.ANALYSIS, request.node, request.feedback)
    kind = world.kind if view == world.truth(Cause.ANALYSIS) else _other_kind(world.kind, view)
    return {
        "problem_type": kind,
        "language": "python",
        "severity": "medium",
        "key_signals": ["as simulated"],
        "affected_area": "as simulated",
        "rationale": views_text({Cause.ANALYSIS: view}),
    }


def _other_kind(kind: str, view: str) -> str:
    others = [other for other in PROBLEM_TYPES if other != kind]
    return others[int(view, 16) % len(others)]


def _recon(request: Request) -> dict[str, Any]:
    view = request.world.view(Cause.RECON, request.node, request.feedback)
    return {
        "mentioned_files": [],
        "stack_traces": [],
        "apis_involved": [],
        "test_references": [],
        "reproduction_steps": [],
        "constraints_mentioned": [views_text({Cause.RECON: view})],
    }


def _strategy(request: Request) -> dict[str, Any]:
    world = request.world
    view = world.view(Cause.STRATEGY, request.node, request.feedback)
    kind = request.dependency("analysis").get("problem_type", world.kind)
    right = view == world.truth(Cause.STRATEGY)
    return {
        "strategy_id": strategy_for(kind if right else _other_kind(kind, view)),
        "strategy_name": "as simulated",
        "rationale": views_text({Cause.STRATEGY: view}),
        "key_steps": ["as simulated"],
        "expected_guards": ["syntax"],
        "risk_factors": [],
    }


def _critique(request: Request) -> dict[str, Any]:
    """Return a critique that is right at the rates of the profile's critic; the final plan depends on it alone."""
    world, critic = request.world, request.world.profile.critic
    wrong = not world.solved_by(request.dependency("plan"))
    objects = draw(world.key, request.node, "critique") < (critic.detects if wrong else critic.objects)
    return {
        "overall_assessment": "needs_revision" if objects else "good",
        "problem_type_match": "as simulated",
        "missing_steps": [],
        "unnecessary_steps": [],
        "ordering_issues": [],
        "guard_appropriateness": [],
        "specific_suggestions": ["think again"] if objects else ["keep it"],
    }


def _plan(request: Request) -> dict[str, Any]:
    """Return the plan that follows from the views of the accepted artifacts and from its own view.

    The views of a draft whose critique is good are kept, until a guard rejects the plan.
    """
    world, draft = request.world, request.dependency("plan")
    kept = request.dependency("critique").get("overall_assessment") == "good" and not request.material.get("retry")
    views: dict[Cause, str] = read_views(draft) if kept else {}
    for level in UPSTREAM:
        accepted = read_views(request.dependency(level)).get(level)
        if accepted is not None:
            views[level] = accepted
        elif level not in views:  # The workflow has no step for this level, so the view is drawn here.
            views[level] = world.view(level, request.node, request.feedback, world.profile.unsettled)
    if Cause.PLAN not in views:
        views[Cause.PLAN] = world.view(Cause.PLAN, request.node, request.feedback)
    views = {level: views[level] for level in (*UPSTREAM, Cause.PLAN)}
    cause, goal, note = world.wrong(views), views_text(views), f"written as {tag(world.key, request.node)}"
    given = request.material.get("given") or {}
    if cause is None:
        return simulated_plan(goal, note, given=given)
    same_defect = draw(world.key, request.node, "steady") < world.profile.repeats.get(cause, 0.0)
    words = (world.key, cause, "" if same_defect else request.node)
    place = DEFECT_STEPS[int(draw(*words, "place") * len(DEFECT_STEPS))]
    defect = pick(world.profile.findings[cause], *words, "defect")
    return simulated_plan(goal, note, defect, world.clue(cause), place, given=given)


def _unclear(_: Request) -> dict[str, Any]:
    """Return the cause `unclear`: there are no data from which the accuracy of a classifier could be simulated."""
    return {"cause": "unclear"}


AUTHORS: Mapping[str, Callable[[Request], dict[str, Any]]] = {
    "analysis": _analysis,
    "recon": _recon,
    "strategy": _strategy,
    "plan": _plan,
    "critique": _critique,
    CLASSIFIER: _unclear,
}
