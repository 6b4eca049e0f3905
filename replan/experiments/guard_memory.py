"""Guards of the laboratory that remember their verdicts: simulated artifacts are few, so most were judged before."""

from collections.abc import Collection
from dataclasses import replace

from actors.guards.port import AnyGuard, GuardFactory, definition_of
from actors.simulated.plans import judged_part
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict

COMPARES_WORDS = frozenset(("follows_critique", "human_review"))
"""The built-in guards that read more of a plan or its dependencies than `judged_part`, or have no verdict."""
REMEMBERED_MAX = 50_000
"""Verdicts that one guard remembers; the next ones are not remembered."""
_Key = tuple[object, ...]


def remembering(guard: AnyGuard, names: Collection[str]) -> AnyGuard:
    """Return a guard with the same verdicts, each computed once for equal inputs; `names` are its built-in members.

    The inputs are the artifact, of a plan without the views and the note in its goal, and those parts of the context
    that built-in guards read: the user's texts, the role, and the artifacts that the step requires.
    """
    if not COMPARES_WORDS.isdisjoint(names):
        return guard
    verdicts: dict[_Key, Verdict] = {}

    def judge(artifact: Artifact, context: Context) -> Verdict:
        key = _key(artifact, context)
        verdict = verdicts.get(key)
        if verdict is None:
            answer = guard(artifact, context)
            assert isinstance(answer, Verdict)  # A built-in guard is not async.
            verdict = answer
            if len(verdicts) < REMEMBERED_MAX:
                verdicts[key] = verdict
        return verdict

    return judge


def remembering_made(name: str, make: GuardFactory) -> GuardFactory:
    """Return the factory of a built-in guard, whose guards remember likewise."""
    return replace(definition_of(make), make=lambda config: remembering(make(config), (name,)))


def _key(artifact: Artifact, context: Context) -> _Key:
    role = context.settings.get("role")
    content = judged_part(artifact.content) if role == "plan" else artifact.content
    above = tuple((step, judged_part(other.content)) for step, other in context.dependencies.items())
    said = tuple((each.question, each.answer) for each in context.clarifications)
    return content, artifact.finish_reason, role, above, context.user_texts, said, context.given is None
