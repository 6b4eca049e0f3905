"""Finds stack traces of Python, Java, JavaScript, Rust and Go in a text."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from actors.rules.text import LINE_LENGTH_MAX

LINES_MAX = 14
"""Lines of a trace that are quoted."""
TRACES_MAX = 20
"""Traces of one text."""
LOOK_AHEAD_MAX = 8
"""Lines between the start of a trace and its first frame; the limit keeps the time linear."""

HEAD_LENGTH_MIN = 6
"""Characters of the shortest line that begins a stack trace."""

_PYTHON_FRAME = re.compile(r'File "([^"]{1,300})", line (\d{1,7})(?:, in (\S{1,200}))?')
_ERROR = re.compile(r"([A-Za-z_][\w.]{0,200})(?::|$)")
_JAVA_FRAME = re.compile(r"at ([\w.$<>/@-]{1,300})\(([\w.$ -]{1,200}?)(?::(\d{1,7}))?\)")
_JAVA_HEAD = re.compile(
    r'(?:Exception in thread "[^"]{0,100}" |Caused by: )?((?:[a-zA-Z_$][\w$]{0,100}\.){1,20}[A-Z][\w$]{0,100})(?::|$)'
)
_JS_FRAME = re.compile(
    r"at (?:(?:async |new )?([\w.$<>\[\] /]{1,200}?) )?\(?((?:[\w@:./\\-]|\[|\]){1,300}?):(\d{1,7})(?::\d{1,7})?\)?$"
)
_RUST_HEAD = re.compile(
    r"thread '[^']{0,100}' (?:\(\d{1,20}\) )?panicked at (?:'.{0,500}', )?([\w./\\@-]{1,300}):(\d{1,7}):\d{1,7}"
)
_RUST_FRAME = re.compile(r"\d{1,4}: (?:0x[0-9a-f]{1,16} - )?([\w:<>{}&,.\[\] ]{1,300})$")
_RUST_AT = re.compile(r"at ([\w./\\@-]{1,300}):(\d{1,7})(?::\d{1,7})?$")
_GO_HEAD = re.compile(r"(?:panic: |fatal error: )")
_GO_FRAME = re.compile(r"([\w./$*()\[\]{}-]{1,300})\((?:[^()]{0,300})\)$")
_GO_AT = re.compile(r"(\S{1,300}\.go):(\d{1,7})(?: \+0x[0-9a-f]{1,16})?$")


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of a stack trace, as written in the text."""

    file: str
    """The file as the trace writes it; may be empty."""
    line: int
    """The line number; 0 if there is none."""
    function: str
    """The function as the trace writes it; may be empty."""


@dataclass(frozen=True, slots=True)
class StackTrace:
    """A stack trace that was found in a text."""

    language: str
    """The programming language whose form it has."""
    error: str
    """The line with the error message; may be empty."""
    frames: tuple[Frame, ...]
    """The frames, innermost first."""
    text: str
    """The lines of the trace, as the text has them."""

    def own_frames(self, library_paths: Sequence[str]) -> list[Frame]:
        """Return the frames in the program's own code, innermost first."""
        return [
            frame
            for frame in self.frames
            if not any(part in f"/{frame.file}" or frame.function.startswith(part) for part in library_paths)
        ]

    def own_frame(self, library_paths: Sequence[str]) -> Frame | None:
        """Return the innermost frame in the program's own code."""
        return next(iter(self.own_frames(library_paths)), None)


def find_traces(lines: Sequence[str]) -> list[StackTrace]:
    """Return the first `TRACES_MAX` stack traces in these lines; a line belongs to one trace at most."""
    traces: list[StackTrace] = []
    # The part of each line that patterns are matched against, without indentation and quote marks.
    heads = [line[:LINE_LENGTH_MAX].lstrip("> \t").rstrip() for line in lines]
    indents = [len(line[:LINE_LENGTH_MAX]) - len(line[:LINE_LENGTH_MAX].lstrip("> \t")) for line in lines]
    at = 0
    while at < len(lines) and len(traces) < TRACES_MAX:
        for parse in _PARSERS if len(heads[at]) >= HEAD_LENGTH_MIN else ():
            if (result := parse(heads, indents, at)) is not None:
                language, error, frames, start, end, tail = result
                first, last = (max(start, end - LINES_MAX), end) if tail else (start, min(end, start + LINES_MAX))
                quote = "\n".join(line.strip() for line in lines[first:last])
                traces.append(StackTrace(language, error, tuple(frames), quote))
                at = end
                break
        else:
            at += 1
    return traces


