"""The traces that the arguments of a command name."""

from collections.abc import Iterator
from pathlib import Path

from replan.blame.reading import TEXT_BYTES_MAX, files_in, read_text, traces_in
from replan.blame.trace import AgentTrace
from replan.cli.inputs import read_stdin
from runtime.core.errors import UsageProblem


def read_all(names: tuple[str, ...]) -> Iterator[tuple[str, AgentTrace]]:
    """Yield the traces of files, folders and standard input, each with where it is from. Raises `UsageProblem`."""
    for name in names:
        if name == "-":
            yield from (("-", trace) for trace in traces_in(read_stdin(TEXT_BYTES_MAX), "standard input"))
            continue
        if not name:
            raise UsageProblem("no file is named", place="TRACE", hint="name a file or folder, or -")
        for path in files_in(Path(name)):
            yield from ((str(path), trace) for trace in traces_in(read_text(path), str(path)))
