"""The Hugging Face forms of real dialogues give the rows of the release, except for documented losses."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.releases.form_files import undo_rows
from tests.conftest import build_warehouse, run_command

COMMON_DIALOGUES = {"mutualfriends": 10, "sgd": 85}
CORPORA = tuple(COMMON_DIALOGUES)
PLACES = {"source_file_id", "record_index", "record_pointer"}
LOSSY = {("fct_turns", "occurred_at"), ("fct_turns", "source_time")}
DIALOGUES = Path("mutual_friends/plain_text/train.parquet")
BUILD = ("--form", "huggingface", "--corpora", ",".join(CORPORA))


@pytest.fixture(scope="module")
def forms(real_corpora: Path) -> Path:
    """Return a folder with the Hugging Face form of some of the real dialogues."""
    return real_corpora / "hf_form"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, forms: Path) -> tuple[Path, str]:
    """Return the folder of a warehouse built from the form, and the output of the command."""
    folder = tmp_path_factory.mktemp("form")
    completed = run_command("build", "--warehouse", folder, "--source", forms, "--form", "huggingface")
    assert completed.returncode == 0, completed.stderr
    return folder, completed.stdout + completed.stderr


@pytest.fixture(scope="module")
def form_folder(built: tuple[Path, str]) -> Path:
    return built[0]


@pytest.fixture(scope="module")
def both(form_folder: Path, real_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a connection to the two warehouses as `form` and `released`, and the keys that both have."""
    with duckdb.connect() as con:
        con.execute(f"attach '{form_folder}/dialogues.duckdb' as form (read_only)")
        con.execute(f"attach '{real_folder}/dialogues.duckdb' as released (read_only)")
        con.execute(
            "create table common as select dialogue_key, corpus_id from form.core.dim_dialogues "
            "intersect select dialogue_key, corpus_id from released.core.dim_dialogues"
        )
        yield con


