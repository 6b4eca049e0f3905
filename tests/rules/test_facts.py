"""The facts in a text: files, interfaces, tests, steps; each is a literal quote."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.guards.fields import folded

from .author import PROBLEMS, ask, judged, read


def facts(text):
    """Return the facts in a text."""
    return read(text).facts


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("see src/app/main.py:12 and `lib/x.rs`.", ("src/app/main.py", "lib/x.rs")),
        ("The Dockerfile and (config.yaml), please", ("Dockerfile", "config.yaml")),
        ("Node.js, e.g. version 3.11, i.e. x.c or a.b", ()),
        ("https://example.org/src/a.py is a link", ()),
        ("everything in src/auth/ and tests/unit", ("src/auth/", "tests/unit")),
        ("C:\\work\\main.cs fails", ("C:\\work\\main.cs",)),
        ("src/a.py#L20 and src/b.py::run", ("src/a.py", "src/b.py")),
    ],
)
def test_files_are_distinguished_from_other_words_with_dots(text, files):
    assert facts(text).files == files


@pytest.mark.parametrize(
    ("text", "apis"),
    [
        ("`Store.open()` calls numOfDomains and list_domains", ("Store.open()", "numOfDomains", "list_domains")),
        ("std::error::Error and slice::sort!", ("std::error::Error", "slice::sort!")),
        ("GitHub and JavaScript are names, not code", ()),
        ("`POST /api/login` and GET /health", ("POST /api/login", "GET /health")),
        ("```rust\npub fn shrink_to(&mut self) {}\n```", ("shrink_to",)),
        ("a plain `word` comes after parse_all", ("parse_all", "word")),
    ],
)
def test_interfaces_are_distinguished_from_plain_words(text, apis):
    assert facts(text).apis == apis


def test_tests_are_files_names_and_node_ids():
    text = "tests/test_a.py::TestX::test_one fails, so do OrderTest, `a_test.go` and src/cart.spec.ts; attest does not"
    names = ("tests/test_a.py::TestX::test_one", "OrderTest")
    assert facts(text).tests == ("tests/test_a.py", "a_test.go", "src/cart.spec.ts", *names)


def test_steps_come_from_a_section_a_label_or_a_console():
    section = "## Steps to reproduce\n\n1. Start it\n2. Click\n   twice\n\n## Expected\n\n- Fine\n"
    label = "To reproduce:\n- open the page\n- press F5\n\nThen it hangs."
    console = "### Reproducer\n\n```console\n$ make boom\nboom\n```\n"
    assert facts(section).steps == ("Start it", "Click twice")
    assert facts(label).steps == ("open the page", "press F5")
    assert facts(console).steps == ("make boom",)


def test_answers_are_separate_parts_of_the_text():
    """A quote does not extend from the specification into an answer."""
    recon = ask("recon", "Fix a.", clarifications=[{"question": "Which?", "answer": "py and src/b.py"}])
    assert recon["mentioned_files"] == ["src/b.py"]
    assert judged("recon", recon, "Fix a.", ["py and src/b.py"])["recon_valid"].passed


PIECES = """
src/a.py | `run_all()` | must not | Traceback (most recent call last): |   File "a.py", line 3, in f | E: x
- | 1. | ``` | >
# Steps to reproduce | $ make | test_x | a_b | O(n) | TypeError: x | at f (a.js:1:2) | panic: x | goroutine 1 [running]:
I want | it. | A sentence. And one more! | GET /x | ``x`` | \u2028 | é | İ | * | \x00
"""
WORDS = st.sampled_from(
    [*(piece for line in PIECES.split("\n") for piece in line.split(" | ")), "|", "\n", "\n\n", "\t"]
)
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300)
"""No run begins with a text that has a NUL character or a lone surrogate."""
TEXTS = st.one_of(st.lists(WORDS, max_size=40).map(" ".join), st.lists(WORDS, max_size=40).map("\n".join), ANY)


OTHER_KEYS = {"open_questions", "requirements"}


@given(TEXTS, st.lists(TEXTS, max_size=2))
def test_every_quote_occurs_in_the_text(text, answers):
    """All recon lists and key signals of any text are literal quotes, and the guard accepts them."""
    clarifications = [{"question": "?", "answer": answer} for answer in answers]
    recon = ask("recon", text, clarifications=clarifications)
    parts = [folded(part) for part in (text, *answers)]
    quotes = [quote for key, items in recon.items() if key not in OTHER_KEYS for quote in items]
    quotes += [requirement["quote"] for requirement in recon["requirements"]]
    classification = read(text, clarifications=clarifications).classification
    quotes += [signal for signals in classification.signals.values() for signal in signals]
    assert [quote for quote in quotes if not any(folded(quote) in part for part in parts)] == []
    verdict = judged("recon", recon, text, answers)["recon_valid"]
    assert verdict.passed
    assert all(finding.code == "recon.nothing_found" for finding in verdict.findings)


LINES = """x|`|a.b.c|/a|(|a::|_|> |- must x.$|A. B! |panic: x$|Caused by: a.B$|Traceback (most recent call last):$
|  File "a.py", line 3, in f$|Error: x$  at f (a.js:1:2)$|at |GET /a|[[|thread 'main' panicked at |goroutine 1:$
|test_a.py::|```$|$| |\t|İ|\u2028"""


@pytest.mark.parametrize("line", LINES.replace("\n", "").replace("$", "\n").split("|"))
def test_repetitive_texts_are_read_in_linear_time(line):
    """A pattern with backtracking, or a quadratic scan, would take half a minute for these."""
    text, started = (line * (20_000 // len(line)))[:20_000], time.process_time()
    assert judged("recon", ask("recon", text), text)["recon_valid"].passed
    assert time.process_time() - started < 4  # A tenth of a second on a quiet machine.


def test_a_text_of_a_megabyte_is_read():
    text = "\n\n".join([PROBLEMS["login_timeout"], *["The parser must not fail when it is slow."] * 24_000])
    assert len(text) > 1_000_000
    assert "src/auth/session_store.py" in ask("plan", text)["steps"][1]["name"]
