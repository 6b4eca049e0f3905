"""The simulated author as a model.

A level is a step of the workflow. Each artifact contains a view: a small number, which is right or wrong for its level.
A reply depends only on the profile, the seed, the request id and the content of the prompt.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
import trio

from actors.config.model_spec import ModelSpec, PluginSpec
from actors.guards.fields import PROBLEM_TYPES
from actors.policy.table import CLASSIFIER, Cause
from actors.run.ids import call_of
from replan_lab.simulated.plans import DEFECT_STEPS, note, simulate_plan
from replan_lab.simulated.profile import PLAN, UNSOLVABLE, AuthorProfile, load_profile
from replan_lab.simulated.seeded import draw, normal, pick, tag
from replan_lab.simulated.world import World, attempts_before, clue, read_views, strategy_for, views_text
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Price, Usage
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply

BYTES_PER_TOKEN = 4
PREFIX = "simulated"
_NAME = re.compile(r"(?P<profile>[a-z][a-z0-9_-]{0,63})(?:\?seed=(?P<seed>[0-9]{1,18}))?")
_WORD = re.compile(r"[A-Za-z]{4,40}")


class SimulatedModel:
    """A model that returns the replies of the simulated author, each after its simulated latency."""

    def __init__(self, profile: AuthorProfile, seed: int, clock: Clock) -> None:
        self._profile, self._seed, self._clock = profile, seed, clock

    @property
    def name(self) -> str:
        """The model's name in the form of `--model`."""
        return address(self._profile.name, self._seed)

    @property
    def price(self) -> Price:
        """The price of the model that the profile imitates."""
        return self._profile.price

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the reply, or the fault, after its latency."""
        await trio.lowlevel.checkpoint()
        reply, seconds = answer(self._profile, self._seed, request, self.name)
        await self._clock.sleep_until(self._clock.now() + seconds)
        return reply

    async def aclose(self) -> None:
        """Do nothing, because the model has no open resources."""


def make(text: str, _: Mapping[str, str]) -> SimulatedModel:
    """Return the model that `simulated:TEXT` names. Raises `UsageProblem`."""
    profile, seed = _profile_and_seed(text)
    return SimulatedModel(load_profile(profile), seed, SystemClock())


def profile_of(spec: ModelSpec) -> str | None:
    """Return the name of the profile of a simulated author; None for another model. Raises `UsageProblem`."""
    return _profile_and_seed(spec.rest)[0] if isinstance(spec, PluginSpec) and spec.prefix == PREFIX else None


def _profile_and_seed(text: str) -> tuple[str, int]:
    matched = _NAME.fullmatch(text)
    if matched is None:
        cause = f"the name of a profile must follow `{PREFIX}:`; a seed may follow the name"
        raise UsageProblem(cause, place="--model", hint=f"such as {PREFIX}:base?seed=7")
    return matched["profile"], int(matched["seed"] or 0)


def address(profile: str, seed: int) -> str:
    """Return the argument of `--model` that names a simulated author."""
    return f"{PREFIX}:{profile}?seed={seed}"


@dataclass(frozen=True)
class Request:
    """A request to the simulated author, and the world that determines the reply."""

    world: World
    node: str
    """The id of the attempt. All tries of an attempt have the same id."""
    material: Mapping[str, Any]

    def dependency(self, role: str) -> Any:
        """Return the accepted artifact of a role, or an empty mapping."""
        return self.material.get("dependencies", {}).get(role) or {}

    @cached_property
    def feedback(self) -> list[str]:
        """The texts of all rejections and of all answers of people in the prompt."""
        answers = (item["answer"] for item in self.material.get("clarifications", ()))
        kept = self.material.get("afresh", ())
        return [*kept, *self.material.get("retry", ()), *self._heeded_escalations, *answers]

    @property
    def _heeded_escalations(self) -> Sequence[str]:
        """The rejections after which the search went back to an earlier step.

        Those that the author ignores (`forgets`) are not in the list.
        """
        texts: Sequence[str] = self.material.get("escalation", ())
        share = self.world.profile.forgets
        if not share:
            return texts
        return [text for at, text in enumerate(texts) if draw(self.world.key, self.node, "forgets", at) >= share]

    @cached_property
    def factor(self) -> float:
        """The factor by which `drift` and `cascade` multiply the odds of this attempt."""
        profile, factor = self.world.profile, 1.0
        if profile.drift != 1:
            factor *= profile.drift ** attempts_before(self.node)
        if profile.cascade != 1:
            above = self.world.wrong(read_views(self.material.get("dependencies", {})))
            factor *= profile.cascade if above in profile.levels else 1.0
        return factor

    def view(self, level: str, unsettled: float = 1.0) -> int:
        """Return the small number that is this attempt's view at a level.

        `unsettled` is one more factor for the odds that the view is right.
        """
        sticky = self.world.profile.stickiness(level, afresh=self.is_afresh)
        return self.world.view(level, self.node, self.feedback, unsettled * self.factor, sticky)

    @property
    def is_afresh(self) -> bool:
        """Whether the prompt shows none of the step's rejected attempts, although there are some."""
        return self.material.get("afresh") is not None and not self.material.get("retry")

    def is_drawn(self, what: str, share: float) -> bool:
        """Return True with the probability `share`, otherwise False.

        `what` names the purpose. For the same attempt and purpose, the result is always the same.
        """
        return share > 0 and draw(self.world.key, self.node, what) < share

    @cached_property
    def wording(self) -> str:
        """A note that makes the text of this artifact unique.

        It is empty if the artifact has no wording of its own (`texts_vary`).
        """
        varies = self.is_drawn("wording", self.world.profile.texts_vary)
        return f" {note(tag(self.world.key, self.node))}" if varies else ""

    @cached_property
    def has_own_meaning(self) -> bool:
        """Whether the typed fields of the artifact are drawn at random, independently of its view."""
        return self.is_drawn("meaning", self.world.profile.meanings_vary)


