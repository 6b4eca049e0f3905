"""What of a guard's verdict gets through: all of it, somebody else's findings, or only that it was a rejection.

The lens lies over the guards that judge plans, so that the search and the author see the same. It also makes guards
err, at stated rates. A verdict is still a function of seed, problem and attempt, so it is the same wherever it is made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from actors.guards.plan_medium import make as plan_medium
from actors.guards.port import Guard, GuardFactory, definition_of
from actors.simulated.plans import PLACES, plan_of
from actors.simulated.profile import Profile
from actors.simulated.seeded import draw, pick, tag
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from runtime.core.events import text_hash

Feedback = Literal["full", "shuffled", "verdict_only"]

_PLAN_GUARDS = ("plan_minimal", "plan_medium", "plan_expansive")


@dataclass(frozen=True)
class Lens:
    """`false_accept` and `false_reject` are shares of the verdicts that should have been the other way round."""

    profile: Profile
    seed: int
    feedback: Feedback = "full"
    false_accept: float = 0.0
    false_reject: float = 0.0
    _medium: Guard = field(default_factory=lambda: plan_medium({}), compare=False)

    def over(self, guards: Mapping[str, GuardFactory]) -> dict[str, GuardFactory]:
        """Return the guards with those for plans seen through the lens; the same ones if it changes nothing."""
        if self.feedback == "full" and not self.false_accept and not self.false_reject:
            return dict(guards)
        return {name: self._over(make) if name in _PLAN_GUARDS else make for name, make in guards.items()}

    def _over(self, make: GuardFactory) -> GuardFactory:
        def made(config: Mapping[str, Any]) -> Guard:
            guard = make(config)

            def seen(artifact: Artifact, context: Context) -> Verdict:
                verdict = guard(artifact, context)
                assert isinstance(verdict, Verdict)  # The guards of plans are built in, and none of them is async.
                return self._through(verdict, artifact, context)

            return seen

        return replace(definition_of(make), make=made)

    def _through(self, verdict: Verdict, artifact: Artifact, context: Context) -> Verdict:
        words = (self.seed, text_hash(context.specification)[:16], artifact.node)
        errs = draw(*words, "errs")
        if verdict.passed and errs < self.false_reject:
            verdict = self._somebody_elses(verdict, words)
        elif not verdict.passed and errs < self.false_accept:
            return Verdict(guard=verdict.guard, passed=True, score=1.0, facts=verdict.facts)
        if verdict.passed or self.feedback == "full":
            return verdict
        if self.feedback == "shuffled":
            return self._somebody_elses(verdict, words)
        bare = Finding(code=Code.REJECTED, message=f"rejected by {verdict.guard}")
        return Verdict(guard=verdict.guard, passed=False, score=0.0, findings=(bare,))

    def _somebody_elses(self, verdict: Verdict, words: tuple[object, ...]) -> Verdict:
        """Return a rejection as another problem's plan would get it, by the shares of causes and defects."""
        cause = pick(self.profile.causes, *words, "cause")
        defect = pick(self.profile.findings[cause], *words, "defect")
        place = PLACES[int(draw(*words, "place") * len(PLACES))]
        plan = plan_of("of another problem", "", defect, f"clue_{tag(*words, 'clue')}", place)
        content = orjson.dumps(plan).decode()
        other = self._medium(Artifact(artifact_id="other", step="other", content=content), Context(specification=""))
        return other.model_copy(update={"guard": verdict.guard})
