"""The estimate of a belief's parameters from recorded runs, with the values of a policy as 50 pseudo-runs. Pure.

The runs choose among mixtures of causes: that of the policy, and for each role one with most causes at it. Then the
shares of causes are the maximum of their likelihood with the pseudo-runs, found by the iteration of Hunter (2004, "MM
algorithms for generalized Bradley-Terry models", with the cause as a hidden variable), and so are those of the kinds of
author. The chances at the cause are multiplied, as odds, by one factor per role. The runs of held-out problems judge
the estimate.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from actors.policy.belief import Belief, BeliefModel
from actors.policy.history import NOTHING, Past
from actors.policy.table import OTHER, UNSOLVABLE, BeliefTable
from actors.search.graph import Graph
from replan.learning.held_out import Improvement, improvement, is_held_out

PSEUDO_RUNS = 50
"""The runs that the values of the policy count as."""
FACTORS = (0.25, 0.5, 2.0, 4.0)
"""The factors by which the odds of a role's chances may change."""
LEAST = 0.0001
"""The least share of a kind of author that is written."""
_ROUNDS, _SETTLED = 500, 1e-10


@dataclass(frozen=True, slots=True)
class Accepted:
    """A leaf whose artifact was accepted."""

    leaf: str


@dataclass(frozen=True, slots=True)
class TrainingCase:
    """What a belief learns from a run: its decided rejections and its accepted leaves, oldest first.

    Runs that took the same course are equal cases, so that a home with many runs needs little memory.
    """

    shape: str
    """What names its workflow: the cases of the same shape have equal graphs and roles."""
    graph: Graph = field(compare=False)
    """The workflow's steps with their budgets."""
    roles: Mapping[str, str] = field(compare=False)
    """The role of each step."""
    items: tuple[Past | Accepted, ...]
    """The rejections and acceptances; the signatures tell no more than which rejections are equal."""


Cases = Mapping[TrainingCase, Mapping[str, int]]
"""Cases, each with the number of runs that went so, by the name of their problem."""
Counts = Mapping[TrainingCase, int]
"""Cases, each with the number of runs that went so."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the runs say about the parameters."""

    table: BeliefTable
    """The parameters, estimated from the runs of the problems that are not held out."""
    used: int
    """The runs that the estimate was made from."""
    held_out: int
    """The runs that judge it."""
    improvement: Improvement
    """By how much the log score of their signatures has improved; the groups are the problems."""


def estimate(cases: Cases, shipped: BeliefTable) -> Estimate:
    """Return the parameters estimated from the runs of one half of the problems, judged by those of the other half."""
    used, judging = _part(cases, held_out=False), _part(cases, held_out=True)
    counts = {case: sum(runs.values()) for case, runs in used.items()}
    table = _with_causes(shipped, counts)
    for role in sorted({role for case in used for role in case.roles.values() if role}):
        table = _with_chances(table, shipped, role, counts)
    table = _with_kinds(_with_causes(table, counts, shipped), counts, shipped)
    both = zip(scores(judging, table), scores(judging, shipped), strict=True)
    gains = (
        (problem, ours - theirs, number)
        for (ours, theirs), runs in zip(both, judging.values(), strict=True)
        for problem, number in runs.items()
    )
    held_out = sum(sum(runs.values()) for runs in judging.values())
    return Estimate(table, sum(counts.values()), held_out, improvement(gains))


def learned_shares(cases: Counts, shipped: BeliefTable) -> BeliefTable:
    """Return the table with the shares of causes and of kinds of author that the cases suggest; nothing is held out."""
    return _with_kinds(_with_causes(shipped, cases), cases, shipped)


def _part(cases: Cases, *, held_out: bool) -> Cases:
    """Return the cases of the problems that are held out, or of the others."""
    parts = {
        case: {problem: number for problem, number in runs.items() if is_held_out(problem) == held_out}
        for case, runs in cases.items()
    }
    return {case: runs for case, runs in parts.items() if runs}


def scores(cases: Iterable[TrainingCase], table: BeliefTable) -> list[float]:
    """Return for each case the sum of the logarithms of the probabilities of its signatures."""
    followed = _Followed(table)
    return [followed.of(case)[2] for case in cases]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What runs that took the same course tell about their cause, or about their kind of author."""

    likelihoods: tuple[tuple[str, float], ...]
    """For each possible cause or kind its key and the likelihood of a run, up to a common factor. Two steps of the same
    role have the same key."""
    runs: int = 1
    """The number of the runs."""


MIXED_SHARE = 0.5
"""The share of the policy's own causes in a mixture; the rest of the mixture's causes lie at one role. Also the prior
probability of the policy's own causes; the mixtures have the rest, each in proportion to the share of its role."""


