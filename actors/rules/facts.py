"""Extracts from a problem's text its language, files, stack traces, interfaces, tests and reproduction steps.

Every fact is a literal quote from the text, with white space folded; `ProblemText.quotes` drops everything else.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from actors.rules.stack_traces import StackTrace, find_traces, functions
from actors.rules.tables import RulesTables
from actors.rules.text import (
    LINE_LENGTH_MAX,
    SENTENCE_LENGTH_MAX,
    ProblemPassage,
    ProblemText,
    find,
    lower,
    shorten,
    words,
)

ITEMS_MAX = 20
"""Items of one list of facts."""
TOKEN_LENGTH_MAX = 200
"""Characters of a token that may be a file."""
TITLE_WITHIN = 5000
"""Characters at the start of a part in which its title is searched."""

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


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts in a text; each list is in the order of the text unless stated otherwise."""

    title: str
    """The first heading or sentence that can be a title; may be empty."""
    files: tuple[str, ...]
    """Files and folders; those of stack traces first."""
    traces: tuple[StackTrace, ...]
    """Stack traces, with the files and functions of their frames."""
    apis: tuple[str, ...]
    """Names of functions, types and end points; those that are certainly code first."""
    tests: tuple[str, ...]
    """Test files and test functions."""
    steps: tuple[str, ...]
    """Steps to reproduce the problem, one sentence each."""

    @property
    def anchored(self) -> bool:
        """Whether the text names something that can be searched for in the code."""
        return bool(self.files or self.traces or self.apis or self.tests)


def extract(text: ProblemText, rules: RulesTables) -> Facts:
    """Return the facts in a text."""
    traces = tuple(trace for trace in find_traces([line.text for line in text.lines]) if text.holds(trace.text))
    paths = list(_paths(text, traces, rules))
    tests = text.quotes((*(path for path in paths if _TEST_FILE.search(path)), *_test_names(text)), limit=ITEMS_MAX)
    files = text.quotes(paths, limit=ITEMS_MAX)
    # Names that are certainly code come first; a plain word in backquotes may be anything.
    apis = sorted(_apis(text, traces, rules, {*files, *tests}), key=lambda name: not _looks_like_code(name))
    quoted_apis = text.quotes(apis, limit=ITEMS_MAX)
    steps = text.quotes(_steps(text, rules), limit=ITEMS_MAX)
    return Facts(_title(text, rules), files, traces, quoted_apis, tests, steps)


def _title(text: ProblemText, rules: RulesTables) -> str:
    """Return the title of the first part with enough content: an answer may have more than a short specification."""
    names = rules.signals.headings
    not_titles = (*names.generic, *names.reproduction, *names.constraints)
    parts = [part[:TITLE_WITHIN] for part in text.parts]
    long_parts = [part for part in parts if len(content_words(part, rules)) >= rules.signals.thin.words]
    titles = (replace(text, parts=(part,)).title(not_titles) for part in (*long_parts, *parts))
    return next((title for title in titles if title), "")


def content_words(text: str, rules: RulesTables) -> set[str]:
    """Return the words of a text without stop words."""
    return {word for word in words(text) if word not in rules.signals.stop_words}


def is_file(token: str, rules: RulesTables) -> bool:
    """Return whether a token names a file or, below a usual top-level folder, a folder."""
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
        # After a single letter it is rather a field of a variable ("x.c") than an extension, unless there is a folder.
        return len(stem.strip(".")) > 1 or "/" in token
    root = token.lstrip("./").split("/")[0]
    return token.count("/") >= 1 and root in table.roots and len(token) > len(root) + 1


def _tokens(text: ProblemText) -> Iterable[str]:
    """Return the tokens of the text, each different one once."""
    return dict.fromkeys(token for line in text.distinct for token in _TOKEN.findall(line.text))


