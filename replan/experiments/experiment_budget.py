"""The budget of an experiment: whether its next trial may begin."""

from dataclasses import dataclass, replace

from actors.planning.prepare import RunRequest
from replan.experiments.preparation import PreparedExperiment
from replan.experiments.results import Trial
from runtime.core.cost import MICRO, micro_limit


@dataclass
class ExperimentBudget:
    """The part of the budget that the trials so far have used.

    Trials are counted in their order, not as they end, so an experiment always ends at the same trial.
    """

    prepared: PreparedExperiment
    calls: int = 0
    """Calls used so far."""
    micro_usd: int = 0
    """Money used so far, in millionths of a dollar."""

    def add(self, trial: Trial) -> None:
        """Count a finished trial."""
        self.calls += trial.calls
        self.micro_usd += trial.micro_usd or 0

    @property
    def exact(self) -> bool:
        """Whether no trial may spend more than the money that is left."""
        budget = self.prepared.experiment.budget
        return budget.exact and budget.usd is not None

    def limited(self, request: RunRequest) -> RunRequest:
        """Return the request for a trial, limited to the money that is left if the budget is exact."""
        usd = self.prepared.experiment.budget.usd
        if usd is None or not self.exact:
            return request
        left = max(1, micro_limit(usd) - self.micro_usd)
        least = left if request.limits.micro_usd is None else min(left, request.limits.micro_usd)
        return replace(request, limits=request.limits.model_copy(update={"micro_usd": least}))

    def allows(self, position: int, open_calls: int = 0) -> bool:
        """Return whether the trial at this position may begin; `open_calls` is the limit of the trials under way."""
        budget = self.prepared.experiment.budget
        most = self.prepared.trials[position][0].calls_max
        enough = budget.calls is None or self.calls + open_calls + most <= budget.calls
        return enough and (budget.usd is None or self.micro_usd < budget.usd * MICRO)
