"""Landing a file: content that is rejected or set aside, and the order and types of all other content."""

from __future__ import annotations

import ast
import gzip
import hashlib
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from msgspec import Struct, field, inspect
from pyarrow import parquet

from dialogue_warehouse.corpora import column_types, registry
from dialogue_warehouse.corpora.release import Container, Entity, SourceFile
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.releases.records import LandingError
from dialogue_warehouse.storage import publication
from pipelines.ingestion import landing
from pipelines.ingestion.landing import LandingTask, land_file
from tests.unit.item_files import (
    DOCUMENT,
    ENTRIES,
    ITEM,
    ITEMS,
    LINES,
    SPLITS,
    land,
    make_corpus,
    read,
)


@pytest.mark.parametrize("entity", [ITEMS, SPLITS], ids=["read as a whole", "split into records"])
def test_many_records_are_written_in_groups_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entity: Entity
) -> None:
    monkeypatch.setattr(landing, "ROW_GROUP", 2048)
    items = [ITEM | {"id": number} for number in range(5000)]
    if entity is ITEMS:
        landed = land(tmp_path, items, entity)
    else:
        landed = land(tmp_path, gzip.compress(json.dumps({"train": items}).encode()), entity, "splits.json.gz")
    assert [row["record_index"] for row in read(tmp_path, landed)] == list(range(5000))
    assert parquet.ParquetFile(tmp_path / "raw" / landed.parquet).num_row_groups == 3


def test_no_thread_of_duckdb_removes_a_rewritten_file() -> None:
    """Regression: a failed COPY is repeated into the same Parquet, and once its file was missing at the end."""
    (threads,) = landing._connection().execute("select current_setting('async_threads')").fetchone()
    assert threads == 0


def test_array_lands_typed_and_in_order(tmp_path: Path) -> None:
    landed = land(tmp_path, [ITEM | {"id": number} for number in range(2000)], ITEMS)
    rows = read(tmp_path, landed)
    assert [row["id"] for row in rows] == [row["record_index"] for row in rows] == list(range(2000))
    assert rows[1] == {
        "source_file_id": "toy/train/items.json",
        "source_part": "train",
        "record_index": 1,
        "record_pointer": "/1",
        "id": 1,
        "text": "a",
        "tags": [],
        "pairs": [{"name": "x", "numbers": [1, 2]}],
        "scores": {"b": 1.5, "a": 2.0},
        "data": {"text": "hi", "entries": None},
        "note": None,
    }
    assert list(rows[1]["scores"]) == ["b", "a"]
    assert landed.record_count == 2000


def test_name_that_is_not_utf_8_is_refused_in_one_line(tmp_path: Path) -> None:
    """Regression: DuckDB's `std::bad_cast` was shown as an internal error."""
    entity = Entity("items", Acts, Container.ARRAY, r"train/.+\.json", part="train")
    task = LandingTask(
        make_corpus(tmp_path, entity), entity, tmp_path, os.fsdecode(b"train/caf\xe9.json"), tmp_path / "raw"
    )
    task.file.parent.mkdir()
    task.file.write_bytes(b"[]")
    with pytest.raises(LandingError, match=r"^\w+/train/caf\\udce9\.json: its name is not UTF-8: rename the file$"):
        land_file(task)


def test_union_of_text_and_object_distinguishes_them(tmp_path: Path) -> None:
    rows = read(tmp_path, land(tmp_path, [ITEM | {"data": value} for value in ("", {}, {"k": "v"}, None)], ITEMS))
    assert [row["data"]["text"] for row in rows] == ["", None, None, None]
    assert [row["data"]["entries"] for row in rows] == [None, {}, {"k": "v"}, None]


class Pair(Struct, array_like=True, forbid_unknown_fields=True):
    """Two texts, written as an array."""

    slot: str
    value: str


class Acts(Struct, forbid_unknown_fields=True):
    """A record with a union of a text and an array."""

    acts: list[str | Pair]


def test_union_of_text_and_array_distinguishes_them(tmp_path: Path) -> None:
    entity = Entity("items", Acts, Container.ARRAY, r"train/items\.json", part="train")
    rows = read(tmp_path, land(tmp_path, [{"acts": ["", ["k", "v"], "null"]}, {"acts": []}], entity))
    assert [[act["text"] for act in row["acts"]] for row in rows] == [["", None, "null"], []]
    assert [[act["items"] for act in row["acts"]] for row in rows] == [[None, {"slot": "k", "value": "v"}, None], []]


