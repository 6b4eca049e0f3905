"""Every page with commands can be followed as it is rendered: from an empty folder, by pasting what the page shows."""

import html
import re
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from packages.server.tests.support.postgres import required
from replan.cli.commands.explain import terms
from tests.docs.blocks import FENCE, ROOT, Block, blocks, has_fence, pages, rendered
from tests.docs.reader import RUN_ID, Reader, difference
from tests.support.openai_server import Answer, by_step, serve
from tests.support.question_form import breaches_below

FOLLOWED = [page for page in pages() if has_fence(page, "sh")]
TEACHING = [page for page in FOLLOWED if page.parent.name in ("tutorial", "how-to") or page.name == "README.md"]
"""The pages that people begin with."""
LANGUAGES = {"sh", "text", "console", "yaml", "toml", "json", "python", "mermaid"}
ASKING = {"talk-to-a-run.md": 2, "fill-a-schema.md": 1}
"""The least number of questions that a page asks, which have the form; so the test sees them."""
SERVED = {"back-up.md": ("pg_dump", "pg_restore", "psql"), "run-workers.md": (), "use-postgres.md": ()}
"""The pages that need a server of databases, with its programs that they use."""
EXCERPTS = {"add-a-gate.md", "look-at-traces.md", "send-to-slack.md", "write-a-plug-in.md"}
"""The pages whose code other tests run, and the one whose commands need servers of others."""
ELSEWHERE = {*SERVED, "first-agent.md", "send-to-slack.md"}
"""The pages that other tests follow."""

MAKE = """#!/bin/sh
case "$1" in
setup) mkdir -p .venv/bin && : > .venv/bin/activate ;;
run) make setup && {recipe} ;;
*) exit 2 ;;
esac
"""
"""The command `make`: what a checkout's would set up is there already."""


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def recipe():
    """Return the command that `make run` runs, in a folder of its own."""
    makefile = (ROOT / "Makefile").read_text()
    return re.search(r"\$\(BIN\)/(replan do .+)$", makefile, re.MULTILINE)[1].replace("$$", "$")


def write_command(path, text):
    path.write_text(text)
    path.chmod(0o700)


@pytest.fixture
def programs(warm):
    """The folder with the programs `replan`, `python` and `make`."""
    write_command(warm / "make", MAKE.format(recipe=recipe()))
    return warm


@pytest.fixture
def empty():
    """A folder with a short path, since the name of a socket has a limit."""
    with tempfile.TemporaryDirectory(prefix="rp") as folder:
        yield Path(folder)


@pytest.fixture
def server():
    """A model server that knows the problem of the pages; it serves any number of runs."""
    replies = {step: Answer.value(value) for step, value in REPLIES.items()}
    models = Answer.json({"object": "list", "data": [{"id": "qwen3:8b", "object": "model"}]})
    with serve(by_step(replies), models=lambda _: models) as running:
        yield running


REPLIES = {
    "g_analysis": {
        "problem_type": "bug_fix",
        "language": "python",
        "severity": "high",
        "key_signals": ["leaves out the last order"],
        "affected_area": "shop/export.py",
        "rationale": "The text describes a defect and where it shows.",
        "open_questions": [],
    },
    "g_recon": {
        "mentioned_files": ["shop/export.py"],
        "stack_traces": [],
        "apis_involved": [],
        "test_references": [],
        "reproduction_steps": [],
        "constraints_mentioned": [],
        "requirements": [],
        "open_questions": [],
    },
    "g_strategy": {
        "strategy_id": "S1_locate_and_fix",
        "strategy_name": "Locate and fix",
        "rationale": "A test with two pages shows the cause.",
        "key_steps": ["Write a test with two pages", "Fix it"],
        "expected_guards": ["dynamic_test", "all_tests_pass"],
        "risk_factors": [],
        "open_questions": [],
    },
    "g_plan": {
        "plan_id": "export_fix",
        "initial_state": ["repository"],
        "goal_state": ["fixed"],
        "total_retry_budget": 6,
        "steps": [
            {
                "step_id": "pin",
                "name": "Write a test with two pages",
                "generator": "tester",
                "guard": "dynamic_test",
                "retry_budget": 2,
                "preconditions": ["repository"],
                "effects": ["cause_known"],
            },
            {
                "step_id": "fix",
                "name": "Fix the loop",
                "generator": "coder",
                "guard": "all_tests_pass",
                "retry_budget": 2,
                "dependencies": ["pin"],
                "preconditions": ["cause_known"],
                "effects": ["fixed"],
            },
        ],
    },
}


