"""The terminal sanitizer: nothing but printable text, line feeds and tabs comes through."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from runtime.logs.terminal_text import clean

INTRODUCERS = ["\x1b", "\x9b", "\x9d", "\x90", "\x1b[", "\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1b("]
ENDERS = ["\x07", "\x1b\\", "\x9c", "\x18", "m", "31m", "\n", "\r", "\r\n"]
OTHERS = ["\t", "\x00", "\x7f", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\ud800", "é", "漢", "plain", " "]
PIECES = st.sampled_from([*INTRODUCERS, *ENDERS, *OTHERS])
TEXTS = st.one_of(st.text(), st.lists(PIECES | st.characters()).map("".join))
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(TEXTS)
def test_no_control_character_comes_through(text):
    shown = clean(text)
    assert not BIDI & set(shown)
    assert all(char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs"} for char in shown)
    shown.encode()


@given(TEXTS)
def test_one_line_is_one_line_without_invisible_characters(text):
    shown = clean(text, one_line=True)
    assert len(shown.splitlines()) <= 1
    assert all(char == " " or unicodedata.category(char) not in {"Cc", "Cs", "Cf", "Zl", "Zp"} for char in shown)
    assert shown == shown.strip()


@given(TEXTS, st.integers(1, 40), st.booleans())
def test_no_line_is_wider_than_the_width(text, width, one_line):
    shown = clean(text, one_line=one_line, width=width)
    assert all(cell_len(line) <= width for line in shown.split("\n"))


@given(TEXTS, st.booleans(), st.none() | st.integers(1, 20))
def test_cleaning_twice_changes_nothing(text, one_line, width):
    once = clean(text, one_line=one_line, width=width)
    assert clean(once, one_line=one_line, width=width) == once


@given(st.text(st.characters(categories=["L", "N", "P", "S"]) | st.sampled_from("\n\t ")))
def test_ordinary_text_comes_through_unchanged(text):
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31;1mred\x1b[0mb", "aredb"),
        ("a\x9b2Jb", "ab"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]52;c;aGVsbG8=\x1b\\b", "ab"),
        ("a\x9d8;;http://x\x9cb", "ab"),
        ("a\x1bPq#0;2\n;0\x1b\\b", "ab"),
        ("a\x1b_Gf=100;AAAA\x1b\\b", "ab"),
        ("a\x1b]0;never ended\nnext", "a\nnext"),
        ("a\x1b]0;never ended\x1b[31m red", "a red"),
        ("a\x1bcb", "ab"),
        ("a\x1b(0b", "ab"),
        ("a\x1b", "a"),
        ("passed\rFAILED", "passedFAILED"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("user\u202egpj.exe", "usergpj.exe"),
        ("half\ud800", "half\ufffd"),
    ],
)
def test_a_sequence_goes_as_a_whole(text, shown):
    assert clean(text) == shown


def test_white_space_in_a_one_line_field_becomes_one_space():
    assert clean(" a\n\tb\u2028c\u200bd\u00a0e ", one_line=True) == "a b cd e"


def test_a_cut_line_ends_in_an_ellipsis():
    assert clean("abcdef\nab", width=4) == "abc…\nab"


def test_a_wide_character_is_never_halved():
    assert clean("漢字漢字", width=4) == "漢…"


@pytest.mark.parametrize("intro", ["\x1b]", "\x9d", "\x9d\n", "\x1b[", "\x1bP\x1b"])
def test_a_hostile_megabyte_is_cleaned(intro):
    assert len(clean(intro * 400_000)) <= 400_000
