"""Raised limits and another model, from Python: posted to a run, or given to `resume`."""

import pytest

import replan
from tests.cli.samples import LOST, PLAN, PROBLEM, distinct

TRIES = {"g_plan": [*distinct(LOST, 2), PLAN]}


@pytest.fixture
def spent(scripted, tmp_path):
    """The home and the id of a run that has ended for want of calls."""
    result = replan.solve(PROBLEM, model=scripted(TRIES), workflow="single", max_calls=1, home=tmp_path / "home")
    assert (result.outcome, result.calls) == ("budget_exhausted", 1)
    return tmp_path / "home", result.run_id


def test_a_spent_run_goes_on_with_more_calls(in_loop, spent):
    home, run = spent

    async def main():
        still = await replan.aresume(run, max_calls=2, home=home)
        assert (still.outcome, still.calls) == ("budget_exhausted", 2)
        return await replan.aresume(run, max_calls=9, home=home)

    result = in_loop(main)
    assert (result.succeeded, result.calls) == (True, 3)


def test_limits_are_posted_to_a_run_that_nobody_drives(in_loop, spent):
    home, run = spent

    async def main():
        await replan.alimits(run, max_calls=9, home=home)
        async with replan.drive(run, home=home) as driven:
            return await driven.result()

    assert in_loop(main).calls == 3


def test_a_run_goes_on_with_another_model(in_loop, spent, scripted):
    home, run = spent
    other = scripted({"g_plan": [LOST, PLAN]}, "other.yaml")  # A script goes on after the replies that were used.

    async def main():
        return await replan.aresume(run, max_calls=9, model=other, home=home)

    assert in_loop(main).succeeded


def test_a_run_becomes_strict(in_loop, spent):
    """Its plan is judged by one guard more, which finds nothing here."""
    home, run = spent

    async def main():
        async with replan.drive(run, max_calls=9, strict=True, home=home) as driven:
            records = [record async for record in driven]
            return records, await driven.result()

    records, result = in_loop(main)
    assert result.succeeded
    guards = [record.event.guard for record in records if record.event.kind == "judgement_requested"]
    assert guards == ["all_of"] * len(guards) != []


@pytest.mark.parametrize(
    ("options", "place"),
    [({"max_calls": -1}, "max_calls"), ({"timeout": 0}, "timeout"), ({"model": 3}, "model")],
)
def test_an_invalid_change_is_refused_with_its_keyword(in_loop, spent, options, place):
    home, run = spent

    async def main():
        with pytest.raises(replan.UsageProblem) as caught:
            await replan.aresume(run, home=home, **options)
        assert caught.value.place == place
        return await replan.ashow(run, home=home)

    assert in_loop(main).outcome == "budget_exhausted"


def test_nothing_is_no_change(spent):
    home, run = spent
    with pytest.raises(replan.UsageProblem, match="the message changes nothing"):
        replan.limits(run, home=home)


def test_a_run_is_started_with_attached_files_and_the_limits_of_the_command_line(in_loop, tmp_path):
    (tmp_path / "export.py").write_text("def export_rows(): ...\n")
    keywords = {"model": "template:bug", "home": tmp_path / "home"}

    async def main():
        attached = [tmp_path / "export.py"]
        async with replan.start("It loses rows.", attach=attached, timeout="7s", **keywords) as run:
            return [record.event async for record in run]

    begun = in_loop(main)[0]
    assert "export_rows()" in begun.attachments
    assert '"model_timeout_seconds":7.0' in begun.pinned
    with pytest.raises(replan.UsageProblem, match="attach: should be a list of files"):
        replan.solve("Export loses the last row.", attach="export.py", **keywords)
    with pytest.raises(replan.UsageProblem, match="no such folder"):
        replan.solve("Export loses the last row.", repo=tmp_path / "none", **keywords)
    with pytest.raises(replan.UsageProblem, match="timeout"):
        replan.solve("Export loses the last row.", timeout=0.0, **keywords)


def test_settings_of_calls_are_pinned_and_changed(in_loop, spent):
    home, run = spent

    async def main():
        await replan.alimits(run, model_settings={"seed": 4, "verbosity": "low"}, home=home)
        await replan.alimits(run, model_settings=["seed=null", "temperature=0.5"], max_calls=9, home=home)
        async with replan.drive(run, home=home) as driven:
            records = [record async for record in driven]
            return [record.event for record in records if record.event.kind == "settings_changed"]

    first, second = in_loop(main)
    assert first.model_settings == {"seed": 4, "verbosity": "low"}
    assert second.model_settings == {"seed": None, "temperature": 0.5}


def test_an_unknown_setting_is_refused_at_the_start_and_later(in_loop, spent, scripted, tmp_path):
    home, run = spent

    async def main():
        with pytest.raises(replan.UsageProblem, match="unknown setting 'temp'") as caught:
            await replan.alimits(run, model_settings={"temp": 1}, home=home)
        assert caught.value.place == "model_settings"
        with pytest.raises(replan.UsageProblem, match="unknown setting 'temp'") as caught:
            await replan.asolve(PROBLEM, model=scripted(TRIES), model_settings={"temp": 1}, home=tmp_path / "other")
        assert caught.value.place == "model_settings"

    in_loop(main)