@pytest.mark.parametrize("page", [page for page in FOLLOWED if page.name not in ELSEWHERE], ids=name_of)
def test_a_page_can_be_followed_as_it_is_rendered(page, programs, empty, server):
    """All commands are pasted, in order; each succeeds or says its exit code, and prints what the page shows.

    Every question that a run of the page has asked has the form of questions.
    """
    with Reader(empty, programs, server.base_url) as reader:
        for block in blocks(page):
            reader.follow(block)
    breaches, asked = breaches_below(empty)
    assert breaches == []
    assert asked >= ASKING.get(page.name, 0)


@pytest.mark.parametrize("page", [page for page in FOLLOWED if page.name in SERVED], ids=name_of)
def test_a_page_that_needs_a_server_of_databases_can_be_followed(page, database_server, empty, tmp_path, warm):
    names = SERVED[page.name]
    for name, path in (("replan", warm / "replan"), *zip(names, required(*names), strict=True)):
        (tmp_path / name).symlink_to(path)
    drops = [f"DROP DATABASE IF EXISTS {name}" for name in ("restored", "replan")]
    database_server.execute("postgres", *drops, "CREATE DATABASE replan")
    with Reader(empty, tmp_path) as reader:
        for block in blocks(page):
            body = block.body.replace("db.example.com:5432", f"127.0.0.1:{database_server.port}")
            reader.follow(replace(block, body=body))


@pytest.mark.parametrize("page", FOLLOWED, ids=name_of)
def test_a_page_shows_all_that_a_reader_needs(page):
    """Nothing is said beside a fence's language, no other language has commands, and output follows its command."""
    assert [match["info"] for match in FENCE.finditer(page.read_text("utf-8")) if len(match["info"].split()) != 1] == []
    shown = blocks(page)
    assert {block.language for block in shown} <= LANGUAGES
    for before, block in zip([None, *shown], shown, strict=False):
        assert block.language != "text" or before.language in ("sh", "text"), block.place
        assert block.language == "sh" or not re.search(r"^\$ ", block.body, re.MULTILINE), block.place


@pytest.mark.parametrize("page", TEACHING, ids=name_of)
def test_no_command_of_a_page_for_beginners_has_an_id_to_replace(page):
    """A run is named by `--last` or by a variable that a command sets."""
    assert [block.place for block in blocks(page) if block.language == "sh" and RUN_ID in block.body] == []


PICTURED = {
    "README.md": "it shows the one page that says most at a glance",
    "use-the-web-page.md": "it is about pages that are looked at; its commands are text, as everywhere",
}
"""The pages that have pictures, and why."""


@pytest.mark.parametrize("page", TEACHING, ids=name_of)
def test_a_page_for_beginners_has_no_pictures(page):
    """A recording cannot be copied, read aloud or tested; a picture that is needed says in words what it shows."""
    if page.name in PICTURED:
        pictures = re.findall(r"<img [^>]*>", page.read_text("utf-8"))
        assert pictures
        assert all(len(re.findall(r'alt="([^"]{40,})"', each)) == 1 for each in pictures)
    else:
        assert "img" not in rendered(page).tags


SHOWN_TERMS = re.compile(
    r"\[(?P<guard>[a-z]\w+)\]|(?:accepted|rejected) by (?P<judge>\w+)|(?:No plan|finished): (?P<outcome>\w+)"
    r"|=> (?P<level>\w+)|by rule (?P<row>\w+)|(?P<code>\b(?:plan|reply|recon|field|requirements)\.\w+)"
    r"|at level (?P<depth>\w+)|assurance (?P<assurance>\w+)"
)
"""How the terms of the program show in its output."""