def answer(profile: AuthorProfile, seed: int, request: ModelRequest, name: str) -> tuple[Reply | Fault, float]:
    """Return the reply, and its latency in seconds.

    If the request is for an unknown role, return the fault `BAD_REQUEST` instead of a reply.
    """
    world = World(profile, seed, str(request.material.get("specification", "")))
    prompt_bytes = len(request.system.encode(errors="replace")) + len(request.user.encode(errors="replace"))
    return answer_in(world, request.request_id, request.material, prompt_bytes, name)


def answer_in(
    world: World, request_id: str, material: Mapping[str, Any], prompt_bytes: int, name: str
) -> tuple[Reply | Fault, float]:
    """Return the reply to a request about a known problem, and its latency in seconds."""
    profile, role = world.profile, str(material.get("role", ""))
    writer = AUTHORS.get(role) or (_part if role in profile.levels else None)
    if writer is None:
        known = ", ".join((*AUTHORS, *profile.levels))
        message = f"the simulated author cannot write for the role {role!r}, only for {known}"
        return Fault(kind=FaultKind.BAD_REQUEST, message=message), 0.0
    node = call_of(request_id)  # Every try of an attempt gets the same reply.
    text = orjson.dumps(writer(Request(world, node, material))).decode()
    if draw(world.key, node, "malformed") < profile.malformed:
        text = text[: len(text) // 2]
    usage = Usage(
        input_tokens=prompt_bytes // BYTES_PER_TOKEN,
        output_tokens=len(text) // BYTES_PER_TOKEN + profile.cost.reasoning_tokens,
    )
    latency = profile.latency
    seconds = latency.median_seconds * math.exp(latency.spread * normal(world.key, request_id, "latency"))
    return Reply(text=text, usage=usage, model=name), seconds


def _analysis(request: Request) -> dict[str, Any]:
    world = request.world
    view = request.view("analysis")
    kind = world.kind if view == world.truth("analysis") else _other_kind(world.kind, view)
    if request.has_own_meaning:
        kind = _draw_kind(request)
    return {
        "problem_type": kind,
        "language": "python",
        "severity": "medium",
        "key_signals": ["as simulated"],
        "affected_area": "as simulated",
        "rationale": views_text({"analysis": view}) + request.wording,
    }


def _other_kind(kind: str, view: int) -> str:
    others = [other for other in PROBLEM_TYPES if other != kind]
    return others[view % len(others)]


def _draw_kind(request: Request) -> str:
    return PROBLEM_TYPES[int(draw(request.world.key, request.node, "kind") * len(PROBLEM_TYPES))]


def _words_listed(request: Request, view: int) -> list[str]:
    """Return the words of the problem that a recon with this view lists; empty if `texts_vary` is 0.

    The view determines one word. If the artifact has a meaning of its own, the list has up to three random words
    instead.
    """
    words = sorted(set(_WORD.findall(request.world.problem)))
    if not words or not request.world.profile.texts_vary:
        return []
    if not request.has_own_meaning:
        return [words[view % len(words)]]
    return sorted({words[int(draw(request.world.key, request.node, "named", at) * len(words))] for at in range(3)})


def _part(request: Request) -> dict[str, Any]:
    """Return the artifact of a recon, or of an additional step of a longer pipeline. Both have the same form."""
    role = str(request.material["role"])
    view = request.view(role)
    return {
        "mentioned_files": [],
        "stack_traces": [],
        "apis_involved": _words_listed(request, view),
        "test_references": [],
        "reproduction_steps": [request.wording.strip()] if request.wording else [],
        "constraints_mentioned": [views_text({role: view})],
        "requirements": [],
    }


def _strategy(request: Request) -> dict[str, Any]:
    world = request.world
    view = request.view("strategy")
    kind = request.dependency("analysis").get("problem_type", world.kind)
    kind = kind if view == world.truth("strategy") else _other_kind(kind, view)
    return {
        "strategy_id": strategy_for(_draw_kind(request) if request.has_own_meaning else kind),
        "strategy_name": "as simulated",
        "rationale": views_text({"strategy": view}) + request.wording,
        "key_steps": ["as simulated"],
        "expected_guards": ["syntax"],
        "risk_factors": [],
    }


def _critique(request: Request) -> dict[str, Any]:
    """Return a critique of a draft, which is right at the rates of the profile's critic.

    The author of plans reads only the field `overall_assessment` of the critique.
    """
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
    """Return a plan with the views of the accepted artifacts and its own view.

    If these views are wrong, the plan has a defect. If the critique of a draft is good and no guard has rejected the
    plan, the plan has the draft's views.
    """
    world, draft = request.world, request.dependency("plan")
    kept = request.dependency("critique").get("overall_assessment") == "good" and not request.material.get("retry")
    views: dict[str, int] = read_views(draft) if kept else {}
    for level in world.profile.upstream:
        accepted = read_views(request.dependency(level)).get(level)
        if accepted is not None:
            views[level] = accepted
        elif level not in views:  # The workflow has no step for this level, so the view is drawn here.
            views[level] = request.view(level, world.profile.unsettled)
    if PLAN not in views:
        views[PLAN] = request.view(PLAN)
    views = {level: views[level] for level in world.profile.levels}
    cause, goal = world.wrong(views), f"{views_text(views)} {note(tag(world.key, request.node))}"
    given = request.material.get("given") or {}
    if cause is None:
        return simulate_plan(goal, given=given)
    profile = world.profile
    same_defect = draw(world.key, request.node, "steady") < profile.repeated(cause)
    words = (world.key, cause, "" if same_defect else request.node)
    shown = _another_level(profile, cause, *words) if draw(*words, "misattributed") < profile.misattributed else cause
    place = DEFECT_STEPS[int(draw(*words, "place") * len(DEFECT_STEPS))]
    defect = pick(profile.defects(shown), *words, "defect")
    return simulate_plan(goal, defect, clue(shown), place, given=given)


def _another_level(profile: AuthorProfile, level: str, *words: object) -> str:
    others = [other for other in profile.levels if other != level]
    return others[int(draw(*words, "another") * len(others))] if others else level


def _classification(request: Request) -> dict[str, Any]:
    """Return the classification of a rejected plan.

    It names the topmost wrong level with the probability `classifier` of the profile. The cause is `unclear` if the
    profile has no `classifier`, or if the problem cannot be solved.
    """
    world = request.world
    level = world.wrong(read_views(" ".join(request.material.get("retry", ()))))
    if world.profile.classifier is None or level is None or level == UNSOLVABLE:
        return {"cause": str(Cause.UNCLEAR)}
    if draw(world.key, request.node, "classified") >= world.profile.classifier:
        level = _another_level(world.profile, level, world.key, request.node, "classified")
    return {"cause": str(CAUSES.get(level, Cause.UNCLEAR))}


def person_answer(world: World, question: str, views: Mapping[str, int]) -> str:
    """Return the simulated person's answer to a question about a plan with these views.

    The answer names the level at which the person believes the mistake to be.
    """
    person, level = world.profile.person, world.wrong(views) or world.cause
    assert person is not None, "the profile has no person who could answer"
    if draw(world.key, question, "person") >= person.accuracy:
        level = _another_level(world.profile, level, world.key, question, "person")
    return f"The mistake is about {clue(level)}."


CAUSES: Mapping[str, Cause] = {
    PLAN: Cause.OWN_MISTAKE,
    "strategy": Cause.REQUIREMENT_VIOLATION,
    "recon": Cause.MISSING_EVIDENCE,
    "analysis": Cause.WORKFLOW_MISMATCH,
}
"""For each level, the cause that the simulated classifier names if the mistake is at that level. For this cause, the
default policy goes back to the same level."""

AUTHORS: Mapping[str, Callable[[Request], dict[str, Any]]] = {
    "analysis": _analysis,
    "recon": _part,
    "strategy": _strategy,
    "plan": _plan,
    "critique": _critique,
    CLASSIFIER: _classification,
}
