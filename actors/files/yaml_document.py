"""Parses a YAML file (JSON is YAML) into plain values with line numbers.

Every error is a `UsageProblem` with the place `FILE:LINE key.path`. Plain scalars follow the core schema of YAML 1.2:
only `true`, `false`, `null`, `~` and numbers have types. All other scalars are text, such as `no` and `1:30`. Tags,
merge keys and keys that are not text are errors.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from actors.files.suggestions import closest
from actors.files.validation_errors import KeyPath, ParsedFile, key_path
from runtime.core.errors import UsageProblem

FILE_BYTES_MAX = 1024 * 1024
"""The largest number of bytes in a YAML or JSON file. People write these files by hand, so the files are usually far
smaller."""
NODES_MAX = 50_000
"""The largest number of values in one document, counted after its aliases are expanded.

A few hundred bytes of nested aliases can expand to more values.
"""
_BESIDE_MAX = 1_000
"""If a file is missing, at most this many files in its folder are searched for a similar name."""
DEPTH_MAX = 50
"""The largest number of levels to which values in a file may be nested. A workflow needs five levels. Python's
recursion limit is far higher."""

_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]{1,300}(\.[0-9]*)?)([eE][-+]?[0-9]{1,2})?")
_WORDS: Mapping[str, Any] = {"": None, "~": None} | {
    spelling: value
    for word, value in (("null", None), ("true", True), ("false", False))
    for spelling in (word, word.capitalize(), word.upper())
}
_TAGS = {
    yaml.ScalarNode: "tag:yaml.org,2002:str",
    yaml.SequenceNode: "tag:yaml.org,2002:seq",
    yaml.MappingNode: "tag:yaml.org,2002:map",
}
_REFUSED = (yaml.scanner.ScannerError, yaml.parser.ParserError, yaml.reader.ReaderError, UnicodeEncodeError)


def read_document(path: Path) -> ParsedFile:
    """Read and parse a file.

    Raises:
        UsageProblem: the file cannot be read, is larger than `FILE_BYTES_MAX`, or is not a valid document.
    """
    source = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise UsageProblem("no such file", place=source, hint=_near_file(path)) from None
    except IsADirectoryError:
        raise UsageProblem("this is a folder, not a file", place=source, hint="name a file in this folder") from None
    except OSError as error:
        cause = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise UsageProblem(cause, place=source, hint="name a file that you may read") from None
    except ValueError:  # The name contains a zero byte.
        raise UsageProblem("this is not a file name", place=repr(source), hint="name an existing file") from None
    if len(data) > FILE_BYTES_MAX:
        hint = "make the file smaller, or name another file"
        raise UsageProblem(f"the file is larger than {FILE_BYTES_MAX // 1024} KiB", place=source, hint=hint)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        cause = f"byte {error.start} of the file is not UTF-8 text"
        raise UsageProblem(cause, place=source, hint="save the file as UTF-8") from None
    return parse_document(text, source)


def _near_file(path: Path) -> str:
    try:
        stems = [beside.stem for beside in islice(path.parent.iterdir(), _BESIDE_MAX) if beside.suffix == path.suffix]
    except OSError:
        stems = []
    near_stem = closest(path.stem, stems)
    return f"did you mean {near_stem + path.suffix!r}?" if near_stem else "name an existing file"


@lru_cache(maxsize=16)  # A host compares the files of a few workflows repeatedly, and parsing YAML is slow.
def parse_document(text: str, source: str) -> ParsedFile:
    """Parse a text. The result is cached and shared, so callers must not change it.

    Raises:
        UsageProblem: the text is not YAML, is empty or not a mapping, has a duplicate key, is nested too deeply, has
            too many values, or is not plain data.
    """
    if source.endswith(".json"):
        # JSON allows tabs between tokens, and never inside a string. YAML does not allow tabs as indentation.
        text = text.replace("\t", " ")
    try:
        root = _compose_tree(text)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        cause = f"not YAML: {error.problem or error.context}"
        raise UsageProblem(cause, place=f"{source}{line}", hint="correct this line or the line before it") from None
    except yaml.reader.ReaderError as error:
        line_number = text.count("\n", 0, error.position) + 1
        hint = "name a text file in YAML"
        raise UsageProblem(f"not text: {error.reason}", place=f"{source}:{line_number}", hint=hint) from None
    if root is None:
        raise UsageProblem("the file is empty", place=source, hint="a mapping of keys to values is expected")
    builder = _Builder(source)
    value = builder.build(root, ())
    if not isinstance(value, dict):
        raise UsageProblem(
            "the top level is not a mapping", place=f"{source}:1", hint="write `key: value` in each line"
        )
    return ParsedFile(source, value, builder.lines)


def _compose_tree(text: str) -> yaml.Node | None:
    """Return the tree of nodes of a YAML text; None for an empty text.

    libyaml's parser is six times as fast as PyYAML's own. PyYAML's own parser reads texts that libyaml refuses, such as
    JSON with surrogate pairs. PyYAML's own parser also reads every text with tabs, so that all machines read a file in
    the same way.
    """
    if yaml.__with_libyaml__ and "\t" not in text:
        with suppress(*_REFUSED):
            return yaml.compose(text, Loader=_FastLoader)
    return yaml.compose(text, Loader=_Loader)


class _Limits(yaml.composer.Composer):
    """PyYAML's composer, with limits on the depth and on the number of nodes."""

    depth = 0
    count = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        self.count += 1
        if self.count > 2 * NODES_MAX:  # A key is a node too.
            mark = parent.start_mark if parent else None
            raise yaml.composer.ComposerError(None, None, f"the file has more than {NODES_MAX:,} values", mark)
        if self.depth > DEPTH_MAX:
            mark = parent.start_mark if parent else None
            raise yaml.composer.ComposerError(
                None, None, f"the values are nested more than {DEPTH_MAX} levels deep", mark
            )
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