def mixed_causes(cases: Sequence[Evidence], shipped: Mapping[str, float]) -> dict[str, float]:
    """Return the causes that the runs make likely, as the mean over the policy's own and one mixture for each role.

    A home whose mistakes lie at one step shows it in a few runs, long before the maximum of the likelihood would move.
    Without runs these are the policy's own causes.
    """
    total = sum(shipped.values())
    own = {key: weight / total for key, weight in shipped.items()}
    roles = [key for key, share in own.items() if key not in (OTHER, UNSOLVABLE) and share]
    named = sum(own[role] for role in roles)
    choices, priors = [own], [MIXED_SHARE if roles else 1.0]
    for role in roles:
        at_role = own | dict.fromkeys(roles, 0.0) | {role: named}
        choices.append({key: MIXED_SHARE * own[key] + (1 - MIXED_SHARE) * at_role[key] for key in own})
        priors.append((1 - MIXED_SHARE) * own[role] / named)
    logs = [math.log(prior) + _log_likelihood(cases, each) for prior, each in zip(priors, choices, strict=True)]
    weights = [math.exp(log - max(logs)) for log in logs]
    return {
        key: sum(weight * each[key] for weight, each in zip(weights, choices, strict=True)) / sum(weights)
        for key in own
    }


def _log_likelihood(cases: Sequence[Evidence], shares: Mapping[str, float]) -> float:
    """Return the logarithm of the likelihood of the runs if the causes have these shares; up to a constant."""
    result = 0.0
    for case in cases:
        possible = sum(shares[key] for key, _ in case.likelihoods)
        result += case.runs * math.log(sum(shares[key] * each for key, each in case.likelihoods) / possible)
    return result


def likeliest_shares(cases: Sequence[Evidence], shipped: Mapping[str, float]) -> dict[str, float]:
    """Return the shares of causes or kinds that are likeliest after some runs and the pseudo-runs; their sum is 1.

    A role that a workflow lacks is not changed by its runs.
    """
    total = sum(shipped.values())
    weights = {key: weight / total for key, weight in shipped.items()}
    pseudo = {key: PSEUDO_RUNS * weight for key, weight in weights.items()}
    for _ in range(_ROUNDS):
        counts, exposure = dict(pseudo), dict.fromkeys(weights, float(PSEUDO_RUNS))
        for case in cases:
            evidence = sum(weights[key] * likelihood for key, likelihood in case.likelihoods) / case.runs
            possible = sum(weights[key] for key, _ in case.likelihoods) / case.runs
            for key, likelihood in case.likelihoods:
                counts[key] += weights[key] * likelihood / evidence
                exposure[key] += 1 / possible
        changed = {key: counts[key] / exposure[key] for key in weights}
        total = sum(changed.values())
        changed = {key: weight / total for key, weight in changed.items()}
        moved = max(abs(changed[key] - weights[key]) for key in weights)
        weights = changed
        if moved < _SETTLED:
            break
    return weights


def signature_chance(model: BeliefModel, belief: Belief, item: Past | Accepted, earlier: Sequence[Past]) -> float:
    """Return the probability of the next signature at a step: accepted, or rejected by a row, anew or as last time.

    Only a leaf can be accepted: what a belief knows of the other steps, it knows from the leaf.
    """
    step = item.leaf if isinstance(item, Accepted) else item.step
    rows = {row for shares in model.table.codes.values() for row in shares}
    last = next((past for past in reversed(earlier) if past.step == step and past.row), None)
    if isinstance(item, Past):
        rows.add(item.row)
    other = None if last is None else False
    total = sum(model.evidence(belief, step, row, again=other) for row in sorted(rows))
    if last is not None:
        total += model.evidence(belief, step, last.row, again=True)
    accepted = _accepted(model, belief, step) if step in model.graph.leaves else 0.0
    if isinstance(item, Accepted):
        return accepted / (accepted + total)
    return model.evidence(belief, step, item.row, again=item.is_again(earlier)) / (accepted + total)


def _accepted(model: BeliefModel, belief: Belief, leaf: str) -> float:
    """Return the probability that nothing is wrong that a leaf builds on."""
    wrong = {*model.graph.above[leaf], leaf, UNSOLVABLE}
    return max(0.0, 1 - sum(share for place, share in model.places(belief).items() if place in wrong))


