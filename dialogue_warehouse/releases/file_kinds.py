"""Kinds of files that are found in place of a data file, recognized by their first bytes.

Downloads and clones leave them under the name of the intended file: a Git LFS pointer, a sign-in page, an archive that
was not unpacked, the error response of a server.
"""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path
from typing import NamedTuple

from dialogue_warehouse.corpora.forms import SUFFIXES
from dialogue_warehouse.releases.value_lines import is_plain

GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
HEAD = 2**16
"""First bytes of a file that are examined."""
DOWNLOAD = "download the file itself"
FETCH = ", for example with `dialogue-warehouse fetch`"
PUBLISHED = "put the published file in its place"
BROKEN_LINK = "is a broken link; mount the disk that it leads to, or put the file in its place"
UNREADABLE = {
    errno.EISDIR: f"is a folder, not a file: {PUBLISHED}",
    errno.EINVAL: f"is a pipe or a device, not a regular file: {PUBLISHED}",
    errno.ELOOP: f"is a link that leads back to itself: {PUBLISHED}",
    errno.EACCES: "Permission denied: let this user read it",
}
"""Errors of the system when a file is read, in words, with what to do."""
LONGEST_TITLE = 60
"""Maximum number of characters that are quoted of a page's title or a server's answer."""
LONGEST_ANSWER = 4096
"""Maximum number of bytes of an error response; a longer file contains data."""


class Kind(NamedTuple):
    """A kind of file, as in 'a web page', and advice for getting the data file."""

    name: str
    advice: str
    is_download: bool = False
    """True if the advice includes downloading the file."""


def _archive(name: str) -> Kind:
    return Kind(name, "unpack it, and put the file from inside in its place")


def _data(name: str) -> Kind:
    return Kind(name, PUBLISHED)


def _download(name: str, instead: str = "") -> Kind:
    return Kind(name, f"{instead}, or {DOWNLOAD}" if instead else DOWNLOAD, is_download=True)


SIGNATURES: tuple[tuple[int, bytes, Kind], ...] = (
    (0, b"PK\x03\x04", _archive("a zip archive")),
    (0, b"PK\x05\x06", _archive("an empty zip archive")),
    (0, b"PK\x07\x08", _archive("a zip archive")),
    (0, GZIP, _archive("a gzip archive")),
    (0, b"\x1f\x9d", _archive("a compress (.Z) archive")),
    (0, b"\xfd7zXZ\x00", _archive("an xz archive")),
    (0, b"\x5d\x00\x00", _archive("an LZMA archive")),
    (0, b"BZh", _archive("a bzip2 archive")),
    (0, b"\x28\xb5\x2f\xfd", _archive("a zstd archive")),
    (0, b"\x04\x22\x4d\x18", _archive("an lz4 archive")),
    (0, b"\xff\x06\x00\x00sNaPpY", _archive("a snappy archive")),
    (0, b"\x78\x01", _archive("a zlib stream")),
    (0, b"\x78\x9c", _archive("a zlib stream")),
    (0, b"\x78\xda", _archive("a zlib stream")),
    (0, b"7z\xbc\xaf\x27\x1c", _archive("a 7z archive")),
    (0, b"Rar!\x1a\x07", _archive("a rar archive")),
    (257, b"ustar", _archive("a tar archive")),
    (0, PARQUET, _data("a Parquet file")),
    (0, b"ARROW1", _data("an Arrow file")),
    (0, b"\xff\xff\xff\xff", _data("an Arrow stream")),
    (0, b"Obj\x01", _data("an Avro file")),
    (0, b"\x89HDF", _data("an HDF5 file")),
    (0, b"\x93NUMPY", _data("a NumPy file")),
    (0, b"SQLite format 3\x00", _data("an SQLite database")),
    (8, b"DUCK", _data("a DuckDB database")),
    (0, b"%PDF-", _data("a PDF document")),
    (0, b"{\\rtf", _data("an RTF document")),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _data("a document of Microsoft Office")),
    (0, b"\x89PNG", _data("an image")),
    (0, b"\xff\xd8\xff", _data("an image")),
    (0, b"\x7fELF", _data("a program")),
)
"""The offset and the bytes that identify a kind, and the kind."""
PICKLE = re.compile(rb"\x80[\x02-\x05][\x8c\x95c}\](]")
LFS_POINTER = re.compile(rb"version https?://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/")
ANNEX_POINTER = re.compile(rb"(?:\.\./|\.git/)*/?annex/objects/")
LINK_TEXT = re.compile(rb"(?!.*//)[^\x00-\x1f\"'{}\[\]<>|,:;?*]{1,1024}+")
"""A path without a line break: the content of a symbolic link's file if a checkout of Git could not create the link."""
LINKED = re.compile(rb"\.{1,2}/|.*\.(?:json|jsonl|csv|parquet|gz)\Z|.*/.*/", re.DOTALL)
MARKUP = re.compile(
    rb"\s*+(?:<\?xml[^>]*+>\s*+)?+(?:<!--(?>.*?-->)\s*+)*+<(?P<name>!doctype\s+html|[a-z][\w:-]*)", re.DOTALL | re.I
)
PAGE = re.compile(rb"\s*+<(?:\?xml|!--|!doctype|html\b)", re.I)
HTML = re.compile(rb"!doctype|html|head|body|title|meta|script|style|div|p|h[1-6]|center|br|table|pre|a|span", re.I)
TITLE = re.compile(rb"<title[^>]{0,200}+>(.{0,1000}?)</title", re.DOTALL | re.I)
CODE = re.compile(rb"<Code>(.{0,200}?)</Code>", re.DOTALL)
REFUSAL = re.compile(
    rb"(?:[45]\d\d\b[: -].*|[45]\d\d: [a-z ]+\r?\n(?s:.*)|(?:api )?rate limit exceeded.*|error code: \d+"
    rb"|(?:\w+ )?not found|forbidden|unauthorized|access denied|bad gateway|service unavailable"
    rb"|too many requests|access to \w+ .* restricted.*|invalid username or password|repository not found)\.?\s*",
    re.I,
)
"""Responses of servers in plain text, such as `404: Not Found` and `Entry not found`."""
ANSWER_KEYS = re.compile(
    r"messages?|msg|errors?|error_description|status_?(?:code)?|code|details?|reason|title|type|success|documentation_url"
    r"|request_?id|hostid|resource|path|timestamp|url",
    re.I,
)
"""Keys of a JSON object that describes an error."""
ANSWERING = ("message", "error", "errors", "detail", "details", "msg", "error_description", "reason", "title")
"""Keys of which an error response has at least one, in the order in which they are quoted."""


