"""Tools files: what a right one pins, and the one line that each wrong one gives."""

import json
import os
import sys
from itertools import islice
from pathlib import Path
from textwrap import dedent

import jsonschema
import pytest
import yaml

from actors.tools.loader import load_tools
from actors.tools.uses import ModelUse, PersonUse, ToolSet, ToolUse
from runtime.core.errors import UsageProblem

HERE = Path(__file__).parent
ENVIRONMENT = {"PATH": os.environ["PATH"]}
WHOLE = """
    tools:
      run_tests:
        command: [ls, -l, "--width={width}", "{path}"]
        parameters:
          path: {type: path, default: tests, exists: true}
          width: {type: integer, minimum: 1, maximum: 200, default: 80}
        wrap: [nice, -n, "5"]
        risk: none
        repeatable: true
        timeout_seconds: 20
        output_bytes: 1000
        transient_exit_codes: [75]
        failure_pattern: ^FAILED
        environment: [PATH, CI=1]
      clean:
        python: ./count.py:clean
        pre_check: run_tests
      author:
        model: {file: src/login.py, instructions: Repair it., context_files: [tests/test_login.py]}
        pre_check: {tool: run_tests, with: {path: src}}
      reviewer: {human: Read the change.}
    generators:
      Coder: author
      Tester: {tool: run_tests, with: {path: tests/unit, width: 100}}
      Cleaner: clean
    guards:
      all_tests_pass: run_tests
      human: reviewer
"""


def load(folder, text, **more):
    (folder / "tools.yaml").write_text(dedent(text))
    return load_tools(folder / "tools.yaml", environment=ENVIRONMENT, **more)


def line_of(folder, text, **more):
    """Return the line that a wrong tools file gives, from the file's name on."""
    with pytest.raises(UsageProblem) as raised:
        load(folder, text, **more)
    return str(raised.value).replace(f"{folder}/", "")


def command(text):
    return f"tools:\n  t:\n    {text}\n"


def test_a_file_is_pinned_with_all_that_its_tools_and_bindings_say(tmp_path):
    (tmp_path / "count.py").write_text("def clean(workspace): ...\n")
    loaded = load(tmp_path, WHOLE)
    toolset = loaded.toolset
    assert loaded.notices == ()
    assert ToolSet.model_validate_json(toolset.model_dump_json()) == toolset
    assert sorted(toolset.tools) == ["clean", "run_tests"]
    tester, coder, cleaner = (toolset.generators[name] for name in ("Tester", "Coder", "Cleaner"))
    assert isinstance(tester, ToolUse)
    assert json.loads(tester.arguments) == {"path": "tests/unit", "width": 100}
    assert (tester.repeatable, tester.risky, tester.timeout_seconds) == (True, False, 20.0)
    assert isinstance(coder, ModelUse)
    assert coder.risky
    assert coder.pre_check is not None
    assert json.loads(coder.pre_check.arguments)["path"] == "src"
    assert isinstance(cleaner, ToolUse)
    assert (cleaner.repeatable, cleaner.risky) == (False, True)
    assert cleaner.pre_check is not None
    assert cleaner.pre_check.tool == "run_tests"
    assert toolset.guards["human"] == PersonUse(name="reviewer", instructions="Read the change.")
    assert "human" not in toolset.generators


def test_the_hash_follows_the_content_and_not_its_layout(tmp_path):
    text = "tools: {a: {human: x}}\ngenerators: {g: a}\n"
    first = load(tmp_path, text).toolset.sha256
    assert load(tmp_path, f"# a remark\n{text}").toolset.sha256 == first
    assert load(tmp_path, text.replace("x", "y")).toolset.sha256 != first


def test_a_tool_that_nothing_names_is_noticed(tmp_path):
    loaded = load(tmp_path, "tools: {a: {human: x}, b: {human: y}}\nguards: {g: b}\n")
    assert loaded.notices == (f"{tmp_path}/tools.yaml: nothing uses a",)


def wrong_files():
    """Return the cases of the text file: a tools file, and the line that it gives."""
    for case in (HERE / "wrong_tools_files.txt").read_text().split("\n\n")[1:]:
        text, _, line = case.rstrip("\n").partition("\n=> ")
        yield pytest.param(text, line, id=line.partition(": ")[2][:50])


@pytest.mark.parametrize(("text", "line"), list(wrong_files()))
def test_a_wrong_file_gives_one_line_with_cause_place_and_next_step(tmp_path, text, line):
    assert line_of(tmp_path, text) == line


def test_a_program_beside_the_file_is_found_there_and_must_be_executable(tmp_path):
    text = command("command: [./check.sh]")
    assert "there is no program" in line_of(tmp_path, text)
    (tmp_path / "check.sh").write_text("#!/bin/sh\n")
    assert "you have no permission to execute" in line_of(tmp_path, text)
    (tmp_path / "check.sh").chmod(0o755)
    assert load(tmp_path, text).toolset.tools


