"""Verification: every file of a build is rebuilt from core and compared, as JSON, with the file that was read.

A file of another form is compared as the records that its rows convert back to: objects of the release have no order
there. Two records are equal if both pass the strict schema with equal values. If the schema rejects one of them (extra
keys, refused records), they are compared as plain JSON, in which 1, 1.0 and true differ. Files are compared one after
the other, record by record.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb
import msgspec

from dialogue_warehouse.common import files
from dialogue_warehouse.common.files import read_regular
from dialogue_warehouse.common.json_values import pointer_token
from dialogue_warehouse.common.text import command
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container, Entity
from dialogue_warehouse.errors import CheckError, InputError, require_extra
from dialogue_warehouse.lineage.restored_files import RestoredFile
from dialogue_warehouse.lineage.restoring import Restorer, open_core, open_published_core
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases import records
from dialogue_warehouse.releases.finding import Places
from dialogue_warehouse.releases.records import Record
from dialogue_warehouse.releases.unpacking import sha256_of, unpack
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, health
from dialogue_warehouse.storage.landed import places_of

RESULTS_COLUMNS = {
    "source_file_id": "varchar",
    "records": "integer",
    "is_equal": "boolean",
    "first_difference": "varchar",
}
"""The columns of `quality.restorations`."""
LINE_BREAK = re.compile(r"\s*\n\s*")
"""In JSON, line breaks are only between values."""
SHOWN_CHARACTERS = 200
"""Maximum number of characters of a value that a difference shows."""


@dataclass(frozen=True)
class Verified:
    """The result of comparing one file."""

    source_file_id: str
    records: int
    is_equal: bool
    first_difference: str | None


def verify_database(
    database: Path,
    source: Path,
    corpora: Iterable[str],
    settings: Settings,
    found_as: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Verified]:
    """Compare every file of these corpora in a database with those below `source`.

    `found_as` has the path at the source of each file that was read under another name than in its release.
    """
    with open_core(database, settings) as con:
        yield from _verify_open(con, source, corpora, found_as)


def _verify_open(
    con: duckdb.DuckDBPyConnection, source: Path, corpora: Iterable[str], found_as: Mapping[str, str]
) -> Iterator[Verified]:
    loaded = [registry.load_corpus(corpus_id) for corpus_id in corpora]
    with contextlib.closing(Restorer(con).files(loaded)) as files:
        yield from verify(files, source, found_as)


def verify_published(
    paths: WarehousePaths, settings: Settings, named: Sequence[str] = ()
) -> tuple[str, list[Verified]]:
    """Compare the files of the published build; return its id and the results.

    Raises InputError if the build lacks one of the `named` corpora, or all corpora of the settings.
    """
    with open_published_core(paths, settings) as (build_id, con):
        source = settings.source or builds.source_of(paths, build_id)
        advice = "--source FOLDER names the folder with the releases"
        if source == paths.sample:
            advice = f"`{command('build', warehouse=paths.root)}` generates the embedded sample again"
        files.refuse_no_folder(source, f"; {advice}")
        built = builds.read_manifest(paths, build_id)
        loaded = registry.load_corpora(settings.only)
        corpora = [corpus.corpus_id for corpus in loaded if corpus.corpus_id in built.corpora]
        lacking = [name for name in named if name not in corpora]
        if lacking or (settings.only and not corpora):
            what = f"corpus '{[*lacking, *settings.only][0]}'"
            raise InputError(f"--corpora: the published warehouse has no {what}; it has {', '.join(built.corpora)}")
        return build_id, list(_verify_open(con, source, corpora, places_of(built.files)))


def keep_results(paths: WarehousePaths, build_id: str, results: list[Verified]) -> None:
    """Store the results beside their build. Raises OSError for a full disk."""
    content = json.dumps([asdict(result) for result in results], indent=1).encode()
    try:
        files.write_atomically(paths.build_restorations(build_id), content)
    except OSError as error:
        if not (isinstance(error, PermissionError) or error.errno == errno.EROFS):
            raise  # a warehouse of another user, or on a read-only disk, can be verified too


def refuse_damage(paths: WarehousePaths) -> None:
    """Raise CheckError if the published file, or a file of the build, has changed since it was published."""
    build_id, _ = builds.published_build(paths)
    damaged = health.damaged_files(paths, build_id)
    if damaged:
        raise CheckError(f"{damaged[0]}: has changed since build {build_id} was published; the next build repairs it")


def refuse_differences(results: list[Verified]) -> None:
    """Raise CheckError with one line for each file whose restoration differs."""
    lines = [
        f"{result.source_file_id}: the restored file differs: {result.first_difference}"
        for result in results
        if not result.is_equal
    ]
    if lines:
        raise CheckError("\n".join(lines))


def write_results(results: list[Verified], folder: Path, settings: Settings) -> None:
    """Write the results as Parquet for dbt to load; without rows if nothing was compared."""
    files.write_table(folder / "results.parquet", RESULTS_COLUMNS, [asdict(result) for result in results], settings)


def verify(
    files: Iterable[RestoredFile], source: Path, found_as: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Verified]:
    """Compare rebuilt files with those below `source/<corpus_id>`, in the given order."""
    places = Places(source, found_as)
    for restored in files:
        is_form = restored.table is not None
        path = source / restored.file.path if is_form else places.find(restored.corpus, restored.file.path)
        yield verify_file(restored, path)


def verify_file(restored: RestoredFile, path: Path) -> Verified:
    """Compare one rebuilt file with the file at `path` that was read; name the first difference."""
    name = restored.file.source_file_id
    count = itertools.count()
    try:
        data = read_regular(path)
    except OSError as error:
        return Verified(name, 0, False, f"{path}: {error.strerror}")
    if sha256_of(data) != restored.file.sha256:
        return Verified(name, 0, False, f"{path}: has changed since it was read, its sha256 differs")
    if restored.table:
        require_extra("arrow", "a release in this form")
        from dialogue_warehouse.releases import form_files

        rows = enumerate(
            form_files.undo_rows(restored.table, name, unpack(name, data).content)
        )  # a refused row has no record
        texts = ((index, text or json.dumps(row).encode()) for index, (text, row, _) in rows)
        parts, published = None, (Record(index, None, f"/{index}", text) for index, text in texts)
    else:
        text = unpack(f"{restored.corpus.corpus_id}/{path.name}", data).content
        parts, published = records.split_records(restored.entity, name, text)
    if list(restored.file.parts or ()) != list(parts or ()):
        return Verified(name, 0, False, f"expected the parts {parts}, found {restored.file.parts}")
    try:
        difference = next(_differences(restored.entity, published, restored.records, count), None)
    except (LookupError, ValueError) as error:
        difference = f"the file cannot be rebuilt: {type(error).__name__}: {error}"
    return Verified(name, next(count), difference is None, difference)


def _differences(
    entity: Entity, published: Iterator[Record], restored: Iterator[Record], count: Iterator[int]
) -> Iterator[str]:
    """Yield each difference as `<pointer>: expected <JSON>, found <JSON>`; `count` counts the published records."""
    decoder = msgspec.json.Decoder(entity.record)
    for expected, found in _pairs(entity, published, restored):
        if expected is None:
            if found is not None:
                yield f"{found.pointer}: expected nothing, found {_shown(found.text)}"
            continue
        next(count)
        if found is None:
            yield f"{expected.pointer}: expected {_shown(expected.text)}, found nothing"
        elif not _are_equal(decoder, expected.text, found.text):
            for pointer, left, right in differences(json.loads(expected.text), json.loads(found.text)):
                yield f"{expected.pointer}{pointer}: expected {left}, found {right}"


def _pairs(
    entity: Entity, published: Iterator[Record], restored: Iterator[Record]
) -> Iterator[tuple[Record | None, Record | None]]:
    """Yield pairs of published and restored records: by key in an object, and in turn for equal keys."""
    if entity.container is not Container.ENTRIES:
        yield from itertools.zip_longest(published, restored)
        return
    found: dict[str | None, list[Record]] = {}
    for record in restored:
        found.setdefault(record.key, []).append(record)
    for record in published:
        same_key = found.get(record.key)
        yield record, same_key.pop(0) if same_key else None
    for records_left in found.values():
        yield from ((None, record) for record in records_left)


def _are_equal(decoder: msgspec.json.Decoder, expected: bytes, found: bytes) -> bool:
    """Return whether two records are equal by the schema, or as plain JSON if the schema rejects one of them."""
    if expected == found:
        return True
    try:
        return decoder.decode(expected) == decoder.decode(found)
    except msgspec.DecodeError:
        return next(differences(json.loads(expected), json.loads(found)), None) is None


def differences(expected: Any, found: Any, pointer: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield pointer, expected and found value of each difference between two JSON values; 1, 1.0 and true differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            place = f"{pointer}/{pointer_token(key)}"
            if key not in found:
                yield place, _shown(expected[key]), "nothing"
            elif key not in expected:
                yield place, "nothing", _shown(found[key])
            else:
                yield from differences(expected[key], found[key], place)
    elif isinstance(expected, list) and isinstance(found, list):
        for index, (left, right) in enumerate(zip(expected, found, strict=False)):
            yield from differences(left, right, f"{pointer}/{index}")
        for index in range(len(found), len(expected)):
            yield f"{pointer}/{index}", _shown(expected[index]), "nothing"
        for index in range(len(expected), len(found)):
            yield f"{pointer}/{index}", "nothing", _shown(found[index])
    elif type(expected) is not type(found) or expected != found:
        yield pointer, _shown(expected), _shown(found)


def _shown(value: Any) -> str:
    """Return a value as JSON text in one line, shortened if it is long."""
    text = value.decode() if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False)
    text = LINE_BREAK.sub(" ", text)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
