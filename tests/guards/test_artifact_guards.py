"""The guards of analysis, recon, strategy and critique: what they accept and report, and that they are total."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.guards import critique, fields, recon, strategy
from actors.values.artifacts import Artifact, Clarified, Context
from actors.values.findings import Code
from actors.values.open_questions import QUESTIONS_SCHEMA
from actors.values.requirements import requirement_id
from runtime.core.errors import UsageProblem

TEXT = "The parser in src/parser.py fails:\n  `Parser.run()` loses\n  rows. See tests/test_parser.py."
MAKERS = {
    "analysis": strategy.make_analysis_valid,
    "recon": recon.make,
    "strategy": strategy.make_strategy_valid,
    "critique": critique.make_critique_valid,
}
GOOD = {
    "analysis": {
        "problem_type": "bug_fix",
        "language": "python",
        "severity": "high",
        "key_signals": ["fails"],
        "affected_area": "src/parser.py",
        "rationale": "It says so.",
    },
    "recon": {
        "mentioned_files": ["src/parser.py"],
        "stack_traces": [],
        "apis_involved": ["Parser.run()"],
        "test_references": ["tests/test_parser.py"],
        "reproduction_steps": [],
        "constraints_mentioned": [],
        "requirements": [],
    },
    "strategy": {
        "strategy_id": "S1_locate_and_fix",
        "strategy_name": "Locate and fix",
        "rationale": "It is a bug.",
        "key_steps": ["look"],
        "expected_guards": ["dynamic_test"],
        "risk_factors": [],
    },
    "critique": {
        "overall_assessment": "needs_revision",
        "problem_type_match": "yes",
        "missing_steps": ["a test"],
        "unnecessary_steps": [],
        "ordering_issues": [],
        "guard_appropriateness": [],
        "specific_suggestions": [],
    },
}
CASES = [(name, key) for name, good in GOOD.items() for key in good]
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


def judge(name, value, *, text=TEXT, answers=(), rejected_for=(), **config):
    """Return a guard's verdict on a JSON value, or on raw content if it is a string."""
    content = value if isinstance(value, str) else json.dumps(value)
    artifact = Artifact(artifact_id="a1", step=f"g_{name}", content=content)
    clarifications = tuple(Clarified("?", answer) for answer in answers)
    context = Context(specification=text, clarifications=clarifications, rejected_for=frozenset(rejected_for))
    return MAKERS[name](config)(artifact, context)


def findings_of(verdict):
    """Return the verdict's findings as (code, where, severity)."""
    return [(finding.code, finding.where, finding.severity) for finding in verdict.findings]


@pytest.mark.parametrize("name", MAKERS)
def test_a_good_artifact_passes_without_findings(name):
    verdict = judge(name, GOOD[name])
    assert (verdict.passed, verdict.score, verdict.findings, verdict.guard) == (True, 1.0, (), f"{name}_valid")


@pytest.mark.parametrize(("name", "key"), [case for case in CASES if case[1] != "problem_type_match"])
def test_a_missing_field_is_named(name, key):
    without = {field: value for field, value in GOOD[name].items() if field != key}
    for value in (without, {**without, key: None}):
        verdict = judge(name, value)
        assert not verdict.passed
        assert verdict.score < 1
        assert (Code.MISSING, key, "error") in findings_of(verdict)


@pytest.mark.parametrize(("name", "key"), CASES)
def test_a_wrong_type_is_named(name, key):
    verdict = judge(name, {**GOOD[name], key: {"a": 1}})
    kind = "list" if isinstance(GOOD[name][key], list) else "text"
    assert (Code.TYPE, key, "error") in findings_of(verdict)
    assert verdict.findings[0].message == f"{key} must be a {kind}, not an object"


LISTS_OF_TEXTS = [
    (name, key) for name, key in CASES if isinstance(GOOD[name][key], list) and (name, key) != ("recon", "requirements")
]


@pytest.mark.parametrize(("name", "key"), LISTS_OF_TEXTS)
def test_every_bad_item_of_a_list_is_named(name, key):
    """A text in place of a list is not split into its characters."""
    verdict = judge(name, {**GOOD[name], key: ["fails", 3, " "]})
    assert (Code.TYPE, f"{key}[1]", "error") in findings_of(verdict)
    assert (Code.EMPTY, f"{key}[2]", "error") in findings_of(verdict)
    assert (Code.TYPE, key, "error") in findings_of(judge(name, {**GOOD[name], key: "fails"}))


@pytest.mark.parametrize(
    ("name", "key"),
    [("analysis", "key_signals"), ("strategy", "key_steps"), ("strategy", "expected_guards"), ("analysis", "rationale"),
     ("analysis", "affected_area"), ("strategy", "strategy_name"), ("strategy", "rationale")],
)  # fmt: skip
def test_these_must_not_be_empty(name, key):
    empty = [] if isinstance(GOOD[name][key], list) else "  "
    assert (Code.EMPTY, key, "error") in findings_of(judge(name, {**GOOD[name], key: empty}))