def test_unions_in_an_object_distinguish_texts_from_the_rest(tmp_path: Path) -> None:
    """Regression: the values of an object of any keys stayed JSON, with the quotes of their texts."""
    entity = Entity("entries", dict[str, str | dict[str, list[str]]], Container.ENTRIES, r"entries\.json", part="all")
    turns = {"1": {"inform": ["x"], "bye": []}, "2": "none", "3": {}}
    rows = read(tmp_path, land(tmp_path, {"a": turns, "b": {}}, entity, "entries.json"))
    assert [dict(row["value"]) for row in rows] == [
        {
            "1": {"text": None, "entries": {"inform": ["x"], "bye": []}},
            "2": {"text": "none", "entries": None},
            "3": {"text": None, "entries": {}},
        },
        {},
    ]


class Spoken(Struct, forbid_unknown_fields=True):
    """A record whose key is not a name in SQL."""

    pairs: list[Pair] = field(name="user-pairs 1")


def test_array_below_a_key_that_is_not_a_name_in_sql_is_read(tmp_path: Path) -> None:
    """Regression: DuckDB's error about the query was shown as an error of the file."""
    entity = Entity("items", Spoken, Container.ARRAY, r"train/items\.json", part="train")
    for extra in ({}, {"unknown": 1}):  # the file is read directly, and split
        rows = read(tmp_path, land(tmp_path, [{"user-pairs 1": [["k", "v"]]} | extra], entity))
        assert [row["user-pairs 1"] for row in rows] == [[{"slot": "k", "value": "v"}]]


class Mixed(Struct, forbid_unknown_fields=True):
    """A record with a union of several shapes."""

    value: str | int | list[int] | None


def test_any_other_union_is_json(tmp_path: Path) -> None:
    entity = Entity("items", Mixed, Container.ARRAY, r"train/items\.json", part="train")
    values = ["a", "7", 7, [1, 2], None, ""]
    rows = read(tmp_path, land(tmp_path, [{"value": value} for value in values], entity))
    assert [None if row["value"] is None else json.loads(row["value"]) for row in rows] == values


def test_entries_splits_documents_and_lines_keep_key_and_pointer(tmp_path: Path) -> None:
    rows = read(tmp_path, land(tmp_path, {"b/c": ["x"], "a": []}, ENTRIES, "entries.json"))
    assert [(row["record_key"], row["record_pointer"], row["value"]) for row in rows] == [
        ("b/c", "/b~1c", ["x"]),
        ("a", "/a", []),
    ]
    splits = gzip.compress(json.dumps({"dev": [ITEM], "train": [ITEM, ITEM], "none": []}, indent=1).encode())
    landed = land(tmp_path, splits, SPLITS, "splits.json.gz")
    assert landed.parts == ["dev", "train", "none"]
    places = [(row["source_part"], row["record_index"], row["record_pointer"]) for row in read(tmp_path, landed)]
    assert places == [("dev", 0, "/dev/0"), ("train", 0, "/train/0"), ("train", 1, "/train/1")]
    assert read(tmp_path, land(tmp_path, ITEM, DOCUMENT, "document.json"))[0]["record_pointer"] == ""
    rows = read(tmp_path, land(tmp_path, b"dlg-1,\ndlg-2,\n", LINES, "train.csv"))
    assert [(row["value"], row["record_index"]) for row in rows] == [("dlg-1", 0), ("dlg-2", 1)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"id": 1', "toy/train/items.json: not JSON"),
        (b"<!doctype html><p>404", "toy/train/items.json: is a web page, not the file: download the file itself"),
        (b'[{"id": NaN}]', "toy/train/items.json: not JSON"),
        (
            b'["caf\xe9"]',
            "toy/train/items.json: not UTF-8 at byte 5, line 1, column 6: convert it, or download it again",
        ),
        (b'{"id": 1}', "toy/train/items.json: Expected `array`, got `object` - at `$`: put the published file in its"),
        (
            b'{"id": 1}\r\n{"id": 2}\n',
            "toy/train/items.json: has one JSON value per line (JSON Lines), not one for ",
        ),
        (b'[{"id": ' + bytes(9), "toy/train/items.json: not JSON, cut off at its end, byte 8, line 1, column 9: "),
        (b"", "toy/train/items.json: is empty: download it again"),
        (b"\r\n \n", "toy/train/items.json: is empty: download it again"),
        (b'[\r\n {"id": "\xc3\xa9" 7}]', "toy/train/items.json: not JSON at byte 16, line 2, column 13"),
        (b'[\r{"id": 7} 7]', "toy/train/items.json: not JSON at byte 12, line 2, column 11"),
    ],
)
def test_file_that_is_not_a_json_array_is_rejected_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(LandingError) as refused:
        land(tmp_path, content, ITEMS)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    assert not list((tmp_path / "raw").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("entity", "path", "line"),
    [
        (ENTRIES, "entries.json", {"a": ["x"]}),
        (DOCUMENT, "document.json", ITEM),
        (SPLITS, "splits.json.gz", {"dev": []}),
    ],
    ids=["entries", "document", "splits"],
)
def test_json_lines_under_the_name_of_one_value_are_named(
    tmp_path: Path, entity: Entity, path: str, line: dict
) -> None:
    """Converters write JSON Lines and keep the name: "not JSON at byte 12287" did not say so."""
    with pytest.raises(LandingError, match=rf"^toy/{path}: has one JSON value per line \(JSON Lines\)"):
        land(tmp_path, json.dumps(line).encode() + b"\n" + json.dumps(line).encode() + b"\n", entity, path)


