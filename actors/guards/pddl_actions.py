"""`pddl_actions`: the actions of an answer solve the problem in PDDL that the run was given."""

from collections.abc import Mapping
from typing import Any

from actors.guards.fields import check_settings
from actors.guards.pddl_judgement import judge_actions
from actors.guards.port import Guard
from actors.pddl.action_list import actions_in
from actors.pddl.domain_reader import task_in
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from runtime.core.errors import UsageProblem
from runtime.models.replies import Unreadable

NAME = "pddl_actions"


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard; it has no settings."""
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:
        value = artifact.value
        if isinstance(value, Unreadable):
            return _reject_plan((Finding(code=value.code, message=value.message),), 0.0)
        texts = None if context.given is None else context.given.pddl
        if texts is None:
            message = "The run was given no problem in PDDL; start it with `replan lab pddl run`."
            return _reject_plan((Finding(code=Code.NOT_UNDERSTOOD, message=message),), 0.0)
        actions, errors = actions_in(value.value)
        if errors:
            return _reject_plan(errors, 0.1)
        domain, problem = task_in(texts)
        try:
            judgement = judge_actions(domain, problem, actions)
        except UsageProblem as outside:
            return _reject_plan((Finding(code=Code.TOO_COMPLEX, message=str(outside)),), 0.1)
        failure, count = judgement.failure, len(actions)
        score = judgement.verdict.score if failure is None else 0.2 + 0.6 * failure.index / (count + 1)
        return judgement.verdict.model_copy(update={"guard": NAME, "score": score})

    return guard


def _reject_plan(findings: tuple[Finding, ...], score: float) -> Verdict:
    return Verdict(guard=NAME, passed=False, score=score, findings=findings)
