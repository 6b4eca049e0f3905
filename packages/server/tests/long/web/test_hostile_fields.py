"""Markup in every field that a model or a user can fill, read from the models: the pages show it as text.

The module takes about 30 s: it fills nearly three hundred fields in some forty runs, and reads all their pages.
"""

import re
from dataclasses import dataclass
from html.parser import HTMLParser

import pytest

from packages.server.tests.long.web.browsing import check_quiet, signed_in
from packages.server.tests.web.hostile_fields import EVIL, chosen, leaves
from packages.server.tests.web.world import served
from replan_server.web import rendering
from replan_server.web.api_routes import addressed_operations
from replan_server.web.run_page import LISTS
from runtime.journal.port import Fact
from tests.tidy.source import ROOT

TEMPLATES = sorted((ROOT / "packages" / "server" / "replan_server" / "web" / "templates").glob("*.html"))
HARMLESS = re.compile(r"[\w:./,@#*+ -]{0,120}")
"""The form of ids and of words of closed sets."""
OURS = {"htmx.min.js", "replan.js"}
"""The scripts of the pages."""


@dataclass(frozen=True)
class Filled:
    """A run whose fields hold the hostile text."""

    run: str
    """Its id."""
    fields: list
    """The fields."""


class Tags(HTMLParser):
    """Collects what a browser would take for elements and attributes."""

    def __init__(self):
        super().__init__()
        self.scripts, self.handlers, self.evil = [], [], 0

    def handle_starttag(self, tag, attrs):
        """Note a script, a handler of an event, and an element of the hostile text."""
        names = dict(attrs)
        if tag == "script":
            self.scripts.append(names.get("src") or "inline")
        self.handlers += [name for name in names if name.startswith("on")]
        self.evil += "data-evil" in names
        self.handlers += [names["href"] for name in names if name == "href" and not re.match(r"[/#]", names["href"])]


def check_page(path, text):
    """Check that a page has no element, attribute, handler or address that its templates did not write."""
    tags = Tags()
    tags.feed(text)
    assert tags.evil == 0, path
    assert tags.handlers == [], path
    assert {name.rpartition("/")[2].partition("?")[0] for name in tags.scripts} <= OURS, path
    assert "\u202e" not in text, path
    assert "\x1b" not in text, path


async def fill(web):
    """Record the stories with the hostile text in their fields, and return the runs."""
    stories, _, _ = chosen()
    filled = []
    for number, (story, fields, events) in enumerate(stories):
        run, machine = f"evil{number}", story.kind.machine
        state = machine.initial()
        for event in events:
            state = machine.evolve(state, event)
        facts, summary = [Fact(event) for event in events], machine.summary(state)
        await web.engine.journal.create(
            run, f"{EVIL}", story.kind.name, story.kind.format, facts=facts, summary=summary
        )
        filled.append(Filled(run, fields))
    return filled


def pages_of(run, text):
    """Return the addresses of a run's own pages that its page links."""
    return sorted(set(re.findall(rf'href="(/runs/{run}/[^"]+)"', text)))