def test_part_that_is_not_an_array_is_named(tmp_path: Path) -> None:
    message = (
        r"^toy/splits\.json\.gz: Expected `array`, got `object` - at `\$\.dev`: put the published file in its place$"
    )
    with pytest.raises(LandingError, match=message):
        land(tmp_path, {"train": [ITEM], "dev": {"a": ITEM}}, SPLITS, "splits.json.gz")


@pytest.mark.parametrize(
    ("content", "entity", "path"),
    [([], ITEMS, "train/items.json"), ({}, ENTRIES, "entries.json"), ({"dev": []}, SPLITS, "splits.json.gz")],
    ids=["array", "entries", "splits"],
)
def test_file_without_records_has_a_note(tmp_path: Path, content: object, entity: Entity, path: str) -> None:
    """An empty array in place of a release is JSON, but has no dialogues."""
    landed = land(tmp_path, content, entity, path)
    assert (landed.record_count, landed.notes[-1]) == (0, "has no records")


def test_broken_gzip_is_rejected(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps({"train": [ITEM]}).encode())
    with pytest.raises(LandingError, match=r"toy/splits\.json\.gz: broken gzip, cut off before its end"):
        land(tmp_path, whole[:-12], SPLITS, "splits.json.gz")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"id": "1"}, "Expected `int`, got `str` - at `$[1].id`"),
        ({"id": 2.7}, "Expected `int`, got `float` - at `$[1].id`"),
        ({"id": 2**31}, "Expected `int` <= 2147483647 - at `$[1].id`"),
        ({"text": 5}, "Expected `str | null`, got `int` - at `$[1].text`"),
        ({"tags": None}, "Expected `array`, got `null` - at `$[1].tags`"),
        ({"note": None}, "Expected `str`, got `null` - at `$[1].note`"),
        ({"pairs": [["x"]]}, "Expected `array` of at least length 2, got 1 - at `$[1].pairs[0]`"),
        ({"data": {"k": 1}}, "Expected `str`, got `int` - at `$[1].data[...]`"),
    ],
)
def test_record_that_the_schema_rejects_is_set_aside_and_the_others_are_kept(
    tmp_path: Path, change: dict, error: str
) -> None:
    landed = land(tmp_path, [ITEM, ITEM | change, ITEM | {"id": 3}], ITEMS)
    assert [record["error"] for record in landed.quarantine] == [error]
    assert json.loads(landed.quarantine[0]["value"]) == ITEM | change
    assert [(row["id"], row["record_index"]) for row in read(tmp_path, landed)] == [(1, 0), (3, 2)]
    assert landed.record_count == 3
    with pytest.raises(LandingError, match=r"toy/train/items\.json: Expected .*; a build without --strict "):
        land(tmp_path, [ITEM, ITEM | change, ITEM | {"id": 3}], ITEMS, strict=True)


def test_missing_key_is_set_aside_and_absent_optional_key_is_not(tmp_path: Path) -> None:
    without = {key: value for key, value in ITEM.items() if key != "tags"}
    landed = land(tmp_path, [ITEM, without], ITEMS)
    assert [record["error"] for record in landed.quarantine] == ["Object missing required field `tags` - at `$[1]`"]


def test_unknown_keys_are_kept_with_pointer_and_value(tmp_path: Path) -> None:
    landed = land(tmp_path, [ITEM | {"x/y": [1.5]}, ITEM], ITEMS)
    assert landed.extras == [{"json_pointer": "/0/x~1y", "value": "[1.5]"}]
    assert [row["id"] for row in read(tmp_path, landed)] == [1, 1]
    with pytest.raises(LandingError, match="does not know the key at /0/x~1y; a build without --strict keeps it in "):
        land(tmp_path, [ITEM | {"x/y": [1.5]}, ITEM], ITEMS, strict=True)


