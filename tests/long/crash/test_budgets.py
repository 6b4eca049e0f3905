"""Several processes drive runs of one home at the same time, and two are killed: no run exceeds its budget."""

from replan.cli.exits import Exit
from tests.long.crash.cli_case import Case
from tests.support.answers import Answer, by_step
from tests.support.artifacts import GOOD, plan
from tests.support.openai_server import serve

PROCESSES, CALLS = 3, 7
HOPELESS = {
    **{step: [Answer.value(GOOD[step]).slowly(0.02)] * 200 for step in GOOD},
    "g_plan": [Answer.value(plan(needs_missing_token="licence_granted")).slowly(0.02)] * 200,
}
"""No plan in it is accepted, so that only the budget ends a run."""


def test_processes_that_share_a_home_never_exceed_the_budgets_of_its_runs(tmp_path, commands):
    """S25: the received requests of each run are within its limit, and agree with its journal, call by call."""
    with serve(by_step(HOPELESS)) as server:
        case = Case(tmp_path, commands, server)
        command = case.run_command(CALLS)
        kills = [{"label": "reply.after", "nth": 2}, {"label": "append.after", "nth": 5}, None]
        started = [case.start(command, f"{n}.", kill=kills[n]) for n in range(PROCESSES)]
        codes = [child.rest() for child in started]
        assert codes == [-9, -9, Exit.BUDGET]
        open_runs = [run for run, (_, records) in case.runs().items() if records[-1].event.kind != "run_finished"]
        resumed = [case.start(("resume", run, "--json"), f"{run}.") for run in open_runs]
        assert [child.rest() for child in resumed] == [Exit.BUDGET, Exit.BUDGET]
        case.check_billing()
        for run, (result, _) in case.runs().items():
            billed = [request for request in case.requested() if request.startswith(f"{run}/")]
            assert 0 < len(billed) <= result.calls <= CALLS
