"""Logs: one line per journal record, and the lines of other libraries in the same stream.

Texts of models and users are never logged: a line shows only a record's outline (numbers, identifiers, sizes). As the
last step, the redactor removes secrets from every line. The library structlog is imported only when logs are first
configured or written, so importing this module takes little time.
"""

import functools
import json as stdlib_json
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO, cast

from runtime.core.events import Event, Record
from runtime.core.hooks import listen_to_readers
from runtime.core.names import span_id, trace_id
from runtime.logs.redact import Redactor

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger


ITEMS_MAX = 20
"""The largest number of items of a list, or of fields of a mapping, that an outline of a value shows. The outline
replaces a larger list or mapping by its size.
"""

_PRODUCT = "replan"
_JOURNAL = logging.getLogger(f"{_PRODUCT}.journal")
_RESERVED = frozenset({"event", "level", "logger", "timestamp", "exception", "exc_info", "stack_info", "run_id", "seq"})
_CHATTY = (
    "anthropic",
    "anyio",
    "asyncio",
    "httpcore2",
    "httpx2",
    "hypercorn",
    "mcp",
    "openai",
    "opentelemetry",
    "urllib3",
)
_IDENTIFIER = re.compile(r"[\w.:/@+-]{1,96}")
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_Processor = Callable[[Any, str, MutableMapping[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class _Installed:
    """The handler that `configure` installed, and the previous log levels."""

    handler: logging.Handler
    root_level: int
    chatty_levels: Mapping[str, int]


_installed: _Installed | None = None
_traced = False
logging.getLogger(_PRODUCT).addHandler(
    logging.NullHandler()
)  # Otherwise the standard library prints unredacted warnings.


def configure(*, stream: TextIO, json: bool, level: int | str, redactor: Redactor) -> None:
    """Send all logs at or above `level` to `stream`: as JSON lines, or as lines for people (in colour on a terminal).

    A second call replaces the first. For verbose libraries, the lowest level is `WARNING`, or `INFO` if `level` is
    `DEBUG`, because their debug lines contain whole requests. Handlers of other programs are not changed.
    """
    global _installed  # noqa: PLW0603 -- the standard library's root logger, which this configures, is global too.
    reset()
    number = logging.getLevelNamesMapping()[level.upper()] if isinstance(level, str) else level
    handler = _Handler(stream)
    handler.setFormatter(_formatter(redactor, json=json, colors=not json and _colourful(stream)))
    root = logging.getLogger()
    _installed = _Installed(handler, root.level, {name: logging.getLogger(name).level for name in _CHATTY})
    root.addHandler(handler)
    root.setLevel(number)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(number, logging.INFO if number <= logging.DEBUG else logging.WARNING))


@contextmanager
def trace_lines() -> Iterator[None]:
    """Return a context manager that adds the ids of a run's trace and root span to each line about the run."""
    global _traced  # noqa: PLW0603 -- as `_installed`
    _traced = True
    try:
        yield
    finally:
        _traced = False


def reset() -> None:
    """Undo `configure`, if it was called."""
    global _installed  # noqa: PLW0603 -- see `configure`.
    if _installed is None:
        return
    root = logging.getLogger()
    root.removeHandler(_installed.handler)
    root.setLevel(_installed.root_level)
    for name, level in _installed.chatty_levels.items():
        logging.getLogger(name).setLevel(level)
    _installed = None


@functools.cache
def get_logger(name: str) -> "BoundLogger":
    """Return the structured logger `replan.NAME`.

    Before `configure` is called, the logger's lines reach only the handlers of other programs.
    """
    import structlog  # noqa: PLC0415 -- 140 ms, too much for `import replan`.

    processors: list[_Processor] = [
        structlog.stdlib.filter_by_level,
        *_shared_processors(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ]
    return cast(
        "BoundLogger",
        structlog.wrap_logger(
            logging.getLogger(f"{_PRODUCT}.{name}"), processors=processors, wrapper_class=structlog.stdlib.BoundLogger
        ),
    )


def bind_fields(**fields: Any) -> AbstractContextManager[None]:
    """Return a context manager that adds the fields to every line within its `with` block.

    This includes lines of other libraries, and of tasks that are started in the block.
    """
    import structlog  # noqa: PLC0415 -- see `get_logger`.

    return cast("AbstractContextManager[None]", structlog.contextvars.bound_contextvars(**fields))


def bind(**fields: Any) -> None:
    """Add the fields to every later line of this task, including lines of other libraries."""
    import structlog  # noqa: PLC0415 -- see `get_logger`.

    structlog.contextvars.bind_contextvars(**fields)


def _log_unread(what: str) -> None:
    """Log the current exception, which a reader of a model's reply raised, with its traceback."""
    get_logger("actor").exception("reply.unread", what=what)


listen_to_readers(_log_unread)


def log_record(record: Record[Any], trace: Callable[[], Mapping[str, Any]] = dict) -> None:
    """Log a journal record in one line: its kind, `run_id`, `seq`, and the outline of its event.

    The fields that `trace` returns (such as `branch`) are added. If lines at `INFO` are not logged, the function
    returns at once.
    """
    if not _JOURNAL.isEnabledFor(logging.INFO):
        return
    event = record.event
    fields = outline(event.model_dump(mode="json")) if isinstance(event, Event) else {}
    assert isinstance(fields, dict)
    kind = fields.pop("kind", type(event).__name__)
    renamed = {f"{name}_" if name in _RESERVED else name: value for name, value in fields.items()}
    with bind_fields(run_id=record.run, seq=record.seq, epoch=record.epoch, **trace()):
        get_logger("journal").info(str(kind), **renamed)


def outline(value: Any) -> Any:
    """Return the outline of a JSON value.

    Identifiers and numbers are unchanged; every other text is replaced by its size in bytes.
    """
    if isinstance(value, str):
        return value if _IDENTIFIER.fullmatch(value) else f"<{len(value.encode(errors='replace'))} bytes>"
    if isinstance(value, Mapping | list) and len(value) > ITEMS_MAX:
        return f"<{len(value)} items>"
    if isinstance(value, Mapping):
        return {outline(str(name)): outline(item) for name, item in value.items()}
    if isinstance(value, list):
        return [outline(item) for item in value]
    return value


class _Handler(logging.StreamHandler[TextIO]):
    """Writes lines. If a line cannot be written, a notice without the line's content is written instead."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 -- the base class names it.
        notice = logging.LogRecord(record.name, logging.ERROR, "", 0, "a log line could not be written", None, None)
        try:
            self.stream.write(self.format(notice) + self.terminator)
        except (OSError, ValueError):
            return  # The stream itself is gone: a closed pipe must not fail a run.


def _formatter(redactor: Redactor, *, json: bool, colors: bool) -> logging.Formatter:
    import structlog  # noqa: PLC0415 -- see `get_logger`.

    def redact(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> Any:
        return redactor.value(line)

    def render_json(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> str:
        return stdlib_json.dumps(line)  # ASCII only: no control character of any kind reaches the stream.

    processors: list[_Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, _with_trace]
    if json:
        tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        processors += [structlog.processors.ExceptionRenderer(tracebacks), redact, render_json]
    else:
        processors += [structlog.processors.format_exc_info, redact, _escape_fields]
        processors.append(structlog.dev.ConsoleRenderer(colors=colors, pad_event_to=0))
    foreign: list[_Processor] = [*_shared_processors(), structlog.stdlib.ExtraAdder()]
    return cast("Callable[..., logging.Formatter]", structlog.stdlib.ProcessorFormatter)(
        processors=processors, foreign_pre_chain=foreign
    )


def _shared_processors() -> list[_Processor]:
    import structlog  # noqa: PLC0415 -- see `get_logger`.

    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]


def _with_trace(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Within `trace_lines`, add the ids of the run's trace and span, in hexadecimal, to a line about a run."""
    run = line.get("run_id")
    if _traced and isinstance(run, str):
        line["trace_id"], line["span_id"] = f"{trace_id(run):032x}", f"{span_id(run, 1):016x}"
    return line


def _escape_fields(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape line ends and control characters in every field, so that no field can imitate a log line.

    Indent tracebacks.
    """
    escaped: MutableMapping[str, Any] = {}
    for name, value in line.items():
        text = value if isinstance(value, str) else stdlib_json.dumps(value)
        if name in {"exception", "stack"}:
            field = "\n".join(f"  | {_escape(row)}" for row in text.split("\n"))
        else:
            field = _escape(text)
        escaped[_escape(name)] = field
    return escaped


def _escape(text: str) -> str:
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _colourful(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
