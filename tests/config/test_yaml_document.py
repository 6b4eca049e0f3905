"""Configuration files are a bounded, safe subset of YAML; every error is one line with its place."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BeforeValidator, Field, ValidationError

from actors.files import yaml_document
from actors.files.validation_errors import Config
from actors.files.yaml_document import DEPTH_MAX, FILE_BYTES_MAX, parse_document, read_document
from replan.setup.settings import read_user_config
from runtime.core.errors import UsageProblem


def problem(text: str, source: str = "f.yaml") -> str:
    with pytest.raises(UsageProblem) as caught:
        parse_document(text, source)
    return str(caught.value)


def test_values_have_line_numbers():
    document = parse_document("a: 1\nb:\n  - x\n  - c: [y,\n      z]\n", "f.yaml")
    assert document.value == {"a": 1, "b": ["x", {"c": ["y", "z"]}]}
    assert document.lines["b", 1, "c", 1] == 5
    assert document.place(("b", 1, "c", 1)) == "f.yaml:5 b[1].c[1]"


def test_a_missing_path_has_the_line_of_its_parent():
    document = parse_document("a: 1\nb:\n  c: 2\n", "f.yaml")
    assert document.place(("b", "nothing", 3)) == "f.yaml:2 b.nothing[3]"
    assert document.place() == "f.yaml:1"


def test_plain_scalars_are_those_of_json():
    text = "[~, null, true, False, 10, -3, 1e3, 2.5, no, on, 1:30, 0x10, 2026-01-01, .inf]"
    value = parse_document(f"a: {text}", "f.yaml").value["a"]
    assert value == [None, None, True, False, 10, -3, 1000.0, 2.5, "no", "on", "1:30", "0x10", "2026-01-01", ".inf"]
    assert [type(item) for item in value[4:8]] == [int, int, float, float]


def test_quoted_scalars_are_text():
    assert parse_document("a: ['1', \"true\", '']", "f.yaml").value == {"a": ["1", "true", ""]}


def test_block_text_is_text():
    assert parse_document("a: |-\n  1\nb: >-\n  true\n", "f.yaml").value == {"a": "1", "b": "true"}


@given(
    st.dictionaries(
        st.text(max_size=8),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(max_size=12),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=8,
        ),
        max_size=4,
    ),
    st.sampled_from([None, 1, "\t"]),
)
def test_json_is_yaml(value, indent):
    """Whatever Python writes as JSON is read back the same, also with tabs and with escaped surrogate pairs."""
    assert parse_document(json.dumps(value, indent=indent), "f.json").value == value


@given(st.text(max_size=200) | st.text(alphabet="{}[]:,-&*!|>'\"#%@ \n\tab1~?", max_size=60))
def test_any_text_is_a_document_or_a_problem(text):
    try:
        value = parse_document(text, "f.yaml").value
    except UsageProblem as error:
        value = {"refused": str(error)}
    assert isinstance(value, dict)
    assert value.get("refused", "f.yaml").startswith("f.yaml")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "f.yaml: the file is empty (a mapping of keys to values is expected)"),
        ("# only a comment\n", "f.yaml: the file is empty (a mapping of keys to values is expected)"),
        ("- a\n", "f.yaml:1: the top level is not a mapping (write `key: value` in each line)"),
        ("words\n", "f.yaml:1: the top level is not a mapping (write `key: value` in each line)"),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "f.yaml:4 b: duplicate key 'c' (keep one of them)"),
        ("a: 1\n2: x\n", "f.yaml:2: key 2 is not text (put it in quotes)"),
        ("a: 1\n[b]: x\n", "f.yaml:2: a key must be text"),
        ("a: &a {x: 1}\nb:\n  <<: *a\n", "f.yaml:3 b: merge keys (<<) are not supported"),
        ("a: *b\n", "f.yaml:1: not YAML: found undefined alias 'b' (correct this line or the line before it)"),
        (
            "a: 1\n---\nb: 2\n",
            "f.yaml:2: not YAML: but found another document (correct this line or the line before it)",
        ),
        (
            "a: 1\nb: \x01\n",
            "f.yaml:2: not text: special characters are not allowed (name a text file in YAML)",
        ),
        ('a: "\\ud83d"\n', "f.yaml:1 a: the text has only one half of a surrogate pair"),
    ],
)
def test_each_problem_has_a_cause_and_a_place(text, line):
    assert problem(text) == line


def test_tags_that_would_make_objects_are_refused():
    assert "python/object/apply:os.system is not allowed" in problem("a: !!python/object/apply:os.system ['true']")
    assert "tag" in problem("a: !!int '3'")


def test_an_alias_may_repeat_a_value():
    assert parse_document("a: &x [1]\nb: *x\n", "f.yaml").value == {"a": [1], "b": [1]}


def test_an_alias_bomb_is_refused():
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]" for i in range(9)]
    assert "the aliases in this file expand to too many values" in problem("\n".join(lines))


def test_an_alias_of_itself_is_refused():
    assert "the aliases in this file expand to too many values" in problem("a: &a [*a]")


def test_deep_nesting_is_refused():
    assert f"nested more than {DEPTH_MAX} levels deep" in problem("a: " + "[" * 100_000)
    assert f"nested more than {DEPTH_MAX} levels deep" in problem("\n".join(" " * i + "a:" for i in range(300)))


def read_problem(path: Path) -> str:
    with pytest.raises(UsageProblem) as caught:
        read_document(path)
    return str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    assert read_problem(tmp_path / "no.yaml") == f"{tmp_path}/no.yaml: no such file (name an existing file)"


def test_a_missing_file_is_guessed_from_the_names_beside_it(tmp_path):
    (tmp_path / "house.yaml").touch()
    assert read_problem(tmp_path / "hous.yaml").endswith("hous.yaml: no such file (did you mean 'house.yaml'?)")
    assert read_problem(tmp_path / "other.yaml").endswith("(name an existing file)")


def test_a_folder_is_not_a_file(tmp_path):
    assert read_problem(tmp_path) == f"{tmp_path}: this is a folder, not a file (name a file in this folder)"


def test_an_impossible_file_name_is_an_error():
    assert "this is not a file name (" in read_problem(Path("a\0b"))
    assert "cannot be read" in read_problem(Path("a" * 5000))


def test_a_binary_file_is_refused(tmp_path):
    path = tmp_path / "b.yaml"
    path.write_bytes(b"\x7fELF\x02\x01\xff\xfe")
    assert read_problem(path) == f"{path}: byte 6 of the file is not UTF-8 text (save the file as UTF-8)"
    path.write_bytes(bytes(100))
    assert read_problem(path).startswith(f"{path}:1: not text")


def test_a_huge_file_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "h.yaml"
    with path.open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    assert (
        read_problem(path) == f"{path}: the file is larger than 1024 KiB (make the file smaller, or name another file)"
    )


def test_the_size_limit_is_exact(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("a: b #".ljust(FILE_BYTES_MAX, "x"))
    assert read_document(path).value == {"a": "b"}
    path.write_text("a: b #".ljust(FILE_BYTES_MAX + 1, "x"))
    assert "larger" in read_problem(path)


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_bytes("a: ü".encode("utf-8-sig"))
    assert read_document(path).value == {"a": "ü"}


def test_a_device_is_read_as_far_as_the_limit():
    assert "larger" in read_problem(Path("/dev/zero"))


class Part(Config):
    size: int = 1


class File(Config):
    """A file with fields of several types."""

    plain: Annotated[int, Field(ge=0)] = 0
    optional: float | None = None
    listed: tuple[int, ...] = ()
    nested: Mapping[str, Mapping[int, float]] = {}
    named: float | str = ""
    switch: bool = False
    either: bool | int = 0
    own: Annotated[float, BeforeValidator(lambda value: 7.0)] = 0.0
    parts: Mapping[str, Part | int] = {}


@pytest.mark.parametrize(
    ("data", "path", "expected"),
    [
        ({"plain": True}, ("plain",), "should be a whole number, not True"),
        ({"optional": False}, ("optional",), "should be a number, not False"),
        ({"listed": [1, True]}, ("listed", 1), "should be a whole number, not True"),
        ({"nested": {"a": {1: 0.5, 2: True}}}, ("nested", "a", 2), "should be a number, not True"),
        ({"named": True}, ("named",), "should be a number, not True"),
        ({"parts": {"a": {"size": True}}}, ("size",), "should be a whole number, not True"),
    ],
)
def test_a_truth_value_for_a_number_is_refused_at_its_place(data, path, expected):
    with pytest.raises(ValidationError) as caught:
        File.model_validate(data)
    errors = [error for error in caught.value.errors() if error["type"] == "config"]
    assert [(error["ctx"]["path"], error["msg"]) for error in errors] == [(path, expected)]


def test_numbers_and_truth_values_are_taken_where_they_are_meant():
    data = {"plain": 1, "listed": [0, 1], "switch": True, "either": True, "own": True, "optional": None}
    read = File.model_validate({**data, "named": "1", "parts": {"a": {"size": 2}, "b": 3}})
    assert (read.plain, read.listed, read.switch, read.either, read.own) == (1, (0, 1), True, True, 7.0)
    assert read.parts == {"a": Part(size=2), "b": 3}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("home_budget: {usd: true}", "home_budget.usd: should be a number, not True"),
        ("home_budget: {calls: false}", "home_budget.calls: should be a whole number, not False"),
        ("tenants: {a: {usd: true}}", "tenants.a.usd: should be a number, not True"),
        ("host: {model_calls_max_by_provider: {openai: true}}", "openai: should be a whole number, not True"),
        ("clients: {max_calls: true}", "clients.max_calls: should be a whole number, not True"),
        ("clients: {active_time: true}", "clients.active_time: True is not a length of time"),
        ("clients: {active_time: 999999d}", "clients.active_time: should be at most 10000000000s, not '999999d'"),
    ],
)
def test_the_settings_take_no_truth_value_for_a_number(tmp_path, text, says):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(UsageProblem) as caught:
        read_user_config(path)
    assert says in str(caught.value)


def test_values_are_counted_while_they_are_composed(monkeypatch):
    """A megabyte of values took many seconds before it was refused."""
    monkeypatch.setattr(yaml_document, "_Builder", None)
    monkeypatch.setattr(yaml_document, "NODES_MAX", 50)
    with pytest.raises(UsageProblem, match="more than 50 values"):
        parse_document("a: [" + "1," * 100 + "1]", "config.yaml")
