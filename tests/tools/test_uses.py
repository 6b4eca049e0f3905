"""What a plan's names stand for: bindings, names that are not bound, and the form that a start event pins."""

import json

import pytest
from pydantic import ValidationError

from actors.plans.plan import Plan, Step
from actors.tools.parameters import IntegerParameter, PathParameter
from actors.tools.specs import CommandSpec, PythonSpec, fill_argument, parameters_in
from actors.tools.uses import (
    NO_TOOLS,
    WORKSPACE_READ,
    WORKSPACE_WRITE,
    ModelUse,
    PersonUse,
    StepUses,
    ToolSet,
    ToolUse,
    canonical,
)

RUN_TESTS = ToolUse(
    tool="pytest", arguments='{"path":"tests"}', repeatable=True, risky=False, timeout_seconds=60.0, pre_check=None
)
WRITE_FIX = ModelUse(
    name="author",
    file="src/login.py",
    instructions="Repair the time-out.",
    context_files=("tests/test_login.py", "src/login.py"),
    missing="failure",
    file_bytes_max=1000,
    risky=True,
    pre_check=RUN_TESTS,
)
REVIEW = PersonUse(name="reviewer", instructions="Read the change.")
TOOLS = ToolSet(
    source="tools.yaml",
    sha256="0" * 64,
    tools={
        "pytest": CommandSpec(
            name="pytest",
            argv=("python", "-m", "pytest", "{path}"),
            folder="/home/ann",
            parameters={"path": PathParameter(type="path", default="tests")},
            environment=("PATH", "CI=1"),
            output_bytes=1000,
            transient_exit_codes=(75,),
            failure_pattern="",
        ),
        "count": PythonSpec(
            name="count",
            function="count",
            module="",
            file="/home/ann/count.py",
            sha256="1" * 64,
            parameters={"most": IntegerParameter(type="integer", minimum=0, maximum=9)},
            output_bytes=1000,
        ),
    },
    generators={"CoderGenerator": WRITE_FIX, "all_tests_pass": REVIEW},
    guards={"all_tests_pass": RUN_TESTS, "human": REVIEW},
)
PLAN = Plan(
    "fix",
    (
        Step("s1", generator="CoderGenerator", guard="all_tests_pass"),
        Step("s2", generator="Deployer", guard="human"),
        Step("s3", generator="all_tests_pass", guard="CoderGenerator"),
        Step("s4", generator="Deployer", guard=""),
    ),
)


def test_a_name_stands_for_one_use_as_a_generator_and_for_another_as_a_guard():
    s1, s2, s3, s4 = PLAN.steps
    assert TOOLS.generator_use(s1) is WRITE_FIX
    assert TOOLS.guard_use(s1) is RUN_TESTS
    assert TOOLS.guard_use(s2) is REVIEW
    assert TOOLS.generator_use(s3) is REVIEW
    assert TOOLS.guard_use(s4) is None


def test_a_step_is_bound_by_its_id_or_that_without_its_number_before_its_role_is():
    tools = TOOLS.model_copy(
        update={
            "steps": {
                "s1": StepUses(guard=REVIEW),
                "mend": StepUses(generator=WRITE_FIX),
                "move": StepUses(generator=RUN_TESTS, guard=RUN_TESTS),
            }
        }
    )
    assert (tools.generator_use(PLAN.steps[0]), tools.guard_use(PLAN.steps[0])) == (WRITE_FIX, REVIEW)
    mended = Step("mend", generator="Deployer", guard="human")
    repeated = Step("move_12", generator="Deployer", guard="")
    assert (tools.generator_use(mended), tools.guard_use(mended)) == (WRITE_FIX, REVIEW)
    assert (tools.generator_use(repeated), tools.guard_use(repeated)) == (RUN_TESTS, RUN_TESTS)
    assert tools.unbound(Plan("p", (mended, repeated))) == ()
    assert tools.step_names("generator") == ("mend", "move")
    assert ToolSet.model_validate_json(tools.model_dump_json()) == tools


def test_all_names_of_a_plan_that_are_not_bound_are_listed_once_each():
    assert TOOLS.unbound(PLAN) == ("generator 'Deployer'", "guard 'CoderGenerator'")
    assert len(NO_TOOLS.unbound(PLAN)) == 6


def test_what_a_start_event_pins_reads_back_as_equal():
    assert ToolSet.model_validate_json(TOOLS.model_dump_json()) == TOOLS


@pytest.mark.parametrize("change", [{"more": 1}, {"generators": {"x": {"kind": "shell"}}}, {"tools": {"x": {}}}])
def test_a_pinned_form_with_anything_unknown_is_refused(change):
    with pytest.raises(ValidationError):
        ToolSet.model_validate_json(json.dumps({**json.loads(TOOLS.model_dump_json()), **change}))


def test_a_model_s_file_is_read_with_its_context_and_then_replaced():
    reading, writing = WRITE_FIX.reading(), WRITE_FIX.writing("naïve\n")
    assert (reading.tool, writing.tool) == (WORKSPACE_READ, WORKSPACE_WRITE)
    assert json.loads(reading.arguments)["files"] == ["src/login.py", "tests/test_login.py"]
    assert json.loads(writing.arguments) == {"bytes_max": 1000, "content": "naïve\n", "file": "src/login.py"}
    assert (reading.risky, writing.risky) == (False, True)
    assert reading.repeatable
    assert writing.repeatable


def test_equal_arguments_have_one_text():
    assert canonical({"b": 1, "a": "é"}) == canonical({"a": "é", "b": 1}) == '{"a":"é","b":1}'


def test_a_parameter_is_filled_in_once_and_never_read_again():
    assert fill_argument("--only={path}", {"path": "{most}"}) == "--only={most}"
    assert fill_argument("{{path}} {path}", {"path": "x"}) == "{path} x"
    assert parameters_in("{{a}} {b}{c}") == ("b", "c")
