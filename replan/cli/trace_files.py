"""The traces that the arguments of a command name."""

from collections.abc import Iterator
from pathlib import Path

from replan.blame.trace import AgentTrace
from replan.blame.trace_reader import TEXT_BYTES_MAX, traces_in
from replan.cli.inputs import file_named, read_file, read_stdin
from runtime.core.errors import UsageProblem


def read_all(names: tuple[str, ...]) -> Iterator[tuple[str, AgentTrace]]:
    """Yield the traces of files, folders and standard input, each with where it is from. Raises `UsageProblem`."""
    for name in names:
        if name == "-":
            yield from (("-", trace) for trace in traces_in(read_stdin(TEXT_BYTES_MAX), "standard input"))
            continue
        for path in files_in(file_named(name, "TRACE")):
            yield from ((str(path), trace) for trace in traces_in(read_trace_file(path), str(path)))


def read_trace_file(path: Path) -> str:
    """Return a file's text. Raises `UsageProblem` for one that is missing, too large or no text."""
    hint = "name a file that you may read"
    return read_file(path, TEXT_BYTES_MAX, str(path), hint=hint, smaller="split the file")


def files_in(path: Path) -> list[Path]:
    """Return a file, or the files of a folder and its folders that end in `.json` or `.jsonl`, sorted.

    Raises:
        UsageProblem: the folder has none.
    """
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.suffix in (".json", ".jsonl") and each.is_file())
    if not found:
        raise UsageProblem("holds no .json or .jsonl file", place=str(path), hint="name a file or folder with traces")
    return found