def refusal(where: str, kind: Kind) -> str:
    """Describe in one line what a file is and what to do; `fetch` downloads releases, but no other form."""
    fetch = FETCH if kind.is_download and not where.endswith(SUFFIXES) else ""
    return f"{where}: is {kind.name}, not the file: {kind.advice}{fetch}"


def other_kind(path: str, data: bytes) -> Kind | None:
    """Recognize a file that is not the data file of this name; None for one that may be."""
    if (path.endswith(".gz") and data.startswith(GZIP)) or (path.endswith(".parquet") and data.startswith(PARQUET)):
        return None
    head = data[:HEAD].removeprefix(b"\xef\xbb\xbf")
    if head and not head[:64].strip(b"\0"):
        return _download("a download that did not finish (it begins with zero bytes)")
    for at, mark, kind in SIGNATURES:
        if head.startswith(mark, at):
            return kind
    if PICKLE.match(head):
        return _data("a Python pickle")
    return _text_kind(head, len(data), is_plain(path))


def answer_kind(text: bytes) -> Kind | None:
    """Recognize the JSON error response of a server. Call it only for a file that the schema refuses."""
    if len(text) > LONGEST_ANSWER:
        return None
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict) or not all(map(ANSWER_KEYS.fullmatch, answer)):
        return None
    answer = {key.lower(): value for key, value in answer.items()}
    found = next((answer[key] for key in ANSWERING if answer.get(key)), None)
    if isinstance(found, list):
        found = found[0]
    if isinstance(found, dict):
        found = next((found[key] for key in (*ANSWERING, "code") if found.get(key)), found)
    return _answer(str(found)) if found else None


def why_unreadable(file: Path, error: OSError) -> str:
    """Describe why a file cannot be read, and what to do if that is known."""
    if isinstance(error, FileNotFoundError) and file.is_symlink():
        return BROKEN_LINK
    return UNREADABLE.get(error.errno or 0, str(error.strerror))


def _text_kind(head: bytes, size: int, is_text: bool) -> Kind | None:
    """Recognize a kind of text file; a file of texts may begin with a mark such as `<laughs>`."""
    if LFS_POINTER.match(head):
        return _download("a Git LFS pointer", "run `git lfs pull` where it was cloned")
    if size <= LONGEST_ANSWER and ANNEX_POINTER.match(head):
        return _download("a pointer of git-annex", "run `git annex get` where it was cloned")
    if (markup := MARKUP.match(head)) and (PAGE.match(head) or not is_text):
        return _markup_kind(head, markup["name"])
    if size > LONGEST_ANSWER:
        return None
    if REFUSAL.fullmatch(head):
        return _answer(_quotable(head))
    if LINK_TEXT.fullmatch(head) and LINKED.match(head):
        name = f"the text of a symbolic link to {_quotable(head)}"
        return _download(name, "put the file that it names in its place")
    return None


def _markup_kind(head: bytes, name: bytes) -> Kind:
    if code := CODE.search(head):
        return _answer(_quotable(code[1]))
    title = TITLE.search(head)
    quoted = f" titled '{_quotable(title[1])}'" if title and title[1].strip() else ""
    return _download(f"a web page{quoted}" if title or HTML.match(name) else "XML")


def _answer(text: str) -> Kind:
    return _download(f"the error response of a server ('{_quotable(text.encode('utf-8', 'replace'))}')")


def _quotable(text: bytes) -> str:
    """Return the beginning of a text, in one line without control characters."""
    words = " ".join(text[: 4 * LONGEST_TITLE].decode("utf-8", "replace").split())
    shown = "".join(character for character in words if character.isprintable())
    return shown if len(shown) <= LONGEST_TITLE else f"{shown[: LONGEST_TITLE - 1]}…"
