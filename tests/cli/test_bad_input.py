"""Invalid problems, options and configurations: one line with advice, exit 2, and nothing written."""

import json

import pytest

from actors.planning.prepare import PROBLEM_BYTES_MAX
from tests.cli.samples import PROBLEM


def assert_refused(result, *words, home=None, code=2):
    """Check that a command failed with one line on stderr that contains all the words."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("replan: ")
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
    if home is not None:
        assert not home.exists()


BAD = {
    "missing": (None, "no such file"),
    "empty": (b"", "empty"),
    "blank": (b" \n\t\n", "empty"),
    "binary": (b"\x7fELF\0\0", "binary"),
    "latin": ("Größe".encode("latin-1"), "UTF-8"),
    "huge": (b"x" * (PROBLEM_BYTES_MAX + 1), "bytes"),
}


@pytest.mark.parametrize("kind", BAD)
def test_an_invalid_problem_is_refused(replan, home, tmp_path, kind):
    content, word = BAD[kind]
    path = tmp_path / "bad.md"
    if content is not None:
        path.write_bytes(content)
    result = replan("run", path, "-m", "template:bug")
    assert_refused(result, f"replan: {str(path)[:59]}", word, home=home)
    assert result.stderr.endswith(")\n"), "the line ends with advice"


@pytest.mark.parametrize("kind", [kind for kind in BAD if kind != "missing"])
def test_an_invalid_problem_on_standard_input_is_refused(replan, home, kind):
    content, word = BAD[kind]
    assert_refused(replan("run", "-", "-m", "template:bug", input=content), word, home=home)


def test_an_empty_problem_on_standard_input_is_named(replan, home):
    assert_refused(
        replan("run", "-", "-m", "template:bug", input=""), "replan: standard input: the problem is empty", home=home
    )


@pytest.mark.parametrize(("command", "place"), [(("run", "-m", "template:bug"), "PROBLEM"), (("check",), "PLAN")])
def test_an_empty_argument_is_not_the_current_folder(replan, home, command, place):
    assert_refused(replan(*command, ""), f"replan: {place}: no file is named (name a file, or -", home=home)


def test_a_large_file_is_read_only_up_to_the_limit(replan, home, tmp_path):
    """The file is sparse: beyond the limit it has only zeros."""
    path = tmp_path / "large.md"
    with path.open("wb") as file:
        file.write(b"x" * (PROBLEM_BYTES_MAX + 1))
        file.truncate(50 * 1024 * 1024)
    assert_refused(replan("run", path, "-m", "template:bug"), f"{PROBLEM_BYTES_MAX:,} bytes", home=home)


@pytest.mark.parametrize("text", ["The login fails with a timeout", "x " * 500])
def test_a_sentence_instead_of_a_file_gets_a_hint(replan, home, text):
    assert_refused(replan("run", text, "-m", "template:bug"), "no such file", "replan run -", home=home)


FLAGS = {
    ("--max-tokens", "0"): "--max-tokens",
    ("--max-cost", "0"): "--max-cost",
    ("--max-cost", "-1"): "--max-cost",
    ("--max-cost", "nan"): "--max-cost: the limit must be a number above 0",
    ("--max-cost", "inf"): "--max-cost: the limit must be a number above 0",
    ("--max-tokens", "1.5"): "--max-tokens",
    ("--max-tokens", "10000000000000"): "--max-tokens: the limit must be a whole number above 0",
    ("--max-calls", "nan"): "--max-calls",
    ("--deadline", "0s"): "length of time",
    ("--deadline", "soon"): "length of time",
    ("--deadline", "inf"): "length of time",
    ("--deadline", "999999d"): "--deadline: the limit must be a number above 0",
    ("--active-time", "0s"): "length of time",
    ("--active-time", "nan"): "length of time",
    ("--active-time", "999999d"): "--active-time: the limit must be a number above 0",
    ("--search", "dept_first"): "depth_first",
    ("--detach", "--dry-run"): "leave one of the two out",
    ("-w", "./none.yaml"): "none.yaml: no such file (name an existing file",
    ("-w", "."): "--workflow: unknown workflow '.' (shipped: ",
    ("-w", "./"): "this is a folder, not a file (name a file in this folder)",
    ("-m", "scriptd:x.yaml"): "did you mean scripted:?",
    ("-m", ""): "names no model",
    ("-m", "scripted:missing.yaml"): "missing.yaml: cannot be read",
    ("-m", "gpt-test"): "needs a key (set OPENAI_API_KEY",
    ("-m", "templat"): "needs a key (did you mean template:NAME? Otherwise set OPENAI_API_KEY",
    ("-m", "simulted"): "did you mean simulated:?",
    ("-m", "script"): "did you mean scripted:FILE?",
    ("-m", "replays"): "did you mean replay:RUN?",
    ("-m", "nobody-knows-this-model", "--max-cost", "1"): "prices",
}


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_invalid_options_are_refused(replan, home, problem, flags):
    model = () if "-m" in flags else ("-m", "template:bug")
    result = replan("run", problem, *model, *flags)
    assert_refused(result, FLAGS[flags], home=home)
    assert result.stderr.endswith(")\n"), "the line ends with advice"


def test_resume_needs_either_a_run_or_last(replan, home):
    assert_refused(replan("resume"), "no run is named", home=home)
    assert_refused(replan("resume", "k7m2x9qa", "--last"), "both", home=home)


WORKFLOW = """\
name: mine
action_pairs:
  g_analysis:
    generator: model
    guard: analysis_valid
  g_plan:
    generator: model
    guard: plan_medium
    requires: [g_analysis]