async def test_every_field_is_shown_as_text_on_every_page(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        shown = 0
        for filled in await fill(web):
            paths = [f"/runs/{filled.run}/records"]
            for tab in LISTS:
                page = await web.browser.get(f"/runs/{filled.run}?tab={tab}")
                assert page.status_code == 200, (filled, page.text[-500:])
                paths += pages_of(filled.run, page.text)
                check_page(filled.run, page.text)
                shown += page.text.count("&lt;img src=x data-evil")
            for path in dict.fromkeys(paths):
                answer = await web.browser.get(path.replace("&amp;", "&"))
                kind = answer.headers["content-type"].partition(";")[0]
                if "/export/" in path:
                    assert kind != "text/html", path
                    assert answer.headers["content-disposition"].startswith("attachment;"), path
                else:
                    assert answer.status_code in (200, 404, 422), path  # 422: a plan that cannot be edited
                    check_page(path, answer.text)
                    shown += answer.text.count("&lt;img src=x data-evil")
        for path in ("/", "/runs", f"/runs?q={EVIL[:40]}"):
            text = (await web.browser.get(path)).text
            check_page(path, text)
            shown += text.count("&lt;img src=x data-evil")
        assert shown > 1000


async def test_programs_get_every_field_as_json_that_no_browser_takes_for_a_page(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        headers = web.token("read")
        for filled in (await fill(web))[::5]:
            for path in ("", "/tree", "/records", "/questions", "/budget"):
                answer = await web.client.get(f"/api/runs/{filled.run}{path}", headers=headers)
                assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json"), path
                assert answer.headers["x-content-type-options"] == "nosniff"
            last = (await web.engine.journal.row(filled.run)).last_seq
            seen = []
            async with web.client.stream("GET", f"/api/runs/{filled.run}/stream", headers=headers) as stream:
                async for line in stream.aiter_lines():
                    name, _, value = line.partition(": ")
                    assert name in ("", "retry", "id", "event", "data"), line
                    seen += [value] if name == "id" else []
                    if len(seen) == last and not line:
                        break
            assert seen == [f"{filled.run}:{number + 1}" for number in range(last)]


async def details_of(web, run):
    """Return the addresses of the records and of an attempt or two of a run."""
    linked = pages_of(run, await web.run_page(run))
    attempts = [path for path in linked if "/attempts/" in path and "&" not in path]
    return [f"/runs/{run}/records", *[path for path in attempts if (await web.browser.get(path)).is_success][:2]]


async def test_no_field_runs_a_script_in_a_real_browser(tmp_path, browser):
    async with served(tmp_path, hosts=False) as web:
        page = await signed_in(browser, web)
        filled = await fill(web)
        details = [path for each in filled[::9] for path in await details_of(web, each.run)]
        for path in ("/", "/runs", *(f"/runs/{each.run}?tab={tab}" for each in filled[::2] for tab in LISTS), *details):
            await page.go(f"{web.address}{path}")
            assert await page.evaluate("window.evil === undefined && !document.querySelector('[data-evil]')"), path
        check_quiet(page, web)


def test_the_fields_are_those_of_the_models():
    """Every event with a text is in some history, and what takes no free text is an id or of a closed set."""
    stories, filled, closed = chosen()
    known = {event for _, event, _ in filled | closed}
    covered = {path[0] for _, _, path in filled | closed}
    codecs = {story.kind.codec for story, _, _ in stories}
    for event in (event for codec in codecs for event in codec._members.values()):
        texts = {name for name, field in event.model_fields.items() if has_text(field)}
        if event.model_fields["kind"].default not in known:  # Then at least its fields are known from another event.
            assert texts <= covered, event
    assert len(filled) > 2 * len(closed)
    values = {}
    for story, _, events in stories:
        for event in events:
            for path, value in leaves(event.model_dump(mode="json")):
                values.setdefault((story.kind.name, event.kind, path), set()).add(value)
    for field in closed:
        if field[2] not in (("pinned",), ("plan",)):  # JSON, of which each text is a field of its own.
            assert all(HARMLESS.fullmatch(value.partition(" <img")[0]) for value in values.get(field, ())), field


def has_text(field):
    """Tell whether a field of a model may hold a text that is not of a closed set."""
    return "str" in str(field.annotation) and "Literal" not in str(field.annotation)


NEEDED = {"problem": "The login fails.", "goal": "A goal", "profile": "market_size", "plan_of": "x", "tools": "all"}
"""Values of the keys that a body needs."""


async def test_every_text_that_a_program_sends_is_refused_or_shown_as_text(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.service.WRITES_MAX", 10_000)
    tools = {"all": {"file": "tools.yaml", "workspace": "work"}}
    async with served(tmp_path, hosts=False, allow_execute=True, tools=tools) as web:
        headers = {**web.token(), "origin": web.address}
        run = await web.start("asks")
        await web.engine.resume(run)
        sent = []
        for _, address in addressed_operations():
            fields = {} if address.body is None else address.body.model_fields
            for name, field in fields.items():
                if "str" not in str(field.annotation) and "Attached" not in str(field.annotation):
                    continue
                needed = {key: NEEDED.get(key, "x") for key, other in fields.items() if other.is_required()}
                value = {"attachments": [{"name": EVIL, "content": "eA=="}], "given": {EVIL: EVIL}}.get(name, EVIL)
                path = address.path.format(run=run, name="q1")
                key = {"idempotency-key": f"k{len(sent)}"}
                answer = await web.client.post(path, json={**needed, name: value}, headers={**headers, **key})
                assert answer.headers["content-type"] == "application/json"
                assert answer.status_code in (200, 201, 404, 422), answer.text
                sent.append((address.path, name))
        assert len(sent) >= 12
        for path in ("/", "/runs", f"/runs/{run}", f"/runs/{run}/records"):
            check_page(path, (await web.browser.get(path)).text)


@pytest.mark.parametrize("path", TEMPLATES, ids=[path.stem for path in TEMPLATES])
def test_no_template_turns_escaping_off_or_writes_a_value_where_it_could_be_code(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\|\s*safe\b|autoescape|Markup|\|\s*xmlattr", text)
    assert not re.search(r"<(script|style)\b[^>]*>[^<]", text), "an inline script or style"
    assert not re.search(r"\s(on\w+|style|srcdoc)\s*=", text)
    plain = re.sub(r"""=("[^"]*"|'[^']*')""", '=""', re.sub(r"{[{%].*?[%}]}", "", text))
    assert not re.search(r'<[a-z][^>]*=(?!")', plain), "a value without quotes"
    for value in re.findall(r"\bhx-(?:trigger|include)=\"(.*?)\"", text):
        assert "{" not in value, "events and fields are fixed"
    for value in re.findall(r"\b(?:href|src|(?:form)?action|hx-(?!trigger|include)[\w-]+)=\"(.*?)\"", text):
        ours = (
            "/",
            "#",
            "{{ asset(",
            "{{ before",
            "{{ after",
            "{{ again }}",
            "{{ last",
            "{{ addresses[",
            "{{ sorted_by[",
        )
        assert value.startswith(ours), value


def test_every_value_of_a_template_is_escaped_and_cleaned():
    environment = rendering._environment()
    assert environment.autoescape is True
    assert environment.from_string('<p title="{{ value }}">{{ value }}</p>').render(value=EVIL).count("<") == 2
    assert "\u202e" not in environment.from_string("{{ value }}").render(value=EVIL)
