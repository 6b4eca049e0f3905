"""Counts how many attempts of a run's model pass, and starts new runs with the counts of earlier runs. Pure."""

from collections.abc import Callable, Sequence

from actors.config.model_spec import is_author
from actors.planning.config import RunConfig, read_config
from actors.planning.events import PlanningEvent, RunFinished, RunStarted
from actors.planning.state import Node, State
from actors.policy.author import NOTHING, ModelCounts, expected_in_runs
from actors.policy.decision import belief_row

RUNS_MIN = 10
"""A new run uses the attempt counts of earlier runs only if at least this many earlier runs had the same model."""


def count_attempts(state: State, *, succeeded: bool) -> ModelCounts | None:
    """Return the counts of a run's attempts at its end; None if later runs must not use them.

    An attempt counts if the run's model wrote the artifact and the policy's belief table uses the verdict. Mistakes of
    form, failed tools and questions to the user do not count. A run counts only if at least one of its attempts counts.
    A run without a rejection must also have succeeded. Of a step's retries, only the retry whose prompt shows the
    rejection of the first attempt counts, because later retries belong to harder tasks. A fork does not count, because
    it repeats attempts of another run.
    """
    config, run = state.config, state.run
    if config.policy.belief is None or not is_author(config.model) or run.child or run.fork or state.of_former_model:
        return None
    nodes = [node for node in state.nodes.values() if _is_judged(node, config)]
    if not nodes or (not succeeded and all(map(_passed, nodes))):
        return None
    firsts = dict[tuple[int, str], Node]()
    for node in nodes:
        firsts.setdefault((node.branch, node.step), node)
    rejected = {first.node: first.visit for first in firsts.values() if not _passed(first)}
    retries = [node for node in nodes if rejected.get(node.previous or "") == node.visit and not node.afresh]
    return ModelCounts(
        model=config.model,
        runs=1,
        accepted=int(all(map(_passed, firsts.values()))),
        told=len(retries),
        mended=sum(map(_passed, retries)),
        again=sum(node.repeats is not None for node in retries),
    )


def _passed(node: Node) -> bool:
    return node.verdict is not None and node.verdict.passed


def _is_judged(node: Node, config: RunConfig) -> bool:
    if node.verdict is None or node.step in config.step_models or config.child_of(node.step) is not None:
        return False
    if config.graph.budgets[node.step].deterministic:
        return False
    return node.verdict.passed or bool(belief_row(node.verdict, config.policy))


Learn = Callable[[Sequence[PlanningEvent]], PlanningEvent]


def learner(first: RunStarted) -> Learn | None:
    """Return a function that adds the counts of earlier runs to a run's first event; None if the run uses no counts.

    A child run uses no counts. A run also uses no counts if its policy cannot compare counts, or if the model has a
    measured profile.
    """
    config = read_config(first.pinned)
    table, family = config.policy.belief, config.author
    known = None if table is None else table.author_in_runs
    if table is None or known is None or first.child or (family and family.in_runs):
        return None
    expected = expected_in_runs(known, table.author, family)

    def learn(ends: Sequence[PlanningEvent]) -> PlanningEvent:
        found = [end.counted for end in ends if isinstance(end, RunFinished) and end.counted is not None]
        counts = [counted for counted in found if counted.model == config.model]
        if len(counts) < RUNS_MIN:
            return first
        author = sum(counts, NOTHING).author(expected, f"home ({len(counts)} runs)")
        return first.model_copy(update={"pinned": config.changed(author=author).model_dump_json()})

    return learn
