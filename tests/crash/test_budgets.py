"""Several processes drive the runs of one home at once, two are killed: no run passes its budget, by the bill."""

from pathlib import Path

from replan.cli.exits import Exit
from tests.crash.case import Case
from tests.support.answers import Answer, by_step
from tests.support.artifacts import GOOD, plan
from tests.support.openai_server import serve
from tests.support.zygote import Zygote

PROCESSES, CALLS = 3, 7
HOPELESS = {
    **{step: [Answer.value(GOOD[step]).slowly(0.02)] * 200 for step in GOOD},
    "g_plan": [Answer.value(plan(needs_missing_token="licence_granted")).slowly(0.02)] * 200,
}
"""No plan of it is accepted, so that only the budget ends a run."""


def test_processes_that_share_a_home_never_exceed_the_budgets_of_its_runs(tmp_path: Path, forker: Zygote) -> None:
    """S25: the provider's bill of each run is within its limit, and agrees with its journal, call by call."""
    with serve(by_step(HOPELESS)) as server:
        case = Case(tmp_path, forker, server)
        begin = case.beginning(CALLS)
        kills = [{"label": "reply.after", "nth": 2}, {"label": "append.after", "nth": 5}, None]
        started = [forker.start(case.order(begin, f"{n}.", kill=kills[n])) for n in range(PROCESSES)]
        codes = [forker.until(child) for child in started]
        assert codes == [-9, -9, Exit.BUDGET]
        open_runs = [run for run, (_, records) in case.runs().items() if records[-1].event.kind != "run_finished"]
        again = [forker.start(case.order(("resume", run, "--json"), f"{run}.")) for run in open_runs]
        assert [forker.until(child) for child in again] == [Exit.BUDGET, Exit.BUDGET]
        case.check_the_bill()
        for run, (result, _) in case.runs().items():
            billed = [request for request in case.requested() if request.startswith(f"{run}/")]
            assert 0 < len(billed) <= result.calls <= CALLS