@pytest.mark.parametrize(
    ("name", "key", "bad"),
    [("analysis", "problem_type", "bug"), ("analysis", "severity", "worst"), ("strategy", "strategy_id", "S6"),
     ("critique", "overall_assessment", "fine"), ("analysis", "language", "Python"),
     ("analysis", "language", 41 * "x")],
)  # fmt: skip
def test_a_value_outside_of_the_closed_set_is_named(name, key, bad):
    assert findings_of(judge(name, {**GOOD[name], key: bad})) == [(Code.CHOICE, key, "error")]


def test_all_findings_come_at_once():
    verdict = judge("analysis", {"problem_type": "bug", "severity": 3, "key_signals": [], "note": 1})
    assert {(code, where) for code, where, _ in findings_of(verdict)} == {
        (Code.CHOICE, "problem_type"),
        (Code.MISSING, "language"),
        (Code.TYPE, "severity"),
        (Code.EMPTY, "key_signals"),
        (Code.MISSING, "affected_area"),
        (Code.MISSING, "rationale"),
        (Code.UNKNOWN, "note"),
    }
    assert verdict.score == 0


def test_the_score_is_the_share_of_checks_that_passed():
    one_missing = {**GOOD["analysis"], "language": None}
    three_missing = {**one_missing, "severity": None, "rationale": None}
    assert 1 > judge("analysis", one_missing).score > judge("analysis", three_missing).score > 0


@pytest.mark.parametrize("name", MAKERS)
def test_unknown_keys_warn_and_do_not_reject(name):
    verdict = judge(name, {**GOOD[name], "note": "x"})
    assert verdict.passed
    assert verdict.score == 1
    assert findings_of(verdict) == [(Code.UNKNOWN, "note", "warning")]


@pytest.mark.parametrize("name", MAKERS)
def test_open_questions_reject_with_the_question_as_the_message(name):
    verdict = judge(name, {**GOOD[name], "open_questions": ["Which page?", "Since when?"]})
    assert not verdict.passed
    assert findings_of(verdict) == [(Code.OPEN_QUESTION, f"open_questions[{index}]", "error") for index in (0, 1)]
    assert [finding.message for finding in verdict.errors] == ["Which page?", "Since when?"]
    assert judge(name, {**GOOD[name], "open_questions": []}).findings == ()


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "reply.empty"),
        ("no JSON", "reply.not_json"),
        ("[1]", Code.NOT_OBJECT),
        ("3", Code.NOT_OBJECT),
        ('"x"', Code.NOT_OBJECT),
    ],
)
def test_content_that_is_not_an_object_has_one_finding(name, content, code):
    verdict = judge(name, content)
    assert [finding.code for finding in verdict.findings] == [code]
    assert verdict.score == 0


@pytest.mark.parametrize("name", MAKERS)
@given(data=st.data())
def test_guards_are_total_over_any_json(name, data):
    """Any JSON value, and a good artifact with some fields replaced by any JSON value, gets a verdict."""
    changes = st.dictionaries(st.sampled_from(sorted(GOOD[name])), JSON)
    value = data.draw(JSON | changes.map(lambda change: {**GOOD[name], **change}))
    verdict = judge(name, value)
    assert verdict.passed == (not verdict.errors)
    assert (verdict.score == 1) == verdict.passed
    assert judge(name, value) == verdict


@pytest.mark.parametrize("key", sorted(recon.LITERAL))
def test_names_that_are_not_in_the_text_were_invented(key):
    verdict = judge("recon", {**GOOD["recon"], key: ["src/parser.py", "src/lexer.py"]})
    (finding,) = verdict.findings
    assert (finding.code, finding.where, finding.tokens) == (Code.NOT_IN_TEXT, f"{key}[1]", ("src/lexer.py",))
    assert finding.severity == "warning"
    assert verdict.passed


def test_a_recon_in_which_nothing_is_real_is_rejected():
    """Each invented name is an error; a summary that is not in the text stays a warning."""
    nothing = {key: [] for key in (*fields.RECON_LISTS, "requirements")}
    verdict = judge("recon", {**nothing, "mentioned_files": ["src/lexer.py"], "constraints_mentioned": ["be kind"]})
    assert not verdict.passed
    assert findings_of(verdict) == [
        (Code.NOT_IN_TEXT, "mentioned_files[0]", "error"),
        (Code.NOT_IN_TEXT, "constraints_mentioned[0]", "warning"),
    ]


