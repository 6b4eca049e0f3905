"""Reads the bytes of a document in a confined process. It also reads documents within ZIP files and e-mails. Pure.

The result is a list of parts. Each part has a `name` (empty for the document itself), and either a `problem`, or `raw`
(the bytes of a text file as base64), or `blocks` (`replan_acquire.documents.extract_process`).
"""

import base64
import email
import email.policy
import importlib
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from email.message import EmailMessage
from pathlib import PurePosixPath
from typing import Any

Part = dict[str, Any]

MEMBERS_MAX = 200
"""The largest number of files that are read from one ZIP file, and of attachments that are read from one e-mail."""
NESTED_MAX = 2
UNPACKED_BYTES_MAX = 64 * 1024 * 1024
TEXT_BYTES_MAX = 2 * 1024 * 1024
"""The largest number of bytes in a text file within a ZIP file or an e-mail."""
TEXTS = frozenset({".txt", ".text", ".md", ".markdown", ".rst", ".html", ".htm", ".xhtml", ".csv", ".tsv"})
"""The file name suffixes of text files that are read within ZIP files and e-mails."""
FORMATS = {".pdf": "pdf", ".docx": "docx", ".xlsx": "xlsx", ".xlsm": "xlsx", ".eml": "eml", ".zip": "zip"}
_HEADERS = ("From", "To", "Date", "Subject")
_NAME_CHARACTERS = 200
READERS = {
    "pdf": "replan_acquire.documents.extract_pdf",
    "docx": "replan_acquire.documents.extract_docx",
    "xlsx": "replan_acquire.documents.extract_xlsx",
}
"""For each format, the module that reads it. The module's `prepare()` imports all that reading needs, and its
`read(content)` returns a part of a document."""
_CODECS = (
    *("ascii", "utf_8", "utf_7", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "latin_1", "cp437", "charmap"),
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1257", "iso8859_1", "iso8859_2", "iso8859_5", "iso8859_7"),
    *("iso8859_9", "iso8859_15", "koi8_r", "mac_roman", "gb2312", "gbk", "gb18030", "big5", "shift_jis", "euc_jp"),
    *("euc_kr", "iso2022_jp", "idna", "punycode", "quopri_codec", "base64_codec", "raw_unicode_escape"),
)


class DocumentRefused(Exception):
    """The document cannot be read. The message is the reason, such as `the file is empty`."""


def prepare_readers(wanted: str) -> None:
    """Import all modules that are needed to read the format `wanted`.

    For a ZIP file or an e-mail, import those of all readers.
    """
    for name in _CODECS:
        importlib.import_module(f"encodings.{name}")
    for name in ("quopri", "binascii", "bz2", "lzma", "email.mime.text", "email.header", "email.headerregistry"):
        importlib.import_module(name)
    for reader in READERS if wanted in {"zip", "eml"} else {wanted} & set(READERS):
        importlib.import_module(READERS[reader]).prepare()


def read_parts(wanted: str, content: bytes) -> list[Part]:
    """Return the parts of a document.

    Raises `DocumentRefused`. If the document is damaged, a library may raise any other error.
    """
    return list(_parts(wanted, content, "", 0))


def _parts(wanted: str, content: bytes, name: str, depth: int) -> Iterator[Part]:
    _check_beginning(wanted, content)
    if wanted == "zip":
        yield from _members(content, name, depth)
    elif wanted == "eml":
        yield from _message(content, name, depth)
    else:
        if wanted in {"docx", "xlsx"}:
            open_archive(content)
        read: Callable[[bytes], Mapping[str, Any]] = importlib.import_module(READERS[wanted]).read
        yield {"name": name, **read(content)}


def _check_beginning(wanted: str, content: bytes) -> None:
    """Check the first bytes of a document against its format. Raises `DocumentRefused`."""
    is_zip = content.startswith(b"PK")
    if not content:
        raise DocumentRefused("the file is empty")
    if wanted in {"docx", "xlsx", "zip"} and not is_zip:
        old = content.startswith(b"\xd0\xcf\x11\xe0")
        other = f"the file's format is not {wanted.upper()}"
        raise DocumentRefused("the file is encrypted, or it has an old format (OLE)" if old else other)
    if wanted == "pdf" and b"%PDF-" not in content[:1024]:
        raise DocumentRefused("the file is not a PDF file")