class _Followed:
    """Follows runs with one table."""

    def __init__(self, table: BeliefTable) -> None:
        self._table = table
        self._models: dict[str, BeliefModel] = {}

    def of(self, case: TrainingCase) -> tuple[BeliefModel, Belief, float]:
        """Return the model for a case's workflow, the belief after the case, and the log score of its signatures."""
        if case.shape not in self._models:
            self._models[case.shape] = BeliefModel(self._table, case.graph, case.roles)
        model, earlier, score = self._models[case.shape], list[Past](), 0.0
        belief, redone = model.after(()), tuple[str, ...]()
        for item in case.items:
            if redone:  # What the last move has brought is seen at the next rejection.
                belief = model.moved(belief, redone, item.came if isinstance(item, Past) else NOTHING)
                redone = ()
            if isinstance(item, Accepted) or item.row:
                score += math.log(signature_chance(model, belief, item, earlier))
            if isinstance(item, Accepted):
                belief = model.settled(belief, (*model.graph.above[item.leaf], item.leaf))
                continue
            if item.row:
                belief = model.rejected(belief, item.step, item.row, again=item.is_again(earlier))
            earlier.append(item)
            redone = item.redone
        return model, belief, score


def _with_causes(table: BeliefTable, cases: Counts, shipped: BeliefTable | None = None) -> BeliefTable:
    """Return the table with the shares of causes that the cases suggest; `shipped` has those of the pseudo-runs."""
    followed, entries = _Followed(table), []
    for case, runs in cases.items():
        model, belief, _ = followed.of(case)
        keys = [model.role(step) if model.role(step) in table.causes else OTHER for step in model.steps]
        masses = model.causes(belief)
        both = [*zip(keys, masses, strict=True), (UNSOLVABLE, belief.unsolvable)]
        # The share after the run, over that before it, is the likelihood up to a factor.
        likelihoods = tuple((key, mass / table.causes[key]) for key, mass in both if table.causes[key])
        entries.append(Evidence(likelihoods, runs))
    shares = likeliest_shares(entries, mixed_causes(entries, (shipped or table).causes))
    return table.model_copy(update={"causes": {key: round(share, 4) for key, share in shares.items()}})


def _with_kinds(table: BeliefTable, cases: Counts, shipped: BeliefTable) -> BeliefTable:
    """Return the table with the shares of the kinds of author that the cases suggest; the pseudo-runs are `shipped`."""
    if table.agreement is None or shipped.agreement is None:
        return table
    followed, entries, kinds = _Followed(table), [], table.agreement.kinds
    for case, runs in cases.items():
        model, belief, _ = followed.of(case)
        shares = zip(kinds, model.kinds(belief), strict=True)
        entries.append(Evidence(tuple((str(at), now / kind.share) for at, (kind, now) in enumerate(shares)), runs))
    likeliest = likeliest_shares(entries, {str(at): kind.share for at, kind in enumerate(shipped.agreement.kinds)})
    *first, _ = (min(max(round(share, 4), LEAST), 1 - LEAST * len(kinds)) for share in likeliest.values())
    changed = [
        kind.model_copy(update={"share": share})
        for kind, share in zip(kinds, (*first, round(1 - sum(first), 4)), strict=True)
    ]
    return table.model_copy(update={"agreement": table.agreement.model_copy(update={"kinds": tuple(changed)})})


def _with_chances(table: BeliefTable, shipped: BeliefTable, role: str, cases: Counts) -> BeliefTable:
    """Return the table with the factor for a role's chances that is likeliest after the cases and the pseudo-runs."""
    rows = shipped.chances.get(role, shipped.chances[OTHER])
    share = shipped.causes.get(role, shipped.causes[OTHER]) / sum(shipped.causes.values())
    best, most = table, _likelihood(table, cases) + PSEUDO_RUNS * share * _agreement(rows, rows)
    for factor in FACTORS:
        scaled = tuple(tuple(round(_scaled(chance, factor), 4) for chance in row) for row in rows)
        other = table.model_copy(update={"chances": {**table.chances, role: scaled}})
        likelihood = _likelihood(other, cases) + PSEUDO_RUNS * share * _agreement(rows, scaled)
        if likelihood > most:
            best, most = other, likelihood
    return best


def _likelihood(table: BeliefTable, cases: Counts) -> float:
    return sum(runs * score for runs, score in zip(cases.values(), scores(cases, table), strict=True))


def _agreement(shipped: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> float:
    """Return the mean log-likelihood of other chances where first attempts are right with the shipped ones."""
    pairs = [(row[0], changed[0]) for row, changed in zip(shipped, other, strict=True)]
    return fmean(right * math.log(chance) + (1 - right) * math.log(1 - chance) for right, chance in pairs)


def _scaled(chance: float, factor: float) -> float:
    """Return a chance after its odds were multiplied."""
    odds = factor * chance / (1 - chance)
    return odds / (1 + odds)