def test_long_key_is_kept_whole_and_cut_in_the_error(tmp_path: Path) -> None:
    item = ITEM | {"x" * 50_000: 1}
    assert land(tmp_path, [item], ITEMS).extras == [{"json_pointer": f"/0/{'x' * 50_000}", "value": "1"}]
    with pytest.raises(LandingError, match=r"does not know the key at /0/x{100,}…x{100,}; ") as refused:
        land(tmp_path, [item], ITEMS, strict=True)
    assert len(str(refused.value)) < 500


def test_key_twice_inside_a_record_sets_that_record_aside(tmp_path: Path) -> None:
    text = json.dumps([ITEM, ITEM]).replace('"scores": {"b": 1.5', '"scores": {"a": 9.0, "b": 1.5', 1)
    landed = land(tmp_path, text.encode(), ITEMS)
    assert [record["error"] for record in landed.quarantine] == ["the key 'a' occurs twice in an object - at `$[0]`"]
    assert len(read(tmp_path, landed)) == 1


def test_lone_surrogate_sets_only_its_record_aside(tmp_path: Path) -> None:
    text = json.dumps([ITEM, ITEM | {"text": "\ud83d"}])
    landed = land(tmp_path, text.encode(), ITEMS)
    assert [record["record_index"] for record in landed.quarantine] == [1]
    assert json.loads(landed.quarantine[0]["value"])["text"] == "\ud83d"


def test_odd_texts_survive(tmp_path: Path) -> None:
    texts = ["", " edge ", "a\nb\tc", "\u0000", "😀 ﬁ é", "\\u0041 \"q\" 'q'", "x" * 100_000, "2019-03-01", "1.10"]
    rows = read(tmp_path, land(tmp_path, [ITEM | {"text": text} for text in texts], ITEMS))
    assert [row["text"] for row in rows] == texts


def test_same_bytes_and_schema_are_not_landed_again(tmp_path: Path) -> None:
    first = land(tmp_path, [ITEM], ITEMS)
    parquet = tmp_path / "raw" / first.parquet
    written = parquet.stat().st_mtime_ns
    assert land(tmp_path, [ITEM], ITEMS) == first
    assert parquet.stat().st_mtime_ns == written
    assert land(tmp_path, [ITEM, ITEM], ITEMS).parquet != first.parquet


def test_lost_parquet_is_landed_again(tmp_path: Path) -> None:
    first = land(tmp_path, [ITEM], ITEMS)
    (tmp_path / "raw" / first.parquet).unlink()
    assert len(read(tmp_path, land(tmp_path, [ITEM], ITEMS))) == 1


def test_verification_describes_the_bytes(tmp_path: Path) -> None:
    data = json.dumps([ITEM]).encode()
    digest = hashlib.sha256(data).hexdigest()
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    source = tmp_path / "source"
    (source / "train").mkdir(parents=True)
    (source / "train/items.json").write_bytes(data)

    def verification(**facts: str) -> str:
        listed = (SourceFile("train/items.json", "http://x", **facts),) if facts is not None else ()
        corpus = make_corpus(tmp_path, ITEMS, files=listed)
        return land_file(LandingTask(corpus, ITEMS, source, "train/items.json", tmp_path / "raw")).verification

    assert verification(sha256=digest) == "verified"
    assert verification(git_blob_sha1=blob) == "verified"
    assert verification(sha256="0" * 64) == "mismatch"
    assert verification(git_blob_sha1="0" * 40) == "mismatch"
    assert verification() == "unlisted"
    (source / "SIMULATED.json").write_text("{}")
    assert verification(sha256=digest) == "simulated"


def test_absent_entity_has_a_zero_row_file_with_the_same_columns(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path, ITEMS)
    empty = tmp_path / "raw" / landing.write_empty(corpus, ITEMS, tmp_path / "raw")
    full = tmp_path / "raw" / land(tmp_path, [ITEM], ITEMS).parquet
    columns = [duckdb.sql(f"describe select * from '{file}'").fetchall() for file in (empty, full)]
    assert columns[0] == columns[1]
    assert duckdb.sql(f"select count(*) from '{empty}'").fetchall() == [(0,)]


