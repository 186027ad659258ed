"""Other kinds of files in place of a data file: each is named in one line, which says what to do."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import pickle
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from dialogue_warehouse.corpora.release import Container, Entity, SourceFile
from dialogue_warehouse.releases.file_kinds import LONGEST_ANSWER, answer_kind, other_kind
from dialogue_warehouse.releases.records import LandingError
from dialogue_warehouse.releases.unpacking import unpack
from pipelines.ingestion.landing import LandingTask, land_file
from tests.unit.item_files import DOCUMENT, ENTRIES, ITEM, ITEMS, LINES, SPLITS, land, make_corpus

JSON = json.dumps([ITEM]).encode()
PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in\n &middot; GitHub</title></head></html>\n"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12345678\n" % (b"0" * 64)
NO_SUCH_KEY = b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>'

TEXTS = {
    "pointer": (POINTER, "a Git LFS pointer"),
    "old pointer": (b"version https://hawser.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
    "pointer with CRLF": (POINTER.replace(b"\n", b"\r\n"), "a Git LFS pointer"),
    "pointer of git-annex": (b"/annex/objects/SHA256E-s12--00.json\n", "a pointer of git-annex"),
    "link of git-annex": (b"../.git/annex/objects/a/b/SHA256E-s12--00.json", "a pointer of git-annex"),
    "page": (PAGE, "a web page titled 'Sign in &middot; GitHub'"),
    "page with a mark and blanks": (b"\xef\xbb\xbf\r\n\t " + PAGE, "a web page titled 'Sign in &middot; GitHub'"),
    "page without a type": (b"<HTML><BODY>404</BODY></HTML>", "a web page"),
    "page behind a comment": (b"<!-- saved -->\n<html lang=en><p>x", "a web page"),
    "page of XHTML": (b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN"><html>', "a web page"),
    "piece of a page": (b"<h1>403 Forbidden</h1>", "a web page"),
    "page with control characters": (
        b"<html><title>\x1b[31m\x85a\xe2\x80\xa8b</title>",
        "a web page titled '[31m\ufffda b'",
    ),
    "error of a store": (NO_SUCH_KEY, "the error response of a server ('NoSuchKey')"),
    "error of a store with a mark": (b"\xef\xbb\xbf" + NO_SUCH_KEY, "the error response of a server ('NoSuchKey')"),
    "other XML": (b'<?xml version="1.0"?>\n<rss><channel/></rss>', "XML"),
    "error in words": (b"404: Not Found", "the error response of a server ('404: Not Found')"),
    "error in two lines": (
        b"429: Too Many Requests\nFor more on scraping, please review our Terms of Service",
        "the error response of a server ('429: Too Many Requests For more on scraping, please review …')",
    ),
    "limit in words": (
        b"API rate limit exceeded for 192.0.2.1.",
        "the error response of a server ('API rate limit exceeded for 192.0.2.1.')",
    ),
    "number of an error": (b"error code: 1020", "the error response of a server ('error code: 1020')"),
    "error in words with an end": (b"Entry not found\n", "the error response of a server ('Entry not found')"),
    "link": (b"../data/abcd_v1.1.json.gz", "the text of a symbolic link to ../data/abcd_v1.1.json.gz"),
    "link to a neighbour": (b"train.json", "the text of a symbolic link to train.json"),
    "absolute link": (b"/data/corpora/train", "the text of a symbolic link to /data/corpora/train"),
    "zeros": (bytes(70_000), "a download that did not finish (it begins with zero bytes)"),
    "few zeros": (bytes(3), "a download that did not finish (it begins with zero bytes)"),
    "zeros in front": (bytes(4096) + JSON, "a download that did not finish (it begins with zero bytes)"),
    "rich text": (rb"{\rtf1\ansi dlg-1,\par}", "an RTF document"),
}


def zipped(*names: str) -> bytes:
    """Return an archive made by Python's zipfile."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, JSON)
    return stream.getvalue()


def written(write: Callable[[pa.Table, io.BytesIO], object]) -> bytes:
    """Return the bytes that a writer of tables writes."""
    stream = io.BytesIO()
    write(pa.table({"a": [1]}), stream)
    return stream.getvalue()


