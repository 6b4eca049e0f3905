"""Changes verdicts for experiments: hides or replaces findings, and makes guards err.

The search reads the codes and places of findings. The author (a simulated model) reads their messages. The search and
the author may get different findings. Every change depends only on seed, problem and attempt, so a repeated trial gets
the same verdicts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from actors.config.workflow import PLAN_GUARDS
from actors.guards.plan_medium import make as plan_medium
from actors.guards.port import Guard, GuardFactory, definition_of
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from replan_lab.simulated.plans import DEFECT_STEPS, simulate_plan
from replan_lab.simulated.profile import AuthorProfile
from replan_lab.simulated.seeded import draw, pick
from replan_lab.simulated.world import clue
from runtime.core.events import text_hash
from runtime.models.replies import Unreadable

COMPARING = frozenset(("evidence_present", "follows_strategy", "requirements_covered"))
"""The guards of plans that are not in `PLAN_GUARDS`. In a simulated world, these guards reject an artifact only if it
is not JSON."""
Feedback = Literal["full", "shuffled", "verdict_only"]
"""What a rejection shows: its own findings (`full`), findings about another problem's plan (`shuffled`), or one finding
without a reason (`verdict_only`).
"""
ELSEWHERE = "elsewhere"
"""The name of the level that findings about another problem's plan give as their cause. No profile may have a level
with this name."""


@dataclass(frozen=True)
class VerdictFilter:
    """Changes the verdicts of guards as an experiment or a profile demands."""

    profile: AuthorProfile
    seed: int
    search_sees: Feedback = "full"
    """Which findings the search gets. It reads only their codes and places."""
    author_sees: Feedback = "full"
    """Which findings the author gets. It reads only their messages."""
    false_accept: float = 0.0
    false_reject: float = 0.0
    accepting_problems: float = 0.0
    rejecting_problems: float = 0.0
    """The share of problems on which every acceptance becomes a rejection. A problem is never in this share and in
    `accepting_problems`.
    """
    _medium: Guard = field(default_factory=lambda: plan_medium({}), compare=False)

    @property
    def changes_verdicts(self) -> bool:
        """Whether the filter changes anything: guards of plans err, or their findings are hidden or replaced."""
        shares = (self.false_accept, self.false_reject, self.accepting_problems, self.rejecting_problems)
        return (self.search_sees, self.author_sees) != ("full", "full") or any(shares)

    def apply(self, guards: Mapping[str, GuardFactory]) -> dict[str, GuardFactory]:
        """Return the guard factories by name.

        If the filter changes anything, those for plans make guards with changed verdicts.
        """
        filtered = dict(guards)
        if self.changes_verdicts:
            filtered |= {name: self._filter_guard(guards[name]) for name in guards if name in PLAN_GUARDS}
            filtered |= {name: _silence_guard(guards[name]) for name in guards if name in COMPARING}
        return filtered

    def _filter_guard(self, make: GuardFactory) -> GuardFactory:
        def make_filtered(config: Mapping[str, Any]) -> Guard:
            guard = make(config)

            def judge(artifact: Artifact, context: Context) -> Verdict:
                verdict = guard(artifact, context)
                assert isinstance(verdict, Verdict)  # Plan guards are built in, and no built-in guard is async.
                return self._change(verdict, artifact, context)

            return judge

        return replace(definition_of(make), make=make_filtered)

    def _change(self, verdict: Verdict, artifact: Artifact, context: Context) -> Verdict:
        problem = (self.seed, text_hash(context.specification)[:16])
        key = (*problem, artifact.node)
        errs, of_problem = draw(*key, "errs"), draw(*problem, "guard")
        accepts, rejects = self.accepting_problems, self.rejecting_problems
        if verdict.passed and (errs < self.false_reject or accepts <= of_problem < accepts + rejects):
            verdict = self._unrelated_rejection(verdict, key)
        elif not verdict.passed and (errs < self.false_accept or of_problem < accepts):
            return Verdict(guard=verdict.guard, passed=True, score=1.0, facts=verdict.facts)
        if verdict.passed or (self.search_sees == "full" and self.author_sees == "full"):
            return verdict
        codes = self._shown_findings(self.search_sees, verdict, key)
        if self.search_sees == self.author_sees:
            return codes
        texts = " ".join(finding.message for finding in self._shown_findings(self.author_sees, verdict, key).errors)
        findings = tuple(finding.model_copy(update={"message": texts}) for finding in codes.errors)
        return codes.model_copy(update={"findings": findings})

    def _shown_findings(self, feedback: Feedback, verdict: Verdict, key: tuple[object, ...]) -> Verdict:
        if feedback == "full":
            return verdict
        if feedback == "shuffled":
            return self._unrelated_rejection(verdict, key)
        bare = Finding(code=Code.REJECTED, message=f"rejected by {verdict.guard}")
        return Verdict(guard=verdict.guard, passed=False, score=0.0, findings=(bare,))

    def _unrelated_rejection(self, verdict: Verdict, key: tuple[object, ...]) -> Verdict:
        """Return the rejection of a plan for another problem.

        The cause and the defect of this plan are drawn with the profile's shares.
        """
        cause = pick(self.profile.causes, *key, "cause")
        defect = pick(self.profile.defects(cause), *key, "defect")
        place = DEFECT_STEPS[int(draw(*key, "place") * len(DEFECT_STEPS))]
        plan = simulate_plan("of another problem", defect, clue(ELSEWHERE), place)
        content = orjson.dumps(plan).decode()
        other = self._medium(Artifact(artifact_id="other", step="other", content=content), Context(specification=""))
        return other.model_copy(update={"guard": verdict.guard})


def _silence_guard(make: GuardFactory) -> GuardFactory:
    """Return a guard that accepts unreadable plans instead of rejecting them.

    Another guard, which checks plans, still rejects them, and its verdict is changed.
    """

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