def columns_of(con: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    found = con.execute(
        "select column_name from duckdb_columns() where database_name = 'form' and schema_name = 'core' "
        "and table_name = ? order by column_index",
        [table],
    ).fetchall()
    return [name for (name,) in found]


def core_tables(form_folder: Path) -> list[str]:
    with duckdb.connect(str(form_folder / "dialogues.duckdb"), read_only=True) as con:
        found = con.execute("select table_name from duckdb_tables() where schema_name = 'core' order by 1").fetchall()
    return [name for (name,) in found]


def rows_of(con: duckdb.DuckDBPyConnection, database: str, table: str, only: set[str]) -> list[tuple]:
    """Return the rows of the common dialogues (all rows if a table has no dialogues); some columns are left out."""
    names = columns_of(con, table)
    kept = ", ".join(f'"{name}"' for name in names if name not in PLACES and (table, name) not in only)
    condition = ["true"]
    if "corpus_id" in names:
        condition.append(f"corpus_id in {CORPORA}")
    for key in ("dialogue_key", "scenario_key"):
        if key in names:
            condition.append(f"{key} in (select dialogue_key from common)")
    query = f"select {kept} from {database}.core.{table} where {' and '.join(condition)} order by all"
    return con.execute(query).fetchall()


def test_every_dialogue_of_the_form_is_one_of_the_release(both: duckdb.DuckDBPyConnection) -> None:
    assert dict(both.execute("select corpus_id, count(*) from common group by all").fetchall()) == COMMON_DIALOGUES
    assert both.execute("select count(*) from form.core.dim_dialogues").fetchall() == [(95,)]


def test_core_has_the_same_facts(both: duckdb.DuckDBPyConnection, form_folder: Path) -> None:
    compared = {}
    for table in core_tables(form_folder):
        if table == "dim_source_files":  # the files differ
            continue
        form, released = (rows_of(both, database, table, LOSSY) for database in ("form", "released"))
        if table in ("dim_corpora", "dim_speakers", "dim_acts") or table.startswith("dim_services"):
            assert form, table
        if not {"corpus_id", "dialogue_key", "scenario_key"} & set(columns_of(both, table)):
            form = [row for row in form if row in released]  # other corpora have no Hugging Face form
            released = form
        assert form == released, table
        compared[table] = len(form)
    for table in ("fct_turns", "fct_frames", "fct_actions", "fct_slots", "fct_service_calls", "fct_service_results"):
        assert compared[table] > 0, table
    for table in ("fct_knowledge_items", "dim_services", "dim_intents", "dim_slots", "dim_scenario_attributes"):
        assert compared[table] > 0, table
    assert compared["fct_turns"] == 1600


def test_times_differ_only_by_the_rounding_to_32_bits(both: duckdb.DuckDBPyConnection) -> None:
    pairs = both.execute(
        "select form.source_time, released.source_time, epoch(form.occurred_at) from form.core.fct_turns as form "
        "inner join released.core.fct_turns as released on form.turn_key = released.turn_key "
        "where form.corpus_id = 'mutualfriends'"
    ).fetchall()
    assert len(pairs) == 74
    assert sum(form != released for form, released, _ in pairs) > 0
    for form, released, occurred in pairs:
        rounded = struct.unpack("f", struct.pack("f", float(released)))[0]
        assert form == f"{rounded:.1f}"
        assert occurred == rounded
    without = "select count(*) from {}.core.fct_turns where corpus_id = 'sgd' and source_time is not null"
    assert [both.execute(without.format(name)).fetchall() for name in ("form", "released")] == [[(0,)], [(0,)]]


def test_losses_are_violations_of_the_form(both: duckdb.DuckDBPyConnection) -> None:
    query = (
        "select source_file_id, detail from {}.quality.violations where rule_id = 'lossy_form' "
        "order by source_file_id, detail"
    )
    documented = []
    for corpus_id in CORPORA:
        form = registry.load_form(corpus_id, "huggingface")
        for table in form.tables:
            for split in ("train", "validation") if corpus_id == "mutualfriends" else form.parts:
                path = f"{corpus_id}/{form.stem(table, split)}.parquet"
                documented += [(path, loss) for loss in table.losses]
    assert both.execute(query.format("form")).fetchall() == sorted(documented)
    assert both.execute(query.format("released")).fetchall() == []


def test_form_has_the_defects_of_the_release(both: duckdb.DuckDBPyConnection) -> None:
    query = (
        "select rule_id, dialogue_key, turn_index, row_key, detail from {}.quality.violations "
        f"where corpus_id in {CORPORA} and rule_id not in ('lossy_form', 'reused_dialogue_id') "
        "and (dialogue_key is null or dialogue_key in (select dialogue_key from common)) order by all"
    )
    form, released = (both.execute(query.format(database)).fetchall() for database in ("form", "released"))
    assert form == released
    assert {row[0] for row in form} >= {"missing_space", "blank_at_edge", "one_sided_dialogue", "unseen_service"}


def test_catalog_names_the_form_and_the_part_of_the_release(both: duckdb.DuckDBPyConnection) -> None:
    query = "select source_file_id, source_part, release_form, record_count from form.core.dim_source_files order by 1"
    assert both.execute(query).fetchall() == [
        ("mutualfriends/mutual_friends/plain_text/train.parquet", "train", "huggingface", 5),
        ("mutualfriends/mutual_friends/plain_text/validation.parquet", "dev", "huggingface", 5),
        ("sgd/schema_guided_dstc8/dialogues/test.parquet", "test", "huggingface", 10),
        ("sgd/schema_guided_dstc8/dialogues/train.parquet", "train", "huggingface", 60),
        ("sgd/schema_guided_dstc8/dialogues/validation.parquet", "dev", "huggingface", 15),
        ("sgd/schema_guided_dstc8/schema/test.parquet", "test", "huggingface", 21),
        ("sgd/schema_guided_dstc8/schema/train.parquet", "train", "huggingface", 26),
        ("sgd/schema_guided_dstc8/schema/validation.parquet", "dev", "huggingface", 17),
    ]
    assert both.execute("select distinct release_form from released.core.dim_source_files").fetchall() == [("release",)]


def write_shards(rows: pa.Table, stem: Path, ends: list[str]) -> None:
    """Write rows to files that begin with `stem`, in the types that another writer chooses for each."""
    step = -(-len(rows) // len(ends))
    for number, end in enumerate(ends):
        shard = rows.slice(number * step, step)
        path = Path(f"{stem}{end}")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".jsonl":
            pl.DataFrame(pl.from_arrow(shard)).write_ndjson(path)
        elif number % 3 == 0:
            pl.DataFrame(pl.from_arrow(shard)).write_parquet(path)
        elif number % 3 == 1:
            shard.to_pandas().set_index(pd.Index(range(7, 7 + len(shard)), name="idx").astype(str)).to_parquet(path)
        else:
            pq.write_table(pa.Table.from_pylist(shard.to_pylist()), path)


def test_other_layouts_and_types_give_the_same_rows(
    both: duckdb.DuckDBPyConnection, forms: Path, tmp_path: Path, form_folder: Path
) -> None:
    """A split in shards, in types of other writers or as JSON lines has the same keys and values.

    Regression: services had the positions of their shard, so that only the first shard was restored.
    https://github.com/huggingface/dataset-viewer/issues/1463
    """
    source = tmp_path / "other"
    pushed, converted = [f"-0000{shard}-of-00003.parquet" for shard in range(3)], [f"/000{i}.parquet" for i in range(3)]
    layouts = {
        "mutual_friends/plain_text/train": ("mutual_friends/data/train", pushed),
        "mutual_friends/plain_text/validation": ("mutual_friends/data/validation", [".jsonl"]),
        "schema_guided_dstc8/dialogues/test": ("schema_guided_dstc8/dialogues/schema_guided_dstc8-test", [".parquet"]),
        "schema_guided_dstc8/dialogues/train": ("schema_guided_dstc8/dialogues/partial-train", converted),
        "schema_guided_dstc8/schema/train": ("schema_guided_dstc8/schema/train", converted),
    }
    for parquet in sorted(forms.rglob("*.parquet")):
        stem = parquet.relative_to(forms).with_suffix("").as_posix()
        other, ends = layouts.get(stem, (stem, [".jsonl"]))
        write_shards(pq.read_table(parquet), source / other, ends)
    (source / "mutual_friends" / "data" / "dev.parquet").touch()
    completed = run_command("build", "--warehouse", tmp_path / "w", "--source", source, "--verify", *BUILD)
    assert completed.returncode == 0, completed.stderr
    printed = completed.stdout + completed.stderr
    assert "sgd: schema_guided_dstc8/dialogues/partial-train/*.parquet has only the first rows of train" in printed
    assert "not files of the release: mutual_friends/data/dev.parquet" in printed
    both.execute(f"attach '{tmp_path}/w/dialogues.duckdb' as other (read_only)")
    try:
        for table in core_tables(form_folder):
            if table not in ("dim_source_files", "dim_key_pointers"):  # the files and the places in them differ
                expected, found = (rows_of(both, database, table, set()) for database in ("form", "other"))
                assert found == expected, table
    finally:
        both.execute("detach other")


def test_form_is_verified_and_restored_as_the_form(form_folder: Path, forms: Path, tmp_path: Path) -> None:
    completed = run_command("verify", "--warehouse", form_folder, "--json")
    assert completed.returncode == 0, completed.stderr
    verified = json.loads(completed.stdout)
    assert len(verified) == 8
    assert all(file["is_equal"] for file in verified)
    assert sum(file["records"] for file in verified) == 159
    for corpus_id in CORPORA:
        completed = run_command("restore", "--corpus", corpus_id, "--to", tmp_path, "--warehouse", form_folder)
        assert completed.returncode == 0, completed.stderr
    restored = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.parquet"))
    assert restored == sorted(path.relative_to(forms) for path in forms.rglob("*.parquet"))
    for path in restored:
        corpus_id = "mutualfriends" if path.parts[0] == "mutual_friends" else "sgd"
        table, _ = registry.load_form(corpus_id, "huggingface").place(path.as_posix())
        assert pq.read_schema(tmp_path / path).equals(table.columns)
        both = [
            [(json.loads(record), refused) for record, _, refused in undo_rows(table, path.name, file.read_bytes())]
            for file in (tmp_path / path, forms / path)
        ]
        assert both[0] == both[1], path


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_every_real_row_comes_back_from_its_record(forms: Path, corpus_id: str) -> None:
    form = registry.load_form(corpus_id, "huggingface")
    count = 0
    for table, stem in form.stems():
        path = forms / f"{stem}.parquet"
        if not path.exists():
            continue
        for record, row, refused in undo_rows(table, path.name, path.read_bytes()):
            assert refused is None
            assert table.redo(json.loads(record)) == row
            count += 1
    assert count == {"mutualfriends": 10, "sgd": 85 + 26 + 17 + 21}[corpus_id]


def test_manifest_of_the_build_names_the_form(form_folder: Path) -> None:
    build_id = json.loads((form_folder / "published.json").read_text(encoding="utf-8"))["build_id"]
    manifest = form_folder / "builds" / f"{build_id}.json"
    assert json.loads(manifest.read_text(encoding="utf-8"))["form"] == "huggingface"


def test_corpora_without_the_form_are_skipped_with_a_notice(built: tuple[Path, str]) -> None:
    for corpus_id in set(registry.corpus_ids()) - set(CORPORA):
        assert f"{corpus_id}: has no files of the form huggingface, so it is skipped" in built[1]
    assert "1 of 3 files are not there" in built[1]


def test_other_columns_are_rejected_in_one_line(forms: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / DIALOGUES).parent.mkdir(parents=True)
    pq.write_table(pq.read_table(forms / DIALOGUES).drop_columns(["agents"]), source / DIALOGUES)
    completed = run_command("build", "--warehouse", tmp_path / "warehouse", "--source", source, *BUILD)
    assert completed.returncode == 2
    assert completed.stderr.splitlines()[-1] == f"error: mutualfriends/{DIALOGUES}: column agents is missing"


def test_rows_that_cannot_be_converted_are_quarantined_and_the_others_land(forms: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(forms, source)
    ragged, numbered = source / DIALOGUES, source / "schema_guided_dstc8/dialogues/train.parquet"
    rows = pq.read_table(ragged).to_pylist()
    rows[1]["events"]["times"].pop()
    rows[2]["events"]["actions"][0] = "join"
    rows[3]["scenario_alphas"][:2] = [float("-inf"), float("nan")]
    pq.write_table(pa.Table.from_pylist(rows, schema=pq.read_schema(ragged)), ragged)
    dialogues = pq.read_table(numbered).to_pylist()
    dialogues[3]["turns"]["frames"][0]["actions"][0]["act"][0] = 99
    pq.write_table(pa.Table.from_pylist(dialogues, schema=pq.read_schema(numbered)), numbered)
    warehouse = build_warehouse(tmp_path / "warehouse", "--source", source, "--verify", *BUILD)
    with duckdb.connect(str(warehouse / "dialogues.duckdb"), read_only=True) as con:
        assert con.execute("select distinct is_equal from quality.restorations").fetchall() == [(True,)]
        found = con.execute(
            "select source_file_id, record_index, record_pointer, error, value from core.source_quarantine order by 1, 2"
        ).fetchall()
        counts = con.execute("select corpus_id, count(*) from core.dim_dialogues group by all order by all").fetchall()
        violations = con.execute("select count(*) from quality.violations where rule_id = 'refused_record'").fetchall()
        accounted = con.execute(
            "select published, quarantined, core from quality.row_accounting where entity = 'dialogues' "
            f"and corpus_id in {CORPORA} order by corpus_id"
        ).fetchall()
    assert counts == [("mutualfriends", 7), ("sgd", 84)]
    assert (violations, accounted) == ([(4,)], [(7, 3, 7), (84, 1, 84)])
    lists = "actions {0}, start_times {0}, data_messages {0}, agents {0}, times {1}, select_attributes {0}, select_values {0}"
    count = len(rows[1]["events"]["actions"])
    assert [row[:4] for row in found] == [
        (
            f"mutualfriends/{DIALOGUES}",
            1,
            "/1",
            f"lists of different length at /events: {lists.format(count, count - 1)} - at `$[1]`",
        ),
        (
            f"mutualfriends/{DIALOGUES}",
            2,
            "/2",
            "action 'join' at /events/actions/0, for which the form has no data - at `$[2]`",
        ),
        (
            f"mutualfriends/{DIALOGUES}",
            3,
            "/3",
            "-inf at /scenario_alphas/0, which is not possible in JSON - at `$[3]`",
        ),
        (
            "sgd/schema_guided_dstc8/dialogues/train.parquet",
            3,
            "/3",
            "class id 99 at /turns/frames/0/actions/0/act/0, but there are only 18 classes - at `$[3]`",
        ),
    ]
    run_command("restore", "--corpus", "mutualfriends", "--to", tmp_path / "to", "--warehouse", warehouse)
    assert str(pq.read_table(tmp_path / "to" / DIALOGUES).to_pylist()) == str(rows)  # nan is not equal to itself
    rows[3]["scenario_alphas"][:2] = ["-inf", "nan"]
    assert [json.loads(row[4]) for row in found] == [rows[1], rows[2], rows[3], dialogues[3]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--form", "huggingface"), "--form huggingface needs --source FOLDER, with mutual_friends/plain_text/"),
        (("--form", "huggingface", "--corpora", "bbai", "--source", "{source}"), "huggingface: not a form of bbai"),
        (("--form", "huggingface", "--source", "{source}"), "no data file of the form huggingface"),
        (("--form", "convlab", "--source", "{source}"), "'convlab' is not one of 'release', 'huggingface'"),
    ],
)
def test_impossible_request_for_a_form_is_rejected(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    given = [argument.format(source=tmp_path) for argument in arguments]
    completed = run_command("build", "--warehouse", tmp_path / "warehouse", *given)
    assert completed.returncode == 2
    assert message in completed.stderr


def test_unknown_form_is_rejected(tmp_path: Path) -> None:
    completed = run_command("build", "--warehouse", tmp_path / "warehouse", DIALOGUE_FORM="csv")
    assert completed.returncode == 2
    assert completed.stderr == "error: DIALOGUE_FORM: 'csv' is not one of release, huggingface\n"
