"""What recorded runs say about the steps of a model, against counts made by hand."""

from actors.planning.events import ArtifactProduced, VerdictReached
from actors.values.findings import Finding, Verdict
from replan_lab.tuning.model_profile import AttemptsUntilPlan, StepMeasure, measure_steps


def judged(node, *codes):
    """Return the verdict on a node; it is rejected for these codes, and accepted without any."""
    findings = tuple(Finding(code=code, severity="error", message="wrong") for code in codes)
    verdict = Verdict(guard="g", passed=not codes, score=0.0 if codes else 1.0, findings=findings)
    return VerdictReached(at=0.0, node=node, elapsed=0.0, verdict=verdict)


def test_first_attempts_and_attempts_after_a_finding_are_counted_apart():
    runs = [
        [
            judged("g_recon/v1.a1"),
            judged("g_plan/v1.a1", "plan.goal"),
            judged("g_plan/v1.a2", "plan.goal"),
            judged("g_plan/v1.a3"),
        ],
        [judged("g_recon/v1.a1"), judged("g_plan/v1.a1")],
    ]
    found = measure_steps(runs, "g_plan")
    assert found.steps == (
        StepMeasure("g_recon", attempts=2, firsts=2, firsts_accepted=2),
        StepMeasure("g_plan", attempts=4, firsts=2, firsts_accepted=1, told=2, told_accepted=1),
    )
    assert found.plans == (AttemptsUntilPlan(3, True), AttemptsUntilPlan(1, True))


def test_an_attempt_with_a_form_error_says_nothing_about_success():
    runs = [[judged("g_plan/v1.a1", "reply.not_json"), judged("g_plan/v1.a2", "field.missing"), judged("g_plan/v1.a3")]]
    found = measure_steps(runs, "g_plan")
    assert found.steps == (StepMeasure("g_plan", attempts=3, form_errors=2, told=1, told_accepted=1),)
    assert found.plans == (AttemptsUntilPlan(1, True),)
    assert found.form_error_share == 2.5 / 4


def test_replies_with_broken_json_that_could_be_read_are_counted():
    reply = {"at": 0.0, "elapsed": 0.0, "content": "{}"}
    runs = [
        [
            ArtifactProduced(request_id="g_plan/v1.a1", original="{,}", **reply),
            judged("g_plan/v1.a1", "plan.goal"),
            ArtifactProduced(request_id="g_plan/v1.a2", **reply),
            judged("g_plan/v1.a2"),
        ]
    ]
    [measure] = measure_steps(runs, "g_plan").steps
    assert (measure.attempts, measure.form_errors, measure.repaired) == (2, 0, 1)


def test_a_run_without_a_plan_is_a_record_of_no_success_and_one_without_an_attempt_is_none():
    runs = [
        [judged("g_plan/v1.a1", "plan.goal"), judged("g_plan/v2.a1", "plan.goal")],
        [judged("g_recon/v1.a1", "x.y")],
    ]
    assert measure_steps(runs, "g_plan").plans == (AttemptsUntilPlan(2, False),)


def test_what_comes_after_the_first_accepted_plan_does_not_count():
    runs = [[judged("g_plan/v1.a1"), judged("g_plan/v2.a1", "plan.goal")]]
    assert measure_steps(runs, "g_plan").plans == (AttemptsUntilPlan(1, True),)