@pytest.mark.parametrize("invented", [{"apis_involved": ["session.execute"]}, {"requirements": ["nowhere"]}])
def test_a_recon_in_which_nothing_is_real_is_rejected_once_in_a_run(invented):
    """The second time each invented item is a warning, and later steps see none of them."""
    nothing = {key: [] for key in (*fields.RECON_LISTS, "requirements")}
    if quotes := invented.get("requirements"):
        stated = [{"kind": "goal", "text": "Do it.", "quote": quote, "source": "problem"} for quote in quotes]
        invented = {"requirements": stated}
    (key,) = invented
    value = {**nothing, **invented}
    assert findings_of(judge("recon", value)) == [(Code.NOT_IN_TEXT, f"{key}[0]", "error")]
    assert not judge("recon", value, rejected_for=[Code.MISSING]).passed
    again = judge("recon", value, rejected_for=[Code.MISSING, Code.NOT_IN_TEXT])
    assert findings_of(again) == [(Code.NOT_IN_TEXT, f"{key}[0]", "warning")]
    assert again.passed
    assert "the item is left out" in again.findings[0].message
    artifact = Artifact(artifact_id="a", step="g", content=json.dumps(value))
    assert recon.normalise_artifact(artifact, again.findings).value.value == nothing


def test_later_steps_see_no_invented_name():
    value = {
        **GOOD["recon"],
        "mentioned_files": ["src/lexer.py", "src/parser.py"],
        "stack_traces": ["in short, a mess"],
    }
    artifact = Artifact(artifact_id="a", step="g", content=json.dumps(value))
    seen = recon.normalise_artifact(artifact, judge("recon", value).findings)
    assert seen.value.value == {**value, "mentioned_files": ["src/parser.py"]}
    good = Artifact(artifact_id="a", step="g", content=json.dumps(GOOD["recon"]))
    assert recon.normalise_artifact(good, ()) is good


def test_a_recon_without_a_list_of_requirements_lacks_a_field():
    """An empty list says that the text demands nothing, which can be compared; without a list nothing can."""
    value = {key: item for key, item in GOOD["recon"].items() if key != "requirements"}
    assert findings_of(judge("recon", value)) == [(Code.MISSING, "requirements", "error")]
    assert judge("recon", {**value, "requirements": []}).passed


def test_requirements_are_quoted_and_get_their_ids_from_the_quote():
    real = {"kind": "goal", "text": "Run.", "quote": "Parser.run()", "source": "problem", "id": "mine"}
    value = {**GOOD["recon"], "requirements": [{**real, "quote": "nowhere"}, real, {"kind": "wish", "quote": "x"}]}
    verdict = judge("recon", value)
    assert verdict.passed
    assert findings_of(verdict) == [
        (Code.TYPE, "requirements[2]", "warning"),
        (Code.NOT_IN_TEXT, "requirements[0]", "warning"),
    ]
    artifact = Artifact(artifact_id="a", step="g", content=json.dumps(value))
    shown = recon.normalise_artifact(artifact, verdict.findings).value.value["requirements"]
    assert shown == [{**real, "id": requirement_id("Parser.run()")}]
    assert requirement_id("Parser.run()") == requirement_id("\n Parser.run() ")


def test_steps_and_goals_that_name_requirements_by_their_authors_ids_get_the_made_ones():
    goals = [{"kind": "goal", "text": "Run.", "quote": "Parser.run()", "source": "problem", "id": "mine"}]
    goals += [
        {"kind": "goal", "text": "Stop.", "quote": "Stop", "source": "problem", "id": "x", "depends_on": ["mine"]}
    ]
    plan = {"requirements": goals, "steps": [{"step_id": "a", "satisfies": ["mine", "other"]}, {"step_id": "b"}, "c"]}
    artifact = Artifact(artifact_id="a", step="g", content=json.dumps(plan))
    seen = recon.normalise_artifact(artifact, ()).value.value
    made = requirement_id("Parser.run()")
    assert seen["steps"] == [{"step_id": "a", "satisfies": [made, "other"]}, {"step_id": "b"}, "c"]
    assert [goal.get("depends_on") for goal in seen["requirements"]] == [None, [made]]


def test_an_author_that_does_not_understand_says_nothing_else():
    verdict = judge("recon", {"not_understood": "It is about a cat."})
    assert findings_of(verdict) == [(Code.NOT_UNDERSTOOD, "not_understood", "error")]
    asking = judge("recon", {**GOOD["recon"], "not_understood": "Of what?", "open_questions": ["Of what?"]})
    assert findings_of(asking) == [
        (Code.NOT_UNDERSTOOD, "not_understood", "warning"),
        (Code.OPEN_QUESTION, "open_questions[0]", "error"),
    ]


@pytest.mark.parametrize("key", sorted(set(fields.RECON_LISTS) - recon.LITERAL))
def test_summaries_that_are_not_in_the_text_only_warn(key):
    verdict = judge("recon", {**GOOD["recon"], key: ["it loses data"]})
    assert verdict.passed
    assert findings_of(verdict) == [(Code.NOT_IN_TEXT, f"{key}[0]", "warning")]


