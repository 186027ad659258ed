"""Files of predictions, decoded strictly into tables.

A file that ends with `.json` has an array or an object of records, as the official scripts write them; one that ends
with `.jsonl` has a record per line. The corpus says what a record is and which rows it becomes. One record is in memory
at a time, and the text of one file.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import msgspec
from msgspec import inspect

from dialogue_warehouse.common import files
from dialogue_warehouse.common.database import NO_PATH, identifier, literal
from dialogue_warehouse.common.json_values import split_path
from dialogue_warehouse.common.text import is_unicode
from dialogue_warehouse.corpora.column_types import OBJECT_SIZE, duckdb_type, longest_line, type_of
from dialogue_warehouse.corpora.scores import PredictionForm, Row, Scoring
from dialogue_warehouse.errors import InputError

NAMED_CHARACTERS = 100
"""Characters of a name in a message."""
WRITTEN_BY_THE_SCRIPT = "dialogues_and_metrics.json"
"""A file that an official script writes beside the predictions, and does not read."""
PERHAPS_PREDICTIONS = re.compile(r"\.(json|jsonl|ndjson)(\.(gz|bz2|xz|zst|zip))?$", re.IGNORECASE)
"""The end of a file name that a user may take for predictions."""
BEGINNINGS = {
    b"\xef\xbb\xbf": "begins with a byte order mark (BOM); write it as UTF-8 without one",
    b"\xff\xfe": "is UTF-16; write it as UTF-8",
    b"\xfe\xff": "is UTF-16; write it as UTF-8",
    b"\x1f\x8b": "is compressed with gzip; unpack it first",
    b"PK\x03\x04": "is a ZIP archive; unpack it first",
}
"""The first bytes of files that are not JSON in UTF-8, and what to do with them."""


@dataclass(frozen=True)
class Predictions:
    """Predictions that were read into tables."""

    form: str
    sha256: str
    """Of the names and the bytes of the files."""
    files: tuple[str, ...]
    """Their names."""
    record_count: int
    unread: tuple[str, ...]
    """Names of other files in the folder that look like predictions."""
    suffix: str


def read(con: duckdb.DuckDBPyConnection, scoring: Scoring, path: Path, scratch: Path) -> Predictions:
    """Make the tables of the predictions at a path, which is a file or a folder. Raises InputError."""
    form, found, unread = _files(scoring, path)
    _refuse_undecodable(path, [*(file.name for file in found), *unread])
    digest, records, positions = hashlib.sha256(), 0, itertools.count()
    names = []
    encoder = msgspec.json.Encoder()
    with contextlib.ExitStack() as stack:
        written: dict[str, BinaryIO] = {
            name: stack.enter_context((scratch / f"{name}.jsonl").open("wb")) for name in scoring.tables
        }
        for file in found:
            name = file.relative_to(path).as_posix() if path.is_dir() else file.name
            names.append(name)
            content = files.read_regular(file)
            for beginning, problem in BEGINNINGS.items():
                if content.startswith(beginning):
                    raise InputError(f"{file}: {problem}")
            digest.update(f"{name}\n{len(content)}\n".encode() + content)
            for place, record in _records(form, content, file):
                try:
                    for table, row in form.rows(record):
                        row.file, row.position = name, next(positions)
                        row.record = records if form.has_records else 0
                        written[table].write(encoder.encode(row) + b"\n")
                except ValueError as error:
                    raise InputError(f"{file}: {place}: {error}") from error
                records += 1
    for table, row_type in scoring.tables.items():
        _load(con, table, row_type, scratch / f"{table}.jsonl")
    return Predictions(form.name, digest.hexdigest(), tuple(names), records, unread, form.suffix)


def columns_of(row_type: type[Row]) -> dict[str, str]:
    """Return the columns of a table of predictions with their types."""
    kind = type_of(row_type)
    assert isinstance(kind, inspect.StructType)
    return {field.encode_name: duckdb_type(field.type) for field in kind.fields}


def _load(con: duckdb.DuckDBPyConnection, table: str, row_type: type[Row], lines: Path) -> None:
    columns = ", ".join(f"{identifier(name)}: {literal(of)}" for name, of in columns_of(row_type).items())
    size = max(OBJECT_SIZE, longest_line(lines))
    con.execute(
        f"create or replace temp table {identifier(table)} as select * from read_json({literal(lines)},"
        f" format = 'newline_delimited', {NO_PATH}, columns = {{{columns}}}, maximum_object_size = {size})"
    )


def _files(scoring: Scoring, path: Path) -> tuple[PredictionForm, list[Path], tuple[str, ...]]:
    """Return the form and the files at a path, in the order of their names, and the names of files left out."""
    suffixes = {form.suffix: form for form in scoring.forms}
    unread: tuple[str, ...] = ()
    if path.is_dir():
        there = [
            file
            for file in sorted(path.iterdir())
            if not file.name.startswith(".") and WRITTEN_BY_THE_SCRIPT not in file.name and not file.is_dir()
        ]
        found = [file for file in there if file.suffix in suffixes]
        others = (file.name for file in there if file.suffix not in suffixes)
        unread = tuple(name for name in others if PERHAPS_PREDICTIONS.search(name))
    elif path.exists():
        found = [path]
    else:
        raise InputError(f"{path}: there is no such file or folder")
    kinds = {file.suffix for file in found}
    named = " or ".join(suffixes)
    if len(kinds) > 1:
        raise InputError(f"{path}: predictions are files of one kind, {named}; the folder has both")
    if not kinds:
        raise InputError(f"{path}: the folder has no file whose name ends with {named}")
    if not kinds <= suffixes.keys():
        raise InputError(f"{path}: the name of a file of predictions must end with {named}")
    return suffixes[kinds.pop()], found, unread


def _refuse_undecodable(path: Path, names: list[str]) -> None:
    """Raise InputError if the name of a file, or of the file or folder itself, is not UTF-8: the results name them."""
    places = [path / name for name in names] if path.is_dir() else []
    for place in (path, *places):
        if not is_unicode(place.name + place.resolve().name):
            raise InputError(f"{place}: the name is not valid UTF-8; rename it")


def _records(form: PredictionForm, content: bytes, file: Path) -> Iterator[tuple[str, Any]]:
    """Yield the place and the value of each record. Raises InputError for one that is wrong."""
    decoder = msgspec.json.Decoder(form.record)
    for place, raw in _raw_records(form, content, file):
        try:
            yield place, decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"{file}: {place}{_named(form, raw)}: {_problem(error, bytes(raw))}") from error


def _raw_records(form: PredictionForm, content: bytes, file: Path) -> Iterator[tuple[str, Any]]:
    if form.suffix == ".jsonl":
        for number, line in enumerate(content.splitlines(), start=1):
            if line.strip():
                yield f"line {number}", line
        return
    is_object = content.lstrip()[:1] == b"{"
    try:
        document: Any = msgspec.json.decode(content, type=dict[str, msgspec.Raw] if is_object else list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{file}: is not an array or an object of JSON{_last(form, content, error)}") from error
    if is_object and next(iter(form.place)) in document:
        raise InputError(
            f"{file}: has one record{_named(form, content)}, without an array: write `[` and `]` around it"
        )
    raws: Sequence[msgspec.Raw] = list(document.values()) if is_object else document
    for number, raw in enumerate(raws):
        yield f"record {number}", raw


def _problem(error: Exception, raw: bytes) -> str:
    """Return what is wrong with a JSON text, and where in its value."""
    try:  # msgspec's own error for it differs from version to version
        codecs.getincrementaldecoder("utf-8")().decode(raw)  # a cut letter at the end is another problem
    except UnicodeDecodeError:
        return "a text is not UTF-8"
    if isinstance(error, RecursionError):
        return "values are nested too deeply"
    what, where = split_path(str(error))
    return f"{what} at {where}" if where else what


def _named(form: PredictionForm, raw: Any) -> str:
    """Return the dialogue and turn that a record names, for a message."""
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        record = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        texts = {key: _text_of(bytes(record[key])) for key in form.place if key in record}
        return "".join(f", {form.place[key]} {text}" for key, text in texts.items())
    named = {word: _names(key, bytes(raw)) for key, word in form.place.items()}
    return "".join(f", {word} {names[0]}" for word, names in named.items() if names)


def _names(key: str, text: bytes) -> list[str]:
    """Return the values of a key in a text that may be no JSON."""
    found = re.findall(rb'"%b"\s*:\s*("(?:[^"\\]|\\.)*"?|[^",}]*)' % key.encode(), text, re.DOTALL)
    return [_text_of(value) for value in found]


def _text_of(value: bytes) -> str:
    """Return the beginning of the text that a JSON value means, or of the value as it is written."""
    text = value.decode(errors="replace").strip('"')
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        text = msgspec.json.decode(value, type=str)
    return text[:NAMED_CHARACTERS]


BYTE = re.compile(r"\(byte (\d+)\)")
"""The place of an error in the message of msgspec."""


def _last(form: PredictionForm, content: bytes, error: Exception) -> str:
    """Return what is wrong with a file, and the last dialogue before that place."""
    if not content.strip():
        return ": the file is empty"
    found = BYTE.search(str(error))
    at = int(found[1]) if found else len(content)
    key, word = next(iter(form.place.items()))
    names = _names(key, content[:at])
    after = f"; the last {word} before is {names[-1]}" if names else ""
    return f": {_problem(error, content)}{after}"
