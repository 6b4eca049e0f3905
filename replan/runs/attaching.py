"""Reads the files that a user attaches to a problem.

From a repository, reads the list of its files and the files that the problem names.

The size of each attachment is limited, and texts that look like secrets are removed from it. Nothing in a repository is
executed: Replan gives git an empty git directory, so the hooks and settings of the repository have no effect.
"""

import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from actors.values.given import ATTACHMENT_BYTES_MAX, ATTACHMENTS_BYTES_MAX, Attachment
from runtime.core.errors import UsageProblem
from runtime.logs.redact import MARK, Redactor, secrets_in

LISTED_MAX = 1_000
"""The largest number of paths in an attached list of a repository's files. If there are more paths, the paths with the
fewest folders are kept.
"""
NAMED_MAX = 20
"""The largest number of files of a repository that are attached because the problem's text names them."""
SECRET_BYTES_MAX = 4096
"""The number of bytes that are read beyond the size limit of an attachment. So a secret is recognised even if it
crosses the limit.
"""
GIT_SECONDS = 20.0
"""The time limit of each git command, in seconds."""

_PATH = re.compile(r"[\w.@+-]*(?:[\\/][\w.@+-]+)+|[\w@+-]+(?:\.[\w@+-]+)*\.[A-Za-z]\w{0,9}")
"""A pattern for file names in a text. It matches a word with a slash or a backslash, and a name with a suffix."""
_PRIVATE = re.compile(
    r"(?i)^(?:\.env(?:\..*)?|\.netrc|\.npmrc|\.pypirc|\.git-credentials|id_(?:rsa|dsa|ecdsa|ed25519)|credentials"
    r"|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ovpn)|.*secrets?\.(?:ya?ml|json|toml|env))$"
)


@dataclass(frozen=True, slots=True)
class Attached:
    """The attachments, and notices about them for the user."""

    attachments: tuple[Attachment, ...] = ()
    notices: tuple[str, ...] = ()


def attach(files: Sequence[str], repository: str | None, problem: str) -> Attached:
    """Read `files`. From `repository`, read the list of its files and the files that the text `problem` names.

    Raises `UsageProblem` for a file that is missing, is not text, or has a name such as `.env`, because it may contain
    secrets. Also raises `UsageProblem` if `repository` is not a folder, and if all attachments together exceed
    `ATTACHMENTS_BYTES_MAX`.
    """
    redactor = Redactor(secrets_in(os.environ))
    attachments = [_file(Path(name), name, redactor) for name in dict.fromkeys(files)]
    notices: list[str] = []
    if repository is not None:
        paths = _list_files(repository)
        attachments.append(_listing(repository, paths))
        named_files, skipped = _read_named(Path(repository), paths, problem, redactor)
        attachments += named_files
        notices += [f"{name} is not attached: {why}" for name, why in skipped]
    size = check_sizes(attachments, "--attach")
    if attachments:
        names = ", ".join(attachment.name for attachment in attachments if attachment.kind == "file")
        listing = [
            f"the list of {attachment.text.count(chr(10)) + 1} files"
            for attachment in attachments
            if attachment.kind == "listing"
        ]
        notices.insert(0, f"attached, {size:,} bytes: {', '.join(filter(None, (*listing, names)))}")
    cut_files = [attachment.name for attachment in attachments if attachment.left_out and attachment.kind == "file"]
    notices += [f"these files are cut to {ATTACHMENT_BYTES_MAX:,} bytes: {', '.join(cut_files)}"] if cut_files else []
    hidden = [attachment.name for attachment in attachments if MARK in attachment.text]
    notices += [f"text that looks like a secret is left out of {', '.join(hidden)}"] if hidden else []
    return Attached(tuple(attachments), tuple(notices))


def check_sizes(attachments: Sequence[Attachment], place: str) -> int:
    """Return the size of all attachments together, in bytes. Raises `UsageProblem` if they are too large for a run."""
    size = sum(len(attachment.shown.encode()) for attachment in attachments)
    if size > ATTACHMENTS_BYTES_MAX:
        hint = f"attach at most {ATTACHMENTS_BYTES_MAX:,} bytes in total: every prompt contains them"
        raise UsageProblem(f"the attachments have {size:,} bytes", place=place, hint=hint)
    return size


def read_upload(name: str, data: bytes, redactor: Redactor) -> Attachment:
    """Return an attachment with the text of an uploaded file.

    The text is cut to `ATTACHMENT_BYTES_MAX`, and secrets are removed from it. Raises `UsageProblem` for binary data,
    and for a name such as `.env`.
    """
    _check_name(name, name)
    return _attachment(name, data[: ATTACHMENT_BYTES_MAX + SECRET_BYTES_MAX], len(data), redactor)


def _check_name(base: str, name: str) -> None:
    if _PRIVATE.match(base):
        raise UsageProblem(
            "a file with this name usually contains secrets", place=name, hint="copy what matters to another file"
        )


