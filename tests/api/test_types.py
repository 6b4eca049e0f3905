"""The types of the API, as a type checker sees them in a program of a user."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import replan

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import replan

async def right() -> None:
    result = await replan.asolve("Fix it.", model="rules", max_calls=3)
    if result.plan is not None:
        steps: list[str] = [step.step_id for step in result.plan.steps]
        text: str = result.plan.to_markdown() + str(result.plan.to_dict()["steps"]) + str(steps)
    if result.question is not None:
        text = result.question["text"]
    async with replan.start("Fix it.") as run:
        async for record in run:
            number: int = record.seq
        plan: replan.ProvedPlan | None = (await run.result()).plan
    for row in await replan.aruns(status="waiting"):
        shown: replan.RunResult = await replan.ashow(row.run_id)
        heard: replan.Heard = await replan.aanswer(row.question or "", "x")
    version: str = replan.__version__

def ask(question: replan.OpenQuestion) -> str:
    return question["text"]

resumed: replan.RunResult = replan.resume("k7m2x9qa", ask=ask)
rows: tuple[replan.RunSummary, ...] = replan.runs(home="here")
wrong_1 = replan.solve("Fix it.", modle="rules")
async def wrong() -> None:
    await replan.asolve("Fix it.", modle="rules")
    replan.start("Fix it.", max_calls="3")
    await replan.aresume("k7m2x9qa", problem="Fix it.")
wrong_5: int = replan.solve("Fix it.").plan
wrong_6 = replan.runs(status="sleeping")
"""
WRONG = {
    'wrong_1 = replan.solve("Fix it.", modle': 'Unexpected keyword argument "modle"',
    'await replan.asolve("Fix it.", modle': 'Unexpected keyword argument "modle"',
    'max_calls="3"': 'Argument "max_calls"',
    "problem=": 'Unexpected keyword argument "problem"',
    "wrong_5": "Incompatible types in assignment",
    "sleeping": 'Argument "status"',
}
"""Parts of the lines that are wrong, and what mypy says about them."""


def test_mypy_accepts_right_programs_and_refuses_misspelt_keywords(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    # The errors of this project's own modules, and of the libraries that they import, are the business of `make lint`.
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", "--cache-dir", tmp_path]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--config-file", ROOT / "pyproject.toml", path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    reported = [line for line in done.stdout.splitlines() if ": error:" in line]
    lines = PROGRAM.splitlines()
    for part, message in WRONG.items():
        (number,) = [number for number, line in enumerate(lines, 1) if part in line]
        assert any(f":{number}: " in line and message in line for line in reported), (part, done.stdout)
    assert len(reported) == len(WRONG), done.stdout + done.stderr


def test_the_signatures_are_explicit():
    for names in (("start", "asolve", "solve"), ("drive", "aresume", "resume")):
        first, *others = (inspect.signature(getattr(replan, name)).parameters for name in names)
        assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in first.values())
        assert [list(other.values()) for other in others] == [list(first.values())] * 2
    assert inspect.signature(replan.solve).return_annotation is replan.Result


def test_an_unknown_keyword_is_a_type_error():
    with pytest.raises(TypeError, match="modle"):
        replan.solve("Fix it.", modle="rules")
