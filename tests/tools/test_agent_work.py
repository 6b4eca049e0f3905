"""What an agent may change: which paths, links and numbers of files are refused, as a table."""

import pytest

from actors.tools.agent_work import (
    AgentWork,
    TreeChange,
    changes_in,
    diff_use,
    earlier_attempts,
    list_paths,
    merge_use,
    refusal,
)

FILE, LINK, SUBMODULE, GONE = "100644", "120000", "160000", "000000"


def change(path, new_mode=FILE, old_mode=GONE):
    return TreeChange(path, old_mode, new_mode, "0" * 40, "1" * 40)


@pytest.mark.parametrize(
    "path", [b"a", b"a/b.py", b".github/workflows/x.yml", b".gitignore", b"a/.gitmodules", b"\xc3\xa4"]
)
def test_ordinary_paths_are_accepted(path):
    assert refusal([change(path)], {}, 1) == ""


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        (b".git/config", "it changes a file that belongs to git"),
        (b"a/.GIT/hooks/pre-commit", "it changes a file that belongs to git"),
        (b"a/.git. ", "it changes a file that belongs to git"),
        (b"git~1/config", "it changes a file that belongs to git"),
        (b".gitmodules", "it changes a submodule"),
        (b"\xff", "is not UTF-8"),
        (b"a\nb", "should be a path without control characters"),
        (b"../a", "should stay below the workspace"),
        (b"/etc/passwd", "should be a path below the workspace"),
        (b"-rf", "begins with '-', so a program may take it for an option"),
    ],
)
def test_paths_that_lead_elsewhere_are_refused(path, cause):
    assert cause in refusal([change(path)], {}, 1)


@pytest.mark.parametrize("modes", [(SUBMODULE, GONE), (GONE, SUBMODULE), (FILE, SUBMODULE)])
def test_a_submodule_is_refused_wherever_it_comes_or_goes(modes):
    assert refusal([change(b"lib", *modes)], {}, 1) == "it changes a submodule: 'lib'"


@pytest.mark.parametrize(
    ("path", "target", "accepted"),
    [
        (b"a", b"b", True),
        (b"a/b", b"../c", True),
        (b"a/b", b"../../c", False),
        (b"a", b"..", False),
        (b"a", b"/etc/passwd", False),
        (b"a", b"b/../../c", False),
        (b"a", b"b/../c", False),  # Where `b` is a link to a folder above, it leads out.
        (b"a/b/c", b".././../c//d", True),
        (b"a", b".git/config", False),
        (b"a", b"", False),
    ],
)
def test_a_link_is_accepted_where_its_target_is_inside(path, target, accepted):
    problem = refusal([change(path, LINK)], {path: target}, 1)
    assert bool(problem) is not accepted


def test_a_link_whose_target_is_not_known_is_refused():
    assert "leads out" in refusal([change(b"a", LINK)], {}, 1)


def test_a_link_may_be_removed():
    assert refusal([change(b"a", GONE, LINK)], {}, 1) == ""


def test_more_files_than_are_allowed_are_refused():
    assert refusal([change(b"a"), change(b"b")], {}, 1) == "it changes 2 files, over the limit of 1 (max_files)"


def test_the_raw_output_of_git_is_read():
    zeros, ones = "0" * 40, "1" * 40
    output = f":000000 100644 {zeros} {ones} A\0a b\0:100644 000000 {ones} {zeros} D\0c\0".encode()
    assert changes_in(output) == (
        TreeChange(b"a b", GONE, FILE, zeros, ones),
        TreeChange(b"c", FILE, GONE, ones, zeros),
    )
    assert changes_in(b"") == ()


def test_both_calls_may_be_made_again_and_are_not_asked_about():
    for use in (diff_use("n", "b", 1, 2), merge_use("n", "b", "c")):
        assert (use.repeatable, use.risky) == (True, False)


def test_the_attempts_before_one_are_those_of_its_visit():
    assert earlier_attempts("fix/r1.v2.a3") == ("fix/r1.v2.a1", "fix/r1.v2.a2")
    assert earlier_attempts("fix/r1.v2.a1") == earlier_attempts("") == ()


def test_few_paths_are_named_and_the_others_counted():
    assert list_paths(list("abcdefg")) == "a, b, c, d, e and 2 more"
    assert AgentWork.model_validate_json('{"base":"b","commit":"c","files":["a"],"diff":""}').files == ("a",)