def tarred() -> bytes:
    """Return an archive made by Python's tarfile."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("items.json"))
    return stream.getvalue()


BINARY = {
    "zip": (zipped("items.json"), "a zip archive"),
    "empty zip": (zipped(), "an empty zip archive"),
    "tar": (tarred(), "a tar archive"),
    "xz": (lzma.compress(JSON), "an xz archive"),
    "lzma": (lzma.compress(JSON, lzma.FORMAT_ALONE), "an LZMA archive"),
    "bzip2": (bz2.compress(JSON), "a bzip2 archive"),
    "zlib": (zlib.compress(JSON), "a zlib stream"),
    "zstd": (pa.compress(JSON, codec="zstd", asbytes=True), "a zstd archive"),
    "lz4": (pa.compress(JSON, codec="lz4", asbytes=True), "an lz4 archive"),
    "7z": (b"7z\xbc\xaf\x27\x1c\x00\x04", "a 7z archive"),
    "rar": (b"Rar!\x1a\x07\x01\x00", "a rar archive"),
    "Parquet": (written(parquet.write_table), "a Parquet file"),
    "Arrow": (written(feather.write_feather), "an Arrow file"),
    "pickle": (pickle.dumps([ITEM]), "a Python pickle"),
    "NumPy": (b"\x93NUMPY\x01\x00v\x00{'descr'", "a NumPy file"),
    "PDF": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
}
KINDS = TEXTS | BINARY


@pytest.mark.parametrize("name", ["train/items.json", "data.json.gz", "split.csv", "rows.jsonl", "rows.parquet"])
@pytest.mark.parametrize(("data", "reported"), KINDS.values(), ids=list(KINDS))
def test_other_kind_of_file_is_named_under_any_name(data: bytes, reported: str, name: str) -> None:
    """Regression: a pointer, a page or an archive named like a data file was "broken gzip" or "not JSON at byte 0".

    Only a Parquet file under the name of one is the file itself.
    """
    if name.endswith(".parquet") and reported == "a Parquet file":
        assert unpack(f"toy/{name}", data).content == data
        return
    with pytest.raises(LandingError) as refused:
        unpack(f"toy/{name}", data)
    assert str(refused.value).startswith(f"toy/{name}: is {reported}, not the file: ")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(("data", "reported"), KINDS.values(), ids=list(KINDS))
def test_other_kind_of_file_is_named_inside_an_archive(data: bytes, reported: str) -> None:
    """`curl | gzip` compresses an error page in the same way as a file."""
    with pytest.raises(LandingError) as refused:
        unpack("toy/data.json.gz", gzip.compress(data, mtime=0))
    assert str(refused.value).startswith(f"toy/data.json.gz: is {reported}, not the file: ")


@pytest.mark.parametrize(
    ("piece", "kind"),
    [(b"<!-- -->", None), (b"<title>", "a web page"), (b"<title", "a web page"), (b"<Code>", "XML")],
)
def test_malicious_text_does_not_take_long(piece: bytes, kind: str | None) -> None:
    """A pattern that tries every way to divide that number of comments would not end."""
    found = other_kind("train.json", piece * 20_000)
    assert (found and found.name) == kind


def test_databases_are_named(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.sqlite") as con:
        con.execute("create table a (b)")
    con.close()
    duckdb.connect(str(tmp_path / "a.duckdb")).close()
    for name, reported in (("a.sqlite", "an SQLite database"), ("a.duckdb", "a DuckDB database")):
        kind = other_kind("train.json", (tmp_path / name).read_bytes())
        assert kind is not None
        assert kind.name == reported


@pytest.mark.parametrize(
    "text",
    [
        JSON,
        b"",
        b" \n",
        b'"../data/train.json"',
        b"404",
        b"[404]",
        b"dlg-1,\n",
        b"dlg-1",
        b"dlg-1.json\n",
        b"dlg-1,\r\ndlg-2,\r\n",
        b"BZ,\nPK,\n",
        b"version 1,\n",
        b"429: Too Many,\nRequests,\n",
        b"rate limit,\n",
        b"not JSON at all",
        b'{"<html>": 1}',
    ],
)
def test_possible_text_of_the_file_is_not_another_kind(text: bytes) -> None:
    """The failing twin: a file without the mark of another kind is left to the reader of its container."""
    assert other_kind("train.json", text) is None


@pytest.mark.parametrize("text", [b"<laughs> hi\n", b"<A> hi\n", b"<p>: hi\n"])
def test_file_of_texts_may_begin_with_a_mark(text: bytes) -> None:
    assert other_kind("toy/a.txt", text) is None
    assert other_kind("toy/a.json", text) is not None


def test_listed_archive_is_not_another_kind() -> None:
    data = gzip.compress(JSON)
    assert other_kind("a.json.gz", data) is None
    kind = other_kind("a.json", data)
    assert kind is not None
    assert kind.name == "a gzip archive"


ANSWERS = {
    "GitHub": ({"message": "Not Found", "documentation_url": "https://x", "status": "404"}, "Not Found"),
    "Hugging Face": ({"error": "Repository not found"}, "Repository not found"),
    "AWS": ({"Message": "Forbidden"}, "Forbidden"),
    "FastAPI": ({"detail": "Not authenticated"}, "Not authenticated"),
    "Google": ({"error": {"code": 404, "message": "No such object", "errors": []}}, "No such object"),
    "list of errors": ({"errors": [{"status": "401", "title": "Unauthorized"}]}, "Unauthorized"),
    "problem details": ({"type": "about:blank", "title": "Too Many Requests", "status": 429}, "Too Many Requests"),
}


@pytest.mark.parametrize(("answer", "reported"), ANSWERS.values(), ids=list(ANSWERS))
@pytest.mark.parametrize(
    ("entity", "path"),
    [(ITEMS, "train/items.json"), (ENTRIES, "entries.json"), (SPLITS, "splits.json.gz"), (DOCUMENT, "document.json")],
    ids=["array", "entries", "splits", "document"],
)
def test_error_answer_in_json_is_rejected_in_every_container(
    tmp_path: Path, answer: dict, reported: str, entity, path: str
) -> None:
    """Regression: it is JSON, so a file of entries read its keys as records and set all of them aside silently."""
    with pytest.raises(LandingError) as refused:
        land(tmp_path, answer, entity, path)
    assert str(refused.value).startswith(f"toy/{path}: is the error response of a server ('{reported}'), not the file")


@pytest.mark.parametrize(
    "answer",
    [
        {"message": "Not Found", "greeting": "hi"},
        {"status": 404},
        {"message": ""},
        {"message": "x" * LONGEST_ANSWER},
        ["message"],
        {},
    ],
)
def test_other_json_is_not_an_error_answer(answer: object) -> None:
    assert answer_kind(json.dumps(answer).encode()) is None


def test_valid_error_answer_is_rejected_in_place_of_a_listed_file(tmp_path: Path) -> None:
    """Regression: a file of names and texts accepts any object of texts, so `message` became a record."""
    texts = Entity("texts", str, Container.ENTRIES, r"texts\.json")
    answer = b'{"message": "API rate limit exceeded", "documentation_url": "https://x"}'
    (tmp_path / "texts.json").write_bytes(answer)
    for sha256 in ("0" * 64, hashlib.sha256(answer).hexdigest()):
        corpus = make_corpus(tmp_path, texts, files=(SourceFile("texts.json", "http://x", sha256=sha256),))
        task = LandingTask(corpus, texts, tmp_path, "texts.json", tmp_path / "raw")
        if sha256.strip("0"):
            assert land_file(task).record_count == 2
        else:
            with pytest.raises(LandingError, match="is the error response of a server"):
                land_file(task)


def test_advice_is_to_fetch_a_release_and_not_another_form_of_it() -> None:
    """`fetch` downloads only files of the publishers."""
    for name, is_fetched in (
        ("dev/items.json", True),
        ("data.json.gz", True),
        ("a.parquet", False),
        ("a.jsonl", False),
    ):
        with pytest.raises(LandingError) as refused:
            unpack(f"toy/{name}", b"<!doctype html>")
        assert ("dialogue-warehouse fetch" in str(refused.value)) == is_fetched


def test_records_that_look_like_an_error_answer_are_landed(tmp_path: Path) -> None:
    """The failing twin: the schema decides, and accepts these."""
    assert land(tmp_path, {"message": ["Not Found"], "status": []}, ENTRIES, "entries.json").record_count == 2


def test_page_in_place_of_lines_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match=r"^toy/train\.csv: is a web page"):
        land(tmp_path, PAGE, LINES, "train.csv")