_Match = tuple[str, str, list[Frame], int, int, bool]
"""Language, error, frames, first line, end, and whether the quote is taken from the end of the trace."""


def _python(heads: Sequence[str], indents: Sequence[int], at: int) -> _Match | None:
    if not heads[at].endswith("Traceback (most recent call last):"):
        return None
    frames: list[Frame] = []
    end = at + 1
    while end < len(heads):
        if match := _PYTHON_FRAME.match(heads[end]):
            frames.append(Frame(match[1], int(match[2]), match[3] or ""))
        elif not heads[end] or (frames and indents[end] <= indents[at] and _ERROR.match(heads[end])):
            break
        end += 1
    closed = end < len(heads) and bool(heads[end])
    return ("python", heads[end] if closed else "", frames[::-1], at, end + closed, True)


def _java(heads: Sequence[str], _: Sequence[int], at: int) -> _Match | None:
    if at + 1 >= len(heads) or not _JAVA_HEAD.match(heads[at]):
        return None
    frames: list[Frame] = []
    root: list[Frame] = []
    error, end = heads[at], at + 1
    while end < len(heads):
        if match := _JAVA_FRAME.match(heads[end]):
            root.append(Frame(match[2], int(match[3] or 0), match[1]))
        elif heads[end].startswith("Caused by: ") and (root or end - at < LOOK_AHEAD_MAX):
            # The last cause is the innermost, so its frames come first.
            frames, root, error = root + frames, [], heads[end]
        elif not heads[end].startswith(("... ", "Suppressed: ")) or not (root or frames):
            break
        end += 1
    return ("java", error, root + frames, at, end, False) if root or frames else None


def _javascript(heads: Sequence[str], _: Sequence[int], at: int) -> _Match | None:
    if at + 1 >= len(heads) or not heads[at] or heads[at].startswith("at ") or not _js_frame(heads[at + 1]):
        return None
    frames: list[Frame] = []
    end = at + 1
    while end < len(heads) and (frame := _js_frame(heads[end])):
        frames.append(frame)
        end += 1
    return ("javascript", heads[at], frames, at, end, False)


def _js_frame(head: str) -> Frame | None:
    if not head.startswith("at ") or (match := _JS_FRAME.match(head)) is None:
        return None
    return Frame(match[2], int(match[3]), match[1] or "")


def _rust(heads: Sequence[str], _: Sequence[int], at: int) -> _Match | None:
    if (match := _RUST_HEAD.match(heads[at])) is None:
        return None
    first = Frame(match[1], int(match[2]), "")
    frames: list[Frame] = []
    end = at + 1
    # In the newer format the message is on the line after the location.
    message = heads[at]
    if heads[at].endswith(":") and end < len(heads) and heads[end]:
        message, end = heads[end], end + 1
    name = ""
    while end < len(heads):
        if call := _RUST_FRAME.match(heads[end]):
            name = call[1]
        elif place := _RUST_AT.match(heads[end]):
            frames.append(Frame(place[1], int(place[2]), name))
        elif heads[end] != "stack backtrace:" and not heads[end].startswith("note: run with"):
            break
        end += 1
    return ("rust", message, [first, *frames], at, end, False)


def _go(heads: Sequence[str], _: Sequence[int], at: int) -> _Match | None:
    goroutine = heads[at].startswith("goroutine ") and heads[at].endswith(":")
    if not goroutine and not _GO_HEAD.match(heads[at]):
        return None
    frames: list[Frame] = []
    name, end = "", at + 1
    while end < len(heads):
        if place := _GO_AT.match(heads[end]):
            frames.append(Frame(place[1], int(place[2]), name))
        elif call := _GO_FRAME.match(heads[end].removeprefix("created by ")):
            name = call[1]
        elif heads[end].startswith(("goroutine ", "[signal ", "created by ", "panic: ", "exit status ")):
            name = ""
        elif heads[end] or frames:
            break
        if not frames and end - at == LOOK_AHEAD_MAX:
            break
        end += 1
    return ("go", heads[at], frames, at, end, False) if frames else None


_PARSERS: tuple[Callable[[Sequence[str], Sequence[int], int], _Match | None], ...] = (
    _python,
    _rust,
    _go,
    _java,
    _javascript,
)


def functions(traces: Sequence[StackTrace], library_paths: Sequence[str]) -> Iterator[str]:
    """Yield the functions of the program's own code that the frames name, innermost first."""
    for trace in traces:
        own = trace.own_frames(library_paths)
        yield from (frame.function for frame in own if frame.function and frame.function != "<module>")
