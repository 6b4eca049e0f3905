"""The plan guards agree with published verdicts on plans that were written outside of this project."""

import json

import pytest

from actors.guards import plan_expansive, plan_medium, plan_minimal
from actors.plans.reader import read_plan
from actors.plans.semantics import replay
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code
from tests.support.external import cases


def judge(module, plan, **config):
    """Return a guard's verdict on a plan, given as the text of a model."""
    artifact = Artifact(artifact_id="a1", step="g_plan", content=json.dumps(plan))
    return module.make(config)(artifact, Context(specification=""))


def sequential(name, count):
    """Compare each sequential plan's verdict, first failing step and unmet tokens; return how many agree."""
    different = []
    rows = cases(name)
    for row in rows:
        expected, verdict = row["expected"], judge(plan_medium, row["plan"], r_max=1000)
        same = verdict.passed == expected["valid"]
        if not expected["valid"]:
            same = same and verdict.facts["first_failing_step"] == expected["first_failing_step"]
            if expected["failure_kind"] != "malformed":
                same = same and verdict.facts["unmet"] == sorted(expected["unmet"])
        if not same:
            different.append((row["case_id"], expected, verdict.facts))
    assert different == []
    assert len(rows) == count


def test_planbench_plans_are_judged_as_the_validator_val_judged_them():
    """246 plans that language models wrote, with the verdicts of VAL."""
    sequential("planbench.jsonl", 246)


def test_acpbench_plans_are_judged_as_published():
    """80 plans with the published first inapplicable step."""
    sequential("acpbench.jsonl", 80)


def test_acpbench_redundant_steps_reject_nothing():
    """Valid plans with steps that could be left out stay valid."""
    valid = [row for row in cases("acpbench.jsonl") if row["expected"]["valid"]]
    assert len(valid) == 40
    assert all(judge(plan_medium, row["plan"], r_max=1000).errors == () for row in valid)


FOND = cases("fond.jsonl")


def test_there_are_116_policies():
    """The file is complete."""
    assert len(FOND) == 116


@pytest.mark.parametrize("required", ["weak", "strong_cyclic", "strong"])
def test_fond_policies_pass_iff_they_have_the_assurance_required(required):
    """The exhaustive walk and the model checker say which policies are weak, strong cyclic and strong."""
    different = [
        row["case_id"]
        for row in FOND
        if judge(plan_expansive, row["plan"], assurance=required, r_max=1000).passed != row["expected"][required]
    ]
    assert different == []


def test_fond_policies_report_the_strongest_assurance_they_have():
    """The fact `assurance` names the strongest one that holds."""
    for row in FOND:
        strongest = next((name for name in ("strong", "strong_cyclic", "weak") if row["expected"][name]), "none")
        assert judge(plan_expansive, row["plan"], r_max=1000).facts["assurance"] == strongest, row["case_id"]


def test_fond_rejections_carry_a_trace_that_replays_to_a_dead_end():
    """Each rejected policy has a dead end that the replay of its trace reaches, too."""
    rejected = 0
    for row in FOND:
        verdict = judge(plan_expansive, row["plan"], r_max=1000)
        if verdict.passed:
            continue
        rejected += 1
        plan, _ = read_plan(row["plan"])
        traces = [finding.trace for finding in verdict.errors if finding.code == Code.DEAD_END]
        assert traces, row["case_id"]
        assert all(replay(plan, trace).end == "dead_end" for trace in traces), row["case_id"]
    assert rejected == sum(not row["expected"]["strong_cyclic"] for row in FOND)


def test_fond_policies_pass_medium_iff_some_trace_reaches_the_goal():
    """For a policy, medium is its weak form."""
    assert all(judge(plan_medium, row["plan"], r_max=1000).passed == row["expected"]["weak"] for row in FOND)


ATOMICGUARD = {(row["base"], row["defect"]): row["plan"] for row in cases("atomicguard.jsonl")}
DEFECT_CODES = {
    "cycle": Code.CYCLE,
    "missing_guard": Code.UNKNOWN_GUARD,
    "zero_retry": Code.BAD_BUDGET,
    "unreachable_goal": Code.GOAL_UNREACHABLE,
    "unsatisfiable_precond": Code.PRECONDITION_UNSATISFIED,
    "missing_initial": Code.INITIAL_UNDEFINED,
    "budget_overflow": Code.BUDGET_OVER_TOTAL,
}
BASES = ["sdlc_v2", "simple"]


@pytest.mark.parametrize("base", BASES)
def test_atomicguard_clean_plans_pass_every_guard_without_a_finding(base):
    """The two base plans have no defects."""
    for module in (plan_minimal, plan_medium, plan_expansive):
        assert judge(module, ATOMICGUARD[base, None]).findings == ()


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("defect", DEFECT_CODES)
def test_atomicguard_defects_are_rejected_for_the_right_reason(base, defect):
    """Seven defects on both bases: each is rejected by medium and expansive, with its own code."""
    for module in (plan_medium, plan_expansive):
        verdict = judge(module, ATOMICGUARD[base, defect])
        assert DEFECT_CODES[defect] in {finding.code for finding in verdict.errors}


@pytest.mark.parametrize("base", BASES)
def test_atomicguard_orphans_are_named_as_a_warning(base):
    """The injected step is reported as an orphan; it also exceeds the budget of `sdlc_v2`, which has none to spare."""
    for module in (plan_medium, plan_expansive):
        verdict = judge(module, ATOMICGUARD[base, "orphan_step"])
        assert [finding.where for finding in verdict.findings if finding.code == Code.ORPHAN_STEP] == ["orphan"]
        assert {finding.code for finding in verdict.errors} == (
            {Code.BUDGET_OVER_TOTAL} if base == "sdlc_v2" else set()
        )


def test_there_are_18_atomicguard_plans():
    """Two bases, each clean and with eight defects."""
    assert len(ATOMICGUARD) == 18