def test_white_space_is_folded_and_case_is_not():
    assert not judge("recon", {**GOOD["recon"], "apis_involved": ["`Parser.run()` loses rows."]}).findings
    assert judge("recon", {**GOOD["recon"], "apis_involved": ["parser.run()"]}).findings


def test_answers_count_as_text_but_each_on_its_own():
    value = {**GOOD["recon"], "apis_involved": ["Lexer.next", "tail"]}
    assert len(judge("recon", value).findings) == 2
    assert not judge("recon", value, answers=["It is Lexer.next", "and tail"]).findings
    assert judge(
        "recon", {**GOOD["recon"], "apis_involved": ["next and"]}, answers=["It is Lexer.next", "and tail"]
    ).findings


def test_finding_nothing_is_a_warning():
    """A short text may contain no names."""
    verdict = judge("recon", {key: [] for key in (*fields.RECON_LISTS, "requirements")})
    assert verdict.passed
    assert findings_of(verdict) == [(Code.NOTHING_FOUND, "", "warning")]


def test_a_list_that_is_too_long_is_rejected_without_reading_it():
    verdict = judge("recon", {**GOOD["recon"], "mentioned_files": ["src/parser.py"] * (recon.ITEMS_MAX + 1)})
    assert findings_of(verdict) == [(Code.TYPE, "mentioned_files", "error")]


def test_the_searches_of_recon_are_limited_together(monkeypatch):
    """Thousands of long items in a long text took a quarter of a minute. Equal items are searched for once."""
    monkeypatch.setattr(recon, "SEARCH_MAX", 2 * (len(TEXT) + 100))
    value = {**GOOD["recon"], "mentioned_files": ["src/parser.py"] * 50, "test_references": ["tests/test_parser.py"]}
    assert judge("recon", {**value, "apis_involved": []}).passed
    (finding,) = judge("recon", {**value, "apis_involved": ["Parser.run()"]}).errors
    assert (finding.code, finding.where) == (Code.TOO_LARGE, "test_references")


def test_a_critique_must_say_something():
    without_remarks = {key: [] if isinstance(value, list) else value for key, value in GOOD["critique"].items()}
    assert findings_of(judge("critique", without_remarks)) == [(Code.EMPTY, "", "error")]
    assert judge(
        "critique", {key: value for key, value in GOOD["critique"].items() if key != "problem_type_match"}
    ).passed


def test_settings_restrict_languages_and_add_strategies():
    swift = {**GOOD["analysis"], "language": "swift"}
    assert judge("analysis", swift).passed
    assert not judge("analysis", swift, languages=["python", "java"]).passed
    assert judge("analysis", GOOD["analysis"], languages=["python", "java"]).passed
    own = {**GOOD["strategy"], "strategy_id": "S9_own"}
    assert not judge("strategy", own).passed
    assert judge("strategy", own, strategies=["S9_own"]).passed
    assert judge("strategy", GOOD["strategy"], strategies=["S9_own"]).passed


@pytest.mark.parametrize(
    ("name", "config", "words"),
    [
        ("analysis", {"langages": ["python"]}, "did you mean 'languages'"),
        ("analysis", {"languages": "python"}, "must be a list of at least one name"),
        ("analysis", {"languages": []}, "must be a list of at least one name"),
        ("strategy", {"strategies": [3]}, "must be a list of at least one name"),
        ("recon", {"x": ["y"]}, "this guard has no settings"),
        ("critique", {"x": ["y"]}, "guard_config of critique_valid: x"),
    ],
)
def test_bad_settings_give_one_line(name, config, words):
    with pytest.raises(UsageProblem) as problem:
        MAKERS[name](config)
    assert words in str(problem.value)


@pytest.mark.parametrize(
    "schema", [fields.ANALYSIS_SCHEMA, fields.RECON_SCHEMA, fields.STRATEGY_SCHEMA, fields.CRITIQUE_SCHEMA]
)
def test_schemas_keep_to_the_strict_subset(schema):
    """All properties are required, no others are allowed, and strict structured output accepts every keyword."""
    assert schema["properties"]["open_questions"] is QUESTIONS_SCHEMA
    for closed in (schema, QUESTIONS_SCHEMA["items"]):
        assert closed["additionalProperties"] is False
        assert closed["required"] == list(closed["properties"])
        for field in closed["properties"].values():
            assert set(field) <= {"type", "items", "enum"}


def test_schemas_follow_the_settings():
    assert fields.analysis_schema(["go"])["properties"]["language"]["enum"] == ["go"]
    assert "S9_own" in fields.strategy_schema(["S9_own"])["properties"]["strategy_id"]["enum"]
