"""What a problem's text names: files, stack traces, interfaces, tests, steps to reproduce, constraints and wishes.

Everything found is a quote: it stands in the text literally, white space folded (`Text.quotes` keeps nothing else).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from actors.rules.tables import Rules
from actors.rules.text import (
    LINE_LENGTH_MAX,
    SENTENCE_LENGTH_MAX,
    Passage,
    Text,
    find,
    lower,
    sentences,
    shorten,
    words,
)
from actors.rules.traces import Trace, find_traces, functions

ITEMS_MAX = 20  # items of one list
TOKEN_LENGTH_MAX = 200
TITLE_WITHIN = 5000  # characters of a part in which its title is looked for
END = ".;,"

_TOKEN = re.compile(r"[^\s\"'`()\[\]{}<>,;|=*!?]+")
_PLACE = re.compile(r"(?::\d{1,7}){1,2}:?$")
_NODE = re.compile(r"[\w./-]{1,150}\.py(?:::[\w\[\]-]{1,80}){1,3}")
_INLINE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`]{1,120})\1(?!`)")
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->|/)[A-Za-z_$][\w$]*)*(?:\(\)|!)?$")
_WORD = re.compile(r"(?<![\w.$:/#@-])[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*(?:\(\)|!(?![\w=]))?")
_MIXED = re.compile(r"[a-z]{2,}[A-Z]|[A-Z][a-z0-9]+[A-Z]")
_DEFINITION = re.compile(
    r"\s{0,40}(?:(?:pub|export|default|async|public|private|protected|static|final|abstract) ){0,5}"
    r"(?:def|class|fn|func|function|trait|struct|enum|interface|impl) (?:\([^)]{0,80}\) )?([A-Za-z_$][\w$]{0,80})"
)
_ENDPOINT = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) /[\w./{}:-]{0,120}")
_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__)/|(?:^|/)test_\w+\.|[\w-](?:_test|_spec|\.test|\.spec|Tests?|IT|Spec)\.\w+$"
)
_TEST_NAME = re.compile(r"(?:\w+(?:\.|::))*(?:test_\w+|Test[A-Z]\w*|[A-Z]\w+Tests?|test[A-Z]\w*)(?:\(\))?$")
_COMMAND = re.compile(r"\s{0,40}(?:\$|>>>|%) (?=\S)")
_LINK = re.compile(r"https?://|\]\(")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a text names, each list in the order of the text. `wishes` are list items that say what should be."""

    title: str
    files: tuple[str, ...]
    traces: tuple[Trace, ...]
    apis: tuple[str, ...]
    tests: tuple[str, ...]
    steps: tuple[str, ...]
    constraints: tuple[str, ...]
    wishes: tuple[str, ...]

    @property
    def anchored(self) -> bool:
        """Whether the text names anything that the code could be searched for."""
        return bool(self.files or self.traces or self.apis or self.tests)


def extract(text: Text, rules: Rules) -> Facts:
    """Return what the text names."""
    traces = tuple(trace for trace in find_traces([line.text for line in text.lines]) if text.holds(trace.text))
    paths = list(_paths(text, traces, rules))
    tests = text.quotes((*(path for path in paths if _TEST_FILE.search(path)), *_test_names(text)), limit=ITEMS_MAX)
    files = text.quotes(paths, limit=ITEMS_MAX)
    # Names that can be nothing but code come first; a plain word in backquotes may be anything.
    apis = sorted(_apis(text, traces, rules, {*files, *tests}), key=lambda name: not _looks_like_code(name))
    apis_kept = text.quotes(apis, limit=ITEMS_MAX)
    steps = text.quotes(_steps(text, rules), limit=ITEMS_MAX)
    constraints = text.quotes((quote for quote in _constraints(text, rules) if quote not in steps), limit=ITEMS_MAX)
    taken = {said.rstrip(END) for said in (*steps, *constraints)}
    wishes = text.quotes((wish for wish in _wishes(text) if wish not in taken), limit=ITEMS_MAX)
    return Facts(_title(text, rules), files, traces, apis_kept, tests, steps, constraints, wishes)


def _title(text: Text, rules: Rules) -> str:
    """The title of the first part that says enough: an answer may say what a thin specification does not."""
    names = rules.signals.headings
    untold = (*names.generic, *names.reproduction, *names.constraints)
    parts = [part[:TITLE_WITHIN] for part in text.parts]
    full = [part for part in parts if len(content_words(part, rules)) >= rules.signals.thin.words]
    titles = (replace(text, parts=(part,)).title(untold) for part in (*full, *parts))
    return next((title for title in titles if title), "")


def content_words(text: str, rules: Rules) -> set[str]:
    """Return the words of a text that say something."""
    return {word for word in words(text) if word not in rules.signals.stop_words}