@pytest.mark.parametrize("folder", ["so[u]rce*", "id=7"])
def test_path_is_neither_a_pattern_nor_a_value(tmp_path: Path, folder: str) -> None:
    """DuckDB reads `*` as a pattern, and `id=7` as the value of the column `id` in each row."""
    source, matching = tmp_path / folder, tmp_path / "source"
    for place, number in ((source, 1), (matching, 2)):
        (place / "train").mkdir(parents=True)
        (place / "train/items.json").write_text(json.dumps([ITEM | {"id": number}]))
    landed = land_file(LandingTask(make_corpus(tmp_path, ITEMS), ITEMS, source, "train/items.json", tmp_path / "raw"))
    assert [row["id"] for row in read(tmp_path, landed)] == [1]


def test_type_without_sql_counterpart_is_rejected_when_the_schema_is_read() -> None:
    with pytest.raises(InputError, match="a field of the type bytes has no column"):
        column_types.duckdb_type(inspect.type_info(bytes))


class Tagged(Struct):
    tags: list[set[str]]


def test_field_without_sql_counterpart_is_named() -> None:
    """Regression: the message named neither the file nor the field."""
    with pytest.raises(InputError, match=r"^ingestion/test_landing\.py: Tagged\.tags: a field of the type set has no"):
        column_types.duckdb_type(inspect.type_info(Tagged))


DECIDE_NOTHING = {
    "dialogue_warehouse/common/files.py",
    "dialogue_warehouse/common/processes.py",
    "dialogue_warehouse/environment.py",
    "dialogue_warehouse/errors.py",
    "dialogue_warehouse/paths.py",
    "dialogue_warehouse/releases/source_tree.py",
    "dialogue_warehouse/settings.py",
}
"""The modules that landing uses and that do not affect the rows."""


def test_schema_hash_covers_every_module_that_affects_landing() -> None:
    """Fails if landing begins to use a module, or a library, whose change would not land files again."""
    found, waiting = set(), ["pipelines/ingestion/landing.py"]
    imported: set[str] = set()
    while waiting:
        path = waiting.pop()
        found.add(path)
        tree = ast.parse((CLONE / path).read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names = {str(node.module) for node in imports}
        names |= {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
        imported |= names | {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        files = {f"{name.replace('.', '/')}.py" for name in names}
        waiting += sorted(file for file in files - found if (CLONE / file).is_file() and file not in DECIDE_NOTHING)
    assert found == {*landing.LANDING_CODE, *landing.FORM_CODE}
    libraries = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names
    ours = {path.partition("/")[0] for path in found}
    assert libraries - ours == {*landing.LANDING_LIBRARIES, *landing.FORM_LIBRARIES}


@pytest.mark.parametrize("form", [None, "huggingface"])
def test_another_version_of_a_library_lands_files_again(form: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: after an upgrade of DuckDB or msgspec a build kept the rows that the version before had landed."""
    corpus = next(
        corpus for corpus in registry.load_corpora() if form is None or registry.load_form(corpus.corpus_id, form)
    )
    libraries = (*landing.LANDING_LIBRARIES, *(landing.FORM_LIBRARIES if form else ()))
    versions = {library: importlib.metadata.version(library) for library in libraries}
    before = landing.schema_hash.__wrapped__(corpus, form)
    for library in libraries:
        with monkeypatch.context() as patched:
            patched.setattr(importlib.metadata, "version", (versions | {library: "0.0"}).__getitem__)
            assert landing.schema_hash.__wrapped__(corpus, form) != before, library


def test_files_of_a_killed_landing_are_removed_by_the_next_build(tmp_path: Path) -> None:
    """Regression: the records of a killed landing stayed, and a process on another machine could have their name."""
    paths = WarehousePaths(tmp_path)
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from pipelines.ingestion import landing\n"
        "from tests.unit.item_files import ENTRIES, land\n"
        "landing._copy = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "land(Path(sys.argv[1]), {'a': ['x']}, ENTRIES, 'entries.json')\n"
    )
    killed = [subprocess.run([sys.executable, "-c", program, tmp_path], cwd=CLONE, check=False) for _ in range(2)]
    assert [process.returncode for process in killed] == [-signal.SIGKILL] * 2
    assert len(list(paths.raw.rglob("records.ndjson"))) == 2
    publication.mend(paths)
    assert [path for path in paths.raw.rglob("*") if not path.is_dir()] == []
    landed = land(tmp_path, {"a": ["x"]}, ENTRIES, "entries.json")
    assert [path.suffix for path in sorted((paths.raw / landed.parquet).parent.iterdir())] == [".json", ".parquet"]