def test_no_program_is_looked_for_in_a_relative_folder_of_the_path(tmp_path, monkeypatch):
    (tmp_path / "tool-here").write_text("#!/bin/sh\n")
    (tmp_path / "tool-here").chmod(0o755)
    (tmp_path / "tools.yaml").write_text(command("command: [tool-here]"))
    monkeypatch.chdir(tmp_path)
    for path in (".", "", f".{os.pathsep}"):
        with pytest.raises(UsageProblem, match="there is no program"):
            load_tools("tools.yaml", environment={"PATH": path})


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (None, "there is no file"),
        ("def other(): ...", "defines no function 'f'"),
        ("def f(:", "is not Python, line 1"),
        ("raise SystemExit(3)\ndef f(): ...", None),
    ],
)
def test_a_python_file_is_checked_without_running_it(tmp_path, code, cause):
    if code is not None:
        (tmp_path / "mine.py").write_text(code)
    text = command("python: ./mine.py:f")
    if cause is None:
        spec = load(tmp_path, text).toolset.tools["t"]
        assert (spec.kind, spec.module, len(spec.sha256)) == ("python", "", 64)
    else:
        assert cause in line_of(tmp_path, text)


def test_nothing_that_says_what_tools_do_is_read_from_the_workspace(tmp_path, monkeypatch):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (inside / "module_in_workspace.py").write_text("def f(workspace): ...\n")
    (outside / "link.py").symlink_to(inside / "module_in_workspace.py")
    (outside / "link.yaml").symlink_to(inside / "tools.yaml")
    monkeypatch.setattr(sys, "path", [str(inside), *sys.path])
    line = line_of(inside, "tools: {}", workspace=inside)
    assert line == (
        "tools.yaml: a tools file must not be in the workspace "
        f"(move the file out of {inside}, because tools can write there, or name another --workspace)"
    )
    with pytest.raises(UsageProblem, match="must not be in the workspace"):
        load_tools(outside / "link.yaml", workspace=inside)
    for entry in ("module_in_workspace:f", "../inside/module_in_workspace.py:f", "./link.py:f"):
        line = line_of(outside, command(f"python: {entry}"), workspace=inside)
        assert "code that runs in Replan's process must not be in the workspace (move the code)" in line
    assert "module_in_workspace" not in sys.modules


def test_the_file_that_the_reference_shows_is_right_and_fits_the_schema(tmp_path):
    page = (HERE.parents[1] / "docs" / "reference" / "tools.md").read_text()
    example = page.partition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "steps.py").write_text("async def add_entry(workspace, *, entry): ...\n")
    loaded = load(tmp_path, example)
    assert loaded.notices == ()
    assert sorted(loaded.toolset.generators) == ["CodeGenerator", "Documenter"]
    schema = json.loads((HERE.parents[1] / "configs" / "schemas" / "tools.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(yaml.safe_load(example))
    wrong = {"tools": {"t": {"command": "ls"}}}, {"tools": {"t": {"humans": "x"}}}, {"tools": {}, "guard": {}}
    assert not any(validator.is_valid(value) for value in wrong)


def test_a_tool_about_which_the_file_says_no_more_is_risky_and_not_repeatable(tmp_path):
    use = load(tmp_path, command("command: [ls]") + "guards: {g: t}").toolset.guards["g"]
    assert isinstance(use, ToolUse)
    assert (use.risky, use.repeatable, use.timeout_seconds, use.pre_check) == (True, False, 300.0, None)
    assert load(tmp_path, command("command: [ls]")).toolset.tools["t"].environment == ("PATH", "HOME", "LANG")


def replaced(value):
    """Yield a document with each of its values replaced by odd ones, one after the other."""
    yield from (None, True, -1, 10**18, 1.5, "", "x" * 5000, "\0", "é", [], ["x"], {}, {"x": 1}, {"type": "path"})
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        for other in replaced(child):
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[key] = other
            yield copy


def test_no_value_anywhere_in_a_file_gives_anything_but_tools_or_one_line(tmp_path):
    """Every fifth of the files in which one value of a right file is an odd one."""
    (tmp_path / "count.py").write_text("def clean(workspace): ...\n")
    right, lines = 0, []
    for wrong in islice(replaced(yaml.safe_load(dedent(WHOLE))), 14, None, 5):
        try:
            load(tmp_path, json.dumps(wrong))
            right += 1
        except UsageProblem as problem:
            lines.append(str(problem))
    assert right > 3
    assert len(lines) > 100
    assert not any("\n" in line for line in lines)
