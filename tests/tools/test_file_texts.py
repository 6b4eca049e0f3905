"""The texts that pass between the workspace and a model."""

import pytest

from actors.tools.file_texts import file_in, output_of, read_file_output


def test_what_was_read_reads_back_in_its_order():
    files = {"b": "x\n", "a": None}
    assert list(read_file_output(output_of(files)).items()) == list(files.items())


@pytest.mark.parametrize("output", ["", "[]", "{}", '{"files": 3}', '{"files": {"a": 1}}'])
def test_any_other_text_is_refused(output):
    with pytest.raises(ValueError, match=r".+"):
        read_file_output(output)


@pytest.mark.parametrize(
    ("reply", "file"),
    [
        ("x = 1", "x = 1\n"),
        ("x = 1\n\n\n", "x = 1\n"),
        ("  indented\n", "  indented\n"),
        ("```python\nx = 1\n```", "x = 1\n"),
        ("\n~~~\n  x\n~~~\n", "  x\n"),
        ("````md\n```\nx\n```\n````", "```\nx\n```\n"),
        ("```\na\n```\nand\n```\nb\n```", "```\na\n```\nand\n```\nb\n```\n"),
        ("", ""),
        (" \n", ""),
    ],
)
def test_a_reply_that_is_one_code_block_stands_for_its_content(reply, file):
    assert file_in(reply) == file