def _attachment(name: str, data: bytes, size: int, redactor: Redactor) -> Attachment:
    if b"\0" in data:
        raise UsageProblem("this is binary data, not text", place=name, hint="attach text files")
    # The text is cut only now, so that no secret is cut to something that does not look like a secret.
    text = redactor.text(data.decode(errors="replace")).encode()[:ATTACHMENT_BYTES_MAX].decode(errors="ignore")
    return Attachment(name=name, text=text, left_out=max(0, size - ATTACHMENT_BYTES_MAX))


def _file(path: Path, name: str, redactor: Redactor) -> Attachment:
    _check_name(path.name, name)
    try:
        # A pipe or a device would block or never end. The file is opened first, so that it cannot be exchanged for
        # another.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        facts = os.fstat(opened)
        if not stat.S_ISREG(facts.st_mode):
            os.close(opened)
            raise UsageProblem("this is not a file", place=name, hint="name a text file; --repo takes a folder")
        with os.fdopen(opened, "rb") as file:
            data = file.read(ATTACHMENT_BYTES_MAX + SECRET_BYTES_MAX)
    except (OSError, ValueError) as error:
        cause = "there is no such file" if isinstance(error, FileNotFoundError) else _cause(error)
        raise UsageProblem(cause, place=name, hint="name a text file that you may read") from None
    return _attachment(name, data, facts.st_size, redactor)


def _cause(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or "no file can have this name").lower()


def _list_files(repository: str) -> list[str]:
    folder = Path(repository)
    if not folder.is_dir():
        raise UsageProblem("there is no such folder", place=repository, hint="name the folder of the repository")
    git = shutil.which("git")
    if git is None:
        raise UsageProblem(
            "this option needs git, which is not installed", place="--repo", hint="install git, or use --attach"
        )
    with tempfile.TemporaryDirectory(prefix="replan-") as data:
        own = [git, f"--git-dir={data}"]
        try:
            _run([*own, "init", "-q", "--bare", data], folder)
            options = ("--others", "--exclude-standard", "-z")
            listed = _run([*own, f"--work-tree={folder.absolute()}", "ls-files", *options], folder)
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageProblem(
                f"git cannot list the files of this folder: {error}", place=repository, hint="use --attach"
            ) from None
    names = listed.decode(errors="replace").split("\0")
    return sorted(name for name in names if name and not name.endswith("/") and name.isprintable())


def _run(command: Sequence[str], folder: Path) -> bytes:
    """Run git, and return its output. git gets no variable `GIT_*`, because it could name another repository."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, timeout=GIT_SECONDS)  # noqa: S603 -- git itself, with paths of the user
    return done.stdout


def _listing(repository: str, paths: Sequence[str]) -> Attachment:
    kept = sorted(sorted(paths, key=lambda path: (path.count("/"), path))[:LISTED_MAX])
    while len("\n".join(kept).encode()) > ATTACHMENT_BYTES_MAX:
        kept = kept[: len(kept) * 3 // 4]
    name = Path(repository).resolve().name or repository
    return Attachment(name=name, text="\n".join(kept), kind="listing", left_out=len(paths) - len(kept))


def _read_named(
    folder: Path, paths: Sequence[str], problem: str, redactor: Redactor
) -> tuple[list[Attachment], list[tuple[str, str]]]:
    """Return the attachments of the files that a problem names.

    Also return the named files that cannot be attached, each with the reason.
    """
    attachments: list[Attachment] = []
    skipped: list[tuple[str, str]] = []
    root, left = folder.resolve(), ATTACHMENTS_BYTES_MAX // 2
    for path in list(_find_paths(paths, problem))[:NAMED_MAX]:
        whole = folder / path
        if not whole.resolve().is_relative_to(root):
            skipped.append((path, "the path leads out of the repository"))
            continue
        try:
            attachment = _file(whole, path, redactor)
        except UsageProblem as refused:
            skipped.append((path, refused.cause))
            continue
        size = len(attachment.shown.encode())
        if size > left:
            skipped.append((path, "the attachments would be too large"))
            continue
        left -= size
        attachments.append(attachment)
    return attachments, skipped


def _find_paths(paths: Sequence[str], problem: str) -> Iterator[str]:
    """Yield the paths that a problem names, in the order of the problem's text.

    A name is a whole path, the end of a path, or a unique file name.
    """
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(PurePosixPath(path).name, []).append(path)
    seen: set[str] = set()
    for match in _PATH.finditer(problem):
        token = match[0].replace("\\", "/").strip(".").removeprefix("./")
        same_name = by_name.get(PurePosixPath(token).name, [])
        near = [path for path in same_name if f"/{token}".endswith(f"/{path}") or f"/{path}".endswith(f"/{token}")]
        longest = max((len(path) for path in near if f"/{token}".endswith(f"/{path}")), default=0)
        chosen = [path for path in near if len(path) >= longest]
        for path in chosen if len(chosen) == 1 else ():
            if path not in seen:
                seen.add(path)
                yield path