def open_archive(content: bytes) -> zipfile.ZipFile:
    """Open a ZIP file.

    Raises `DocumentRefused` if the ZIP directory is damaged, or if the unpacked files are too large.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OverflowError, RuntimeError) as error:
        raise DocumentRefused(f"the file's ZIP directory is damaged ({error})") from None
    size = sum(entry.file_size for entry in archive.infolist())
    if size > UNPACKED_BYTES_MAX:
        raise DocumentRefused(f"the unpacked file has more than {UNPACKED_BYTES_MAX // 2**20} MiB")
    return archive


def describe_dangers(content: bytes) -> list[str]:
    """Return notices about macros and links in an office document, which the reader ignores."""
    archive = open_archive(content)
    names = archive.namelist()
    notices = ["the file's macros are not run"] if any(name.endswith("vbaProject.bin") for name in names) else []
    relations = (archive.read(name) for name in names if name.endswith(".rels"))
    if any(name.startswith("xl/externalLinks/") for name in names) or any(map(_leads_outside, relations)):
        notices.append("the file's links to other files are not followed")
    return notices


def _leads_outside(relations: bytes) -> bool:
    outside = (part for part in relations.split(b"<Relationship ") if b'TargetMode="External"' in part)
    return any(b"/hyperlink" not in item for item in outside)


def _inner(outer: str, name: str) -> str:
    plain = "".join(item if item.isprintable() else "\ufffd" for item in name)[-_NAME_CHARACTERS:]
    return f"{outer}/{plain}" if outer else plain


def _members(content: bytes, outer: str, depth: int) -> Iterator[Part]:
    archive = open_archive(content)
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MEMBERS_MAX:
        yield {"name": outer, "problem": f"only the first {MEMBERS_MAX} of the {len(entries):,} files are read"}
    for entry in entries[:MEMBERS_MAX]:
        name = _inner(outer, entry.filename)
        if entry.flag_bits & 1:
            yield {"name": name, "problem": "the file is protected by a password"}
            continue
        if _format_of(entry.filename) is None:
            yield {"name": name, "problem": "left out, because files of its type are not read"}
            continue
        try:
            # `ZipExtFile` gives no more bytes than the directory states, so the check above holds.
            inside = archive.read(entry)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
            yield {"name": name, "problem": f"the file is damaged ({' '.join(str(error).split())[:100]})"}
            continue
        yield from _inner_parts(entry.filename, inside, name, depth + 1)


def _format_of(name: str) -> str | None:
    suffix = PurePosixPath(name.lower()).suffix
    return "text" if suffix in TEXTS else FORMATS.get(suffix)


def _inner_parts(filename: str, content: bytes, name: str, depth: int) -> Iterator[Part]:
    """Yield the parts of a document within another document.

    If the inner document cannot be read, the only part has a `problem`.
    """
    wanted = _format_of(filename)
    if wanted is None:
        yield {"name": name, "problem": "left out, because files of its type are not read"}
    elif wanted == "text":
        if len(content) > TEXT_BYTES_MAX:
            yield {"name": name, "problem": f"left out, because the file has more than {TEXT_BYTES_MAX // 1024} KiB"}
        else:
            yield {"name": name, "raw": base64.b64encode(content).decode()}
    elif depth > NESTED_MAX:
        yield {"name": name, "problem": f"left out, because the file is nested more than {NESTED_MAX} levels deep"}
    else:
        try:
            yield from _parts(wanted, content, name, depth)
        except DocumentRefused as refused:
            yield {"name": name, "problem": str(refused)}
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - as in `extract_main`: one damaged file leaves the others
            found = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
            yield {"name": name, "problem": f"the file is damaged, or it has another format ({found})"}


def _message(content: bytes, outer: str, depth: int) -> Iterator[Part]:
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    if not message.keys():
        raise DocumentRefused("the file is not an e-mail, because it has no header")
    blocks: list[Part] = [
        {"kind": "text", "place": f"header {name}", "text": f"{name}: {' '.join(str(message[name]).split())}"}
        for name in _HEADERS
        if message[name]
    ]
    body = message.get_body(("plain", "html"))
    if body is not None:
        kind = "html" if body.get_content_subtype() == "html" else "plain"
        blocks.append({"kind": kind, "place": "body", "text": _text(body)})
    title = " ".join(str(message["Subject"] or "").split())
    yield {"name": outer, "title": title, "language": "", "blocks": blocks}
    attached = list(message.iter_attachments()) if message.is_multipart() else []
    if len(attached) > MEMBERS_MAX:
        yield {"name": outer, "problem": f"only the first {MEMBERS_MAX} attachments are read"}
    for number, part in enumerate(attached[:MEMBERS_MAX], 1):
        if part.get_content_type() == "message/rfc822":
            inside = part.get_content()
            filename = part.get_filename() or f"message{number}.eml"
            payload = inside.as_bytes() if isinstance(inside, EmailMessage) else b""
        else:
            filename = part.get_filename() or f"attachment{number}"
            decoded = part.get_payload(decode=True)
            payload = decoded if isinstance(decoded, bytes) else b""
        yield from _inner_parts(filename, payload, _inner(outer, filename), depth + 1)


def _text(body: Any) -> str:
    decoded = body.get_payload(decode=True)
    assert isinstance(decoded, bytes)
    charset = body.get_content_charset() or "utf-8"
    try:
        return decoded.decode(charset, "replace")
    except (LookupError, ValueError):
        return decoded.decode("utf-8", "replace")
