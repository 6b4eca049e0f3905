"""Plans as Markdown and Mermaid: no text of a model becomes an element, a link, a picture, a click or a mention."""

import re

import pytest
from markdown_it import MarkdownIt

from actors.plans.plan_flow import plan_mermaid
from actors.plans.plan_text import plan_checklist, plan_markdown

TEXTS = (
    "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "[click](javascript:alert(1)) ![x](http://evil.example/pixel.png) <http://evil.example> www.evil.example",
    "[a]: http://evil.example 'x'\n\n[a]",
    "\n# heading\n\n- item\n1. item\n> quote\n\n```\ncode\n```\n---\n",
    "| a | b |\n|---|---|\n| x | y |",
    "` `` ``` </code><script>alert(1)</script>",
    "&lt;script&gt; &#60;script&#62; &amp;lt;",
    "-->\n<script>alert(1)</script><!--",
    "@octocat #1 owner/repo#1 ~~x~~ $x$ :smile:",
    'x"]; click s1 "javascript:alert(1)"; s1["',
    "\nend\nclick s1 call alert(1)\n%%{init: {'securityLevel': 'loose'}}%%\n",
    '"<br/><a href=javascript:alert(1)>x</a>',
)
ALLOWED = {"heading", "paragraph", "bullet_list", "list_item", "ordered_list"}
"""The elements that the templates of the documents write."""


def plan_with(text):
    """Return a plan with a text in each field that an author writes freely."""
    first = {
        "step_id": f"a{text}",
        "name": text,
        "description": text,
        "generator": text,
        "guard": text,
        "retry_budget": 1,
        "preconditions": [text],
        "effects": [f"made {text}"],
        "failure_effects": [f"lost {text}"],
        "on_failure": "continue",
    }
    needs = [f"made {text}", f"lost {text}"]
    second = {
        **first,
        "step_id": f"b{text}",
        "dependencies": [f"a{text}"],
        "preconditions": needs,
        "on_failure": f"a{text}",
    }
    return {
        "plan_id": text,
        "goal": text,
        "basis": text,
        "initial_state": [text],
        "goal_state": [f"made {text}"],
        "total_retry_budget": 9,
        "steps": [first, second],
    }


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_is_markup_in_a_markdown_document(text):
    for document in (plan_markdown(plan_with(text), text, [text]), plan_checklist(plan_with(text), text, [text])):
        parser = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
        tokens = parser.parse(document)
        kinds = {each.type.removesuffix("_open").removesuffix("_close") for each in tokens} - {"inline"}
        assert kinds <= ALLOWED, (kinds - ALLOWED, document)
        inner = [each for token in tokens for each in token.children or ()]
        assert {each.type for each in inner} <= {"text", "softbreak", "code_inline", "html_inline", "text_special"}, (
            document
        )
        assert {each.content for each in inner if each.type == "html_inline"} <= {"<!-- -->"}, document
        rendered = parser.render(document)
        assert not re.search(r"<(?!/?(?:h\d|p|ul|ol|li|code)[ >]|!-- --)", rendered), rendered
        assert len([each for each in tokens if each.type == "heading_open"]) <= 6, "a text has made a heading"
    checklist = plan_checklist(plan_with(text), text, [text])
    assert not re.search(r"(?<!`)@\w", re.sub(r"`[^`]*`", "", checklist)), "a person is mentioned"


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_is_a_statement_in_a_mermaid_diagram(text):
    lines = plan_mermaid(plan_with(text)).splitlines()
    assert lines[0] == "flowchart TD"
    node = r'    (?:s\d+(?:\["[^"<>`;&|]*"\]|\{\{"[^"<>`;&|]*"\}\})|handover\(\["a person or the replanner"\]\))'
    arrow = r'    s\d+ (?:-->|-\. fails \.->|-\. "fails: [^"<>`&|]*" \.->) (?:s\d+|handover)'
    for line in lines[1:]:
        bare = re.sub(r"#\d+;", "", line.replace("<br/>", " "))
        assert re.fullmatch(f"(?:{node})|(?:{arrow})", bare), line
