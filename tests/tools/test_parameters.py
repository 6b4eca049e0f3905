"""Parameters: each type takes what is in its bounds, and refuses all else with the cause."""

import pytest

from actors.tools.parameters import (
    ChoiceParameter,
    IntegerParameter,
    PathParameter,
    StringParameter,
    first_problem,
    path_problem,
    problem_with,
    with_defaults,
)

BRANCH = StringParameter(type="string", pattern="[a-z]+")
JOBS = IntegerParameter(type="integer", minimum=1, maximum=8, default=2)
TARGET = PathParameter(type="path")
LEVEL = ChoiceParameter(type="choice", choices=("low", "high"))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [(BRANCH, "main"), (JOBS, 1), (JOBS, 8), (TARGET, "a/b c.py"), (TARGET, "."), (LEVEL, "low")],
)
def test_what_is_in_bounds_is_right(parameter, value):
    assert problem_with(parameter, value) == ""


@pytest.mark.parametrize(
    ("parameter", "value", "cause"),
    [
        (BRANCH, "main; rm", "should match [a-z]+, not 'main; rm'"),
        (BRANCH, "main\n", "should match [a-z]+, not 'main\\n'"),
        (BRANCH, 3, "should be text, not '3'"),
        (BRANCH, "a\0", "has a NUL character or invalid Unicode"),
        (BRANCH, "\ud800", "has a NUL character or invalid Unicode"),
        (BRANCH, "a" * 1001, "has more than 1,000 characters"),
        (JOBS, 9, "should be a whole number from 1 to 8, not '9'"),
        (JOBS, True, "should be a whole number from 1 to 8, not 'True'"),
        (JOBS, "2", "should be a whole number from 1 to 8, not '2'"),
        (LEVEL, "middle", "should be one of low, high, not 'middle'"),
        (LEVEL, ["low"], "should be one of low, high, not \"['low']\""),
        (TARGET, 3, "should be text, not '3'"),
    ],
)
def test_what_is_out_of_bounds_is_refused_with_the_cause(parameter, value, cause):
    assert problem_with(parameter, value) == cause


@pytest.mark.parametrize("path", ["", "/etc/passwd", "~/x", "..", "a/../../b", "-rf", "a\nb", "a\x1b[2J", "é" * 600])
def test_a_path_that_could_leave_the_workspace_or_be_an_option_is_refused(path):
    assert path_problem(path)


def test_a_default_fills_in_for_a_missing_argument_only():
    assert with_defaults({"jobs": JOBS, "to": TARGET}, {}) == {"jobs": 2}
    assert with_defaults({"jobs": JOBS}, {"jobs": 0}) == {"jobs": 0}


def test_the_first_wrong_argument_is_named_with_a_hint():
    parameters = {"jobs": JOBS, "to": TARGET}
    assert first_problem(parameters, {"jobs": 3, "to": "a"}) is None
    assert first_problem(parameters, {"job": 3}) == ("job", "unknown parameter 'job'", "did you mean 'jobs'?")
    assert first_problem(parameters, {"jobs": 3}) == (
        "to",
        "the parameter 'to' has no value",
        "give a value under `with`, or give 'to' a default",
    )
    assert first_problem(parameters, {"jobs": 0, "to": "a"}) == (
        "jobs",
        "should be a whole number from 1 to 8, not '0'",
        "",
    )
