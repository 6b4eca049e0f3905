"""Changes the verdicts of plan guards for experiments: less feedback, other feedback, or errors at stated rates.

The search and the author both get the changed verdict. It is a function of seed, problem and attempt, so a repetition
gives the same one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from actors.config.workflow import PLAN_GUARDS
from actors.guards.plan_medium import make as plan_medium
from actors.guards.port import Guard, GuardFactory, definition_of
from actors.simulated.plans import DEFECT_STEPS, simulated_plan
from actors.simulated.profile import Profile
from actors.simulated.seeded import draw, pick, tag
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from runtime.core.events import text_hash
from runtime.models.replies import Unreadable

COMPARING = frozenset(("evidence_present", "follows_strategy", "requirements_covered"))
"""The guards beside the plan guards that judge plans. In a simulated world they reject nothing but what is no JSON."""
Feedback = Literal["full", "shuffled", "verdict_only"]
"""The findings of a rejection: its own, those of another problem's plan, or none but that it is a rejection."""


@dataclass(frozen=True)
class VerdictFilter:
    """Changes the verdicts of plan guards as an experiment says: feedback withheld, verdicts inverted by chance."""

    profile: Profile
    """The profile whose shares of causes and defects false rejections are drawn from."""
    seed: int
    """The seed of the trial."""
    feedback: Feedback = "full"
    """The findings that rejections have."""
    false_accept: float = 0.0
    """The share of rejections that become acceptances."""
    false_reject: float = 0.0
    """The share of acceptances that become rejections."""
    _medium: Guard = field(default_factory=lambda: plan_medium({}), compare=False)

    def apply(self, guards: Mapping[str, GuardFactory]) -> dict[str, GuardFactory]:
        """Return the guard factories with filtered plan guards; unchanged if the filter changes nothing."""
        if self.feedback == "full" and not self.false_accept and not self.false_reject:
            return dict(guards)
        return {
            name: self._filtered(make) if name in PLAN_GUARDS else _silenced(make) if name in COMPARING else make
            for name, make in guards.items()
        }

    def _filtered(self, make: GuardFactory) -> GuardFactory:
        def make_filtered(config: Mapping[str, Any]) -> Guard:
            guard = make(config)

            def judge(artifact: Artifact, context: Context) -> Verdict:
                verdict = guard(artifact, context)
                assert isinstance(verdict, Verdict)  # Plan guards are built in, and none of them is async.
                return self._change(verdict, artifact, context)

            return judge

        return replace(definition_of(make), make=make_filtered)

    def _change(self, verdict: Verdict, artifact: Artifact, context: Context) -> Verdict:
        key = (self.seed, text_hash(context.specification)[:16], artifact.node)
        errs = draw(*key, "errs")
        if verdict.passed and errs < self.false_reject:
            verdict = self._unrelated_rejection(verdict, key)
        elif not verdict.passed and errs < self.false_accept:
            return Verdict(guard=verdict.guard, passed=True, score=1.0, facts=verdict.facts)
        if verdict.passed or self.feedback == "full":
            return verdict
        if self.feedback == "shuffled":
            return self._unrelated_rejection(verdict, key)
        bare = Finding(code=Code.REJECTED, message=f"rejected by {verdict.guard}")
        return Verdict(guard=verdict.guard, passed=False, score=0.0, findings=(bare,))

    def _unrelated_rejection(self, verdict: Verdict, key: tuple[object, ...]) -> Verdict:
        """Return the rejection of another problem's plan, drawn by the profile's shares of causes and defects."""
        cause = pick(self.profile.causes, *key, "cause")
        defect = pick(self.profile.findings[cause], *key, "defect")
        place = DEFECT_STEPS[int(draw(*key, "place") * len(DEFECT_STEPS))]
        plan = simulated_plan("of another problem", "", defect, f"clue_{tag(*key, 'clue')}", place)
        content = orjson.dumps(plan).decode()
        other = self._medium(Artifact(artifact_id="other", step="other", content=content), Context(specification=""))
        return other.model_copy(update={"guard": verdict.guard})


def _silenced(make: GuardFactory) -> GuardFactory:
    """Return the guard, which leaves a plan that cannot be read to the plan guard, whose verdict is filtered."""

    def make_silenced(config: Mapping[str, Any]) -> Guard:
        guard = make(config)

        def judge(artifact: Artifact, context: Context) -> Verdict:
            verdict = guard(artifact, context)
            assert isinstance(verdict, Verdict)
            if isinstance(artifact.value, Unreadable) and context.settings.get("role") == "plan":
                return Verdict(guard=verdict.guard, passed=True, score=1.0)
            return verdict

        return judge

    return replace(definition_of(make), make=make_silenced)