@cache
def known_terms():
    """Return the names of all terms that can be explained."""
    return {term.name for term in terms()}


@pytest.mark.parametrize("page", FOLLOWED, ids=name_of)
def test_every_term_in_shown_output_is_explained(page):
    """`replan explain TERM` knows it, or the page itself defines it."""
    known = known_terms()
    defined = "\n".join(block.body for block in blocks(page) if block.language == "sh")
    shown = "\n".join(block.body for block in blocks(page) if block.language == "text")
    used = {match[match.lastgroup] for match in SHOWN_TERMS.finditer(shown)}
    assert {term for term in used if term not in known and term not in defined} == set()


def test_the_front_page_and_the_tutorial_say_how_terms_are_explained():
    for page in TEACHING[0], ROOT / "docs" / "tutorial" / "first-plan.md":
        assert any("replan explain " in block.body for block in blocks(page) if block.language == "sh"), page


def test_the_pages_that_teach_are_followed():
    """A parser that found no blocks would let all pages pass."""
    assert [page for page in pages() if any(block.language == "sh" for block in blocks(page))] == FOLLOWED
    names = {name_of(page) for page in FOLLOWED}
    assert {"README.md", "docs/tutorial/first-plan.md"} <= names
    guides = [page for page in pages() if page.parent.name == "how-to"]
    assert {name_of(page) for page in guides if page.name not in EXCERPTS} <= names


def test_a_block_is_what_a_reader_copies(tmp_path):
    """Entities are characters again; comments, and words after a fence's language, are not there."""
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b`\n\n<!-- sh -->\n```sh test file=x\ncat <<'EOF' && echo \"1 > 0\"\nEOF\n```\n\n`x`\n\n    y\n"
    )
    assert blocks(page) == [Block("sh", "cat <<'EOF' && echo \"1 > 0\"\nEOF\n", "A b"), Block("", "y\n", "A b")]


def test_a_reader_notices_what_is_wrong(empty, programs):
    with Reader(empty, programs) as reader:
        assert reader.paste("X=1\ncd /")
        assert reader.paste('echo "$X $PWD"\n')
        assert reader.printed == "1 /\n"
        assert reader.paste('false || echo "exit code $?"\n')
        assert reader.printed == "exit code 1\n"
        assert not reader.paste("echo before\nfalse\necho after\n")
        assert reader.printed == "before\n"


@pytest.mark.parametrize(
    ("shown", "printed", "missing"),
    [
        ("a\nb\n", "x\nb\na\ny\n", None),
        ("a\n...\nb\n", "a\nx\nb\n", None),
        ("a\n...\nb\n", "b\nx\na\n", ["b"]),
        ("a\nb\n", "a\nx\nb\n", ["a", "b"]),
        ("run k7m2x9qa 10:00:00 7 tokens at most", "run   abcdefg2 23:59:59 1,234 tokens at most", None),
        ("run k7m2x9qa", "run abc", ["run k7m2x9qa"]),
        ("a ...", "a (b)", None),
        ("a.c", "abc", ["a.c"]),
    ],
)
def test_shown_lines_are_compared(shown, printed, missing):
    assert difference(shown, printed) == missing


@pytest.mark.parametrize("name", ["run", "run-dark"])
def test_the_recording_of_the_readme_shows_what_its_text_shows_and_loads_nothing(name):
    """After a change of what the example prints: `make recording`."""
    image = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    ET.fromstring(image)
    assert "url(http" not in image
    assert "href" not in image
    texts = re.findall(r'<text [^>]*y="([\d.]+)"[^>]*>(.*?)</text>', image)
    rows = {place: "" for place, _ in texts}
    for place, text in texts:
        rows[place] += html.unescape(text).replace("\xa0", " ")
    shown = next(block.body for block in blocks(ROOT / "README.md") if "all met" in block.body)
    plain = "\n".join(line for line in shown.splitlines() if not re.match(r"\d\d:\d\d:\d\d ", line))
    assert difference(plain, "\n".join(rows.values())) is None