def _paths(text: ProblemText, traces: Sequence[StackTrace], rules: RulesTables) -> Iterator[str]:
    # The files of traces first: they matter most, and their names may contain spaces.
    for trace in traces:
        if (own := trace.own_frame(rules.languages.library_paths)) is not None:
            yield own.file
    for token in _tokens(text):
        if len(token) > TOKEN_LENGTH_MAX:
            continue
        path = _PLACE.sub("", token.rstrip(".:")).partition("::")[0].partition("#L")[0]
        if is_file(path, rules):
            yield path


def _test_names(text: ProblemText) -> Iterator[str]:
    for line in text.distinct:
        head = line.text[:LINE_LENGTH_MAX]
        yield from _NODE.findall(head)
        yield from (match[0] for match in _WORD.finditer(head) if _TEST_NAME.match(match[0]))


def _apis(text: ProblemText, traces: Sequence[StackTrace], rules: RulesTables, taken: set[str]) -> Iterator[str]:
    """Yield names of interfaces: end points, names that are or look like code, definitions, functions of frames.

    `taken` are names of files and tests, which are not interfaces.
    """
    excluded = rules.languages.names

    def is_api(name: str) -> bool:
        plain = name.removesuffix("()").removesuffix("!")
        return len(plain) > 1 and name not in taken and plain not in excluded and not is_file(plain, rules)

    for line in text.distinct:
        head = line.text[:LINE_LENGTH_MAX]
        if line.code:
            if match := _DEFINITION.match(head):
                yield from (name for name in (match[1],) if is_api(name))
            continue
        yield from _ENDPOINT.findall(head)
        marked = (match[2].strip() for match in _INLINE.finditer(head))
        yield from (name for name in marked if _NAME.match(name) and is_api(name))
        plain = _INLINE.sub(" ", head)
        yield from (name for name in _WORD.findall(plain) if _looks_like_code(name) and is_api(name))
    yield from (name for name in functions(traces, rules.languages.library_paths) if is_api(name))
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


def _steps(text: ProblemText, rules: RulesTables) -> Iterator[str]:
    names = rules.signals.headings.reproduction
    for line in text.written:
        if line.code and line.section in names and (match := _COMMAND.match(line.text[:LINE_LENGTH_MAX])):
            yield shorten(line.text[match.end() :].strip(), SENTENCE_LENGTH_MAX)
    for passage in text.passages:
        if passage.section in names or (passage.item and "reproduc" in passage.section):
            yield from (shorten(part, SENTENCE_LENGTH_MAX) for part in _parts(passage) if not part.endswith(":"))
        elif not passage.item:
            matches = (part for part in passage.sentences if find(lower(part), "to reproduce"))
            yield from (shorten(part, SENTENCE_LENGTH_MAX) for part in matches if not part.endswith(":"))


def _parts(passage: ProblemPassage) -> Sequence[str]:
    return [passage.text] if passage.item and len(passage.text) <= SENTENCE_LENGTH_MAX else passage.sentences


UNKNOWN = "unknown"
"""The language of a text without any sign."""
HITS_MAX = 5
"""Occurrences of one word that count."""
FENCES_MAX = 20
"""Code blocks that count."""


def language_of(text: ProblemText, facts: Facts, rules: RulesTables) -> str:
    """Return the language with the highest score, in lower case, or `unknown`; of several, the first in the table."""
    table = rules.languages
    score: Counter[str] = Counter()
    for trace in facts.traces:
        score[trace.language] += table.weights.trace
    for file in facts.files:
        if language := table.extensions.get(file.rpartition(".")[2].lower()):
            score[language] += table.weights.file
    for fence in text.fences[:FENCES_MAX]:
        language = table.fences.get(fence, fence)
        if language in table.languages:
            score[language] += table.weights.fence
    counts = Counter(words(text.prose))
    for name, language_table in table.languages.items():
        hits = sum(min(counts[word], HITS_MAX) for word in language_table.words)
        score[name] += hits * table.weights.word
    best = max(table.languages, key=lambda name: score[name])
    return best if score[best] else UNKNOWN