"""

WRONG = {
    "key": (WORKFLOW.replace("    requires", "    requiers"), "mine.yaml:9", "did you mean 'requires'?"),
    "cycle": (
        WORKFLOW.replace("valid\n", "valid\n    requires: [g_plan]\n"),
        "mine.yaml:6",
        "-> g_analysis (remove one",
    ),
    "guard": (WORKFLOW.replace("plan_medium", "plan_mediun"), "mine.yaml:8", "did you mean 'plan_medium'?"),
    "step": (WORKFLOW.replace("[g_analysis]", "[g_analyse]"), "mine.yaml:9", "did you mean 'g_analysis'?"),
    "no steps": ("name: mine\naction_pairs: {}\n", "mine.yaml:2 action_pairs", "(add a step, such as `g_plan: ...`)"),
    "itself": (
        WORKFLOW.replace("model\n    guard: plan", "workflow:./mine.yaml\n    guard: plan"),
        "mine.yaml:7 action_pairs.g_plan.generator",
        "mine -> mine (in one of these workflows",
    ),
    "policy": (
        WORKFLOW + "policy: ./mine.policy.yaml\n",
        "mine.yaml:10 policy: ",
        "(write the path relative to the folder",
    ),
    "yaml": (WORKFLOW.replace("name: mine", "name: [mine"), "mine.yaml:", ""),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_invalid_workflow_is_reported_with_file_and_line(replan, home, problem, tmp_path, what):
    text, place, hint = WRONG[what]
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    assert_refused(replan("run", problem, "-m", "template:bug", "-w", path), place, hint, home=home)
    assert_refused(replan("workflow", "cost", path, "-m", "template:bug"), place, hint, home=home)


def test_prompts_without_wrappers_are_refused(replan, home, problem, tmp_path):
    (tmp_path / "mine.yaml").write_text(f"prompts: bare.yaml\n{WORKFLOW}", encoding="utf-8")
    (tmp_path / "bare.yaml").write_text("analysis: {role: r, constraints: c, task: t}\n", encoding="utf-8")
    result = replan("run", problem, "-m", "template:bug", "-w", tmp_path / "mine.yaml")
    assert_refused(result, "bare.yaml:1", "feedback_wrapper", home=home)


def test_an_error_is_an_object_on_stdout_with_json(replan, problem):
    result = replan("run", problem, "-w", "serch", "-m", "template:bug", "--json")
    error = json.loads(result.stdout)["error"]
    assert result.exit_code == error["exit_code"] == 2
    assert error["kind"] == "UsageProblem"
    assert error["hint"] == "did you mean 'search'?"
    assert error["message"] in result.stderr


def test_a_dry_run_writes_nothing(replan, home, problem):
    result = replan("run", problem, "-m", "template:bug", "--dry-run")
    assert result.exit_code == 0
    assert "30 calls" in result.stdout
    assert not home.exists()


def test_a_problem_with_unusual_characters_is_accepted(replan, tmp_path):
    """A byte order mark, control characters, and no newline at the end."""
    path = tmp_path / "odd.md"
    path.write_bytes(b"\xef\xbb\xbf" + PROBLEM.strip().encode() + b" \x1b[31mred\x07")
    result = replan("run", path, "-m", "template:bug", "--dry-run", "--json")
    assert json.loads(result.stdout)["workflow"] == "search"


NOT_THERE = {
    "show --last": 8,
    "show zzzzzzzz": 8,
    "log --last": 8,
    "resume --last": 8,
    "resume zzzzzzzz": 8,
    "answer zzzzzzzz/q1 yes": 8,
    "tell zzzzzzzz hello": 8,
    "cancel zzzzzzzz": 8,
    "questions zzzzzzzz": 8,
    "run - -m replay:zzzzzzzz": 8,
    "questions": 0,
    "runs": 0,
}


@pytest.mark.parametrize("command", NOT_THERE)
def test_a_command_about_runs_writes_nothing_to_an_empty_home(replan, home, command):
    for _ in range(2):
        result = replan(*command.split(), input=PROBLEM)
        assert result.exit_code == NOT_THERE[command], result.output
        if result.exit_code:
            assert_refused(result, "(`replan ", code=8)
        assert not home.exists() or not list(home.iterdir())
        home.mkdir(mode=0o700, exist_ok=True)


def test_an_empty_home_with_unsafe_permissions_is_refused(replan, home):
    home.mkdir()
    home.chmod(0o777)
    assert_refused(replan("runs"), "chmod go-w")
    assert not list(home.iterdir())