class _Loader(_Limits, yaml.BaseLoader):
    """The composer with limits, with PyYAML's own parser."""


class _FastLoader(_Limits, yaml.CBaseLoader):
    """The composer with limits, with libyaml's parser."""

    def __init__(self, text: str) -> None:
        yaml.composer.Composer.__init__(self)
        yaml.CBaseLoader.__init__(self, text)


class _Builder:
    """Converts composed nodes into plain values, and records the line of each value."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: dict[KeyPath, int] = {}
        self.count = 0

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        self.count += 1
        self.lines.setdefault(path, node.start_mark.line + 1)
        if self.count > NODES_MAX or len(path) > DEPTH_MAX:
            raise self._problem("the aliases in this file expand to too many values", node, path[:4])
        if node.tag != _TAGS[type(node)]:
            raise self._problem(f"tag {node.tag} is not allowed", node, path)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return self._text(node, path) if node.style else _plain(node.value)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._problem("a key must be text", key_node, path)
            key = self._text(key_node, path)
            if not key_node.style and key == "<<":
                raise self._problem("merge keys (<<) are not supported", key_node, path)
            if not key_node.style and not isinstance(_plain(key), str):
                raise self._problem(f"key {key} is not text", key_node, path, "put it in quotes")
            if key in result:
                raise self._problem(f"duplicate key {key!r}", key_node, path, "keep one of them")
            self.lines[*path, key] = key_node.start_mark.line + 1
            result[key] = self.build(value_node, (*path, key))
        return result

    def _text(self, node: yaml.ScalarNode, path: KeyPath) -> str:
        """Return a scalar's text, with each surrogate pair replaced by its character.

        JSON can write a character above U+FFFF as two escapes, a surrogate pair.
        """
        text: str = node.value
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise self._problem("the text has only one half of a surrogate pair", node, path) from None

    def _problem(self, cause: str, node: yaml.Node, path: KeyPath, hint: str = "") -> UsageProblem:
        place = f"{self.source}:{node.start_mark.line + 1} {key_path(path)}".rstrip()
        return UsageProblem(cause, place=place, hint=hint)


def _plain(text: str) -> Any:
    """Return the value of a scalar without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