def is_file(token: str, rules: Rules) -> bool:
    """Whether a token names a file or, under a usual root, a folder."""
    table = rules.languages
    base = token.rpartition("/")[2].rpartition("\\")[2]
    if "://" in token or token.startswith(("@", "#", "//", "www.")) or base.lower() in table.not_files:
        return False
    if base in table.bare_files:
        return True
    stem, dot, extension = base.rpartition(".")
    if (
        dot
        and extension.lower() in table.extensions
        and extension[:1].islower()
        and any(sign.isalnum() for sign in stem)
    ):
        # A single letter is rather a variable's field ("x.c") than a file, unless a folder stands before it.
        return len(stem.strip(".")) > 1 or "/" in token
    root = token.lstrip("./").split("/")[0]
    return token.count("/") >= 1 and root in table.roots and len(token) > len(root) + 1


def _tokens(text: Text) -> Iterator[str]:
    for line in text.written:
        for match in _TOKEN.finditer(line.text):
            if match.end() - match.start() <= TOKEN_LENGTH_MAX:
                yield match[0]


def _paths(text: Text, traces: Sequence[Trace], rules: Rules) -> Iterator[str]:
    # A trace may name files with blanks in them, and its innermost files matter most.
    for trace in traces:
        if (own := trace.own_frame(rules.languages.library_paths)) is not None:
            yield own.file
    for token in _tokens(text):
        path = _PLACE.sub("", token.rstrip(".:")).partition("::")[0].partition("#L")[0]
        if is_file(path, rules):
            yield path


def _test_names(text: Text) -> Iterator[str]:
    for line in text.written:
        head = line.text[:LINE_LENGTH_MAX]
        yield from _NODE.findall(head)
        yield from (match[0] for match in _WORD.finditer(head) if _TEST_NAME.match(match[0]))


def _apis(text: Text, traces: Sequence[Trace], rules: Rules, taken: set[str]) -> Iterator[str]:
    """Yield names of interfaces: marked as code first, then what looks like one in prose, definitions, frames."""
    known = rules.languages.names

    def good(name: str) -> bool:
        plain = name.removesuffix("()").removesuffix("!")
        return len(plain) > 1 and name not in taken and plain not in known and not is_file(plain, rules)

    for line in text.written:
        head = line.text[:LINE_LENGTH_MAX]
        if line.code:
            if match := _DEFINITION.match(head):
                yield from (name for name in (match[1],) if good(name))
            continue
        yield from _ENDPOINT.findall(head)
        marked = (match[2].strip() for match in _INLINE.finditer(head))
        yield from (name for name in marked if _NAME.match(name) and good(name))
        plain = _INLINE.sub(" ", head)
        yield from (name for name in _WORD.findall(plain) if _looks_like_code(name) and good(name))
    yield from (name for name in functions(traces, rules.languages.library_paths) if good(name))
    for trace in traces:
        if match := re.search(r"[\w.]{0,200}(?:Error|Exception|Timeout)\b", trace.error[:LINE_LENGTH_MAX]):
            yield match[0]


def _looks_like_code(name: str) -> bool:
    plain = name.strip("_")
    if name.endswith("()") or "::" in name or " " in name or "_" in plain:
        return bool(plain)
    if "." in name:
        # "e.g" and "i.e" are no names; "Foo.bar" and "os.path.join" are.
        return all(len(part) > 1 for part in name.split("."))
    return _MIXED.match(name) is not None


def _steps(text: Text, rules: Rules) -> Iterator[str]:
    names = rules.signals.headings.reproduction
    for line in text.written:
        if line.code and line.section in names and (match := _COMMAND.match(line.text[:LINE_LENGTH_MAX])):
            yield shorten(line.text[match.end() :].strip(), SENTENCE_LENGTH_MAX)
    for passage in text.passages:
        if passage.section in names or (passage.item and "reproduc" in passage.section):
            yield from (shorten(part, SENTENCE_LENGTH_MAX) for part in _parts(passage) if not part.endswith(":"))
        elif not passage.item:
            said = (part for part in sentences(passage.text) if find(lower(part), "to reproduce"))
            yield from (shorten(part, SENTENCE_LENGTH_MAX) for part in said if not part.endswith(":"))


def _constraints(text: Text, rules: Rules) -> Iterator[str]:
    table = rules.signals
    small = lower(text.prose)
    phrases = [phrase for phrase in table.constraints if find(small, phrase)]  # few texts hold more than two or three
    for passage in text.passages:
        named = passage.section in table.headings.constraints
        if passage.text.startswith("#") or passage.section in table.headings.reproduction:
            continue
        for part in _parts(passage):
            if named or any(find(lower(part), phrase) for phrase in phrases):
                yield shorten(part, SENTENCE_LENGTH_MAX)


def _wishes(text: Text) -> Iterator[str]:
    """Yield list items that are plain sentences, and what somebody says that they want."""
    for passage in text.passages:
        if passage.item and len(passage.text) <= SENTENCE_LENGTH_MAX and passage.text.count(" ") >= 1:
            if not _LINK.search(passage.text):
                yield passage.text.rstrip(END)
        elif not passage.item:
            yield from (part.rstrip(END) for part in sentences(passage.text) if find(lower(part), "i want"))


def _parts(passage: Passage) -> list[str]:
    return [passage.text] if passage.item and len(passage.text) <= SENTENCE_LENGTH_MAX else sentences(passage.text)
