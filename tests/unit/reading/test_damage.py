"""A damaged file of the published build is named by every reader, and no other error is taken for damage."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import duckdb
import msgspec
import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.cli.main import main
from dialogue_warehouse.common.text import command
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import DBT_PROJECT, WarehousePaths
from dialogue_warehouse.reading import connection, damage
from dialogue_warehouse.releases.unpacking import sha256_of
from dialogue_warehouse.storage import builds
from tests.unit.parquet_builds import make_parquet_build
from tests.unit.published import BUILD, run
from tests.unit.storage.test_builds import LANDED

BLOCK = 2**18
"""Bytes of a block of DuckDB's, each with its own checksum, after three headers."""
HEADERS = 3 * 4096


@pytest.fixture
def described(paths: WarehousePaths) -> WarehousePaths:
    """Return the build of the fixture, with the recorded facts about its database."""
    manifest = builds.read_manifest(paths, BUILD)
    known = builds.describe_file(paths.build_database(BUILD))
    paths.build_manifest(BUILD).write_bytes(builds.encode_manifest(msgspec.structs.replace(manifest, database=known)))
    return paths


def spoil(file: Path, keeps_time: bool = False) -> None:
    """Change a byte of every block of a database."""
    state, data = file.stat(), bytearray(file.read_bytes())
    for place in range(HEADERS + 1000, len(data), BLOCK):
        data[place] ^= 0xFF
    file.write_bytes(data)
    if keeps_time:
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))


def error_of_a_reader(paths: WarehousePaths, query: str = "from fct_turns") -> Exception:
    """Return the error with which reading the published build fails."""
    try:
        with connection.open_published(paths) as con:
            run(con, query)
    except (InputError, duckdb.Error) as error:
        return error
    raise AssertionError("nothing failed")


@pytest.mark.parametrize("keeps_time", [False, True])
def test_damaged_block_is_reported_with_the_file_and_what_to_do(described: WarehousePaths, keeps_time: bool) -> None:
    """A file whose time did not change is touched, so that the next build reads it again."""
    database = described.build_database(BUILD)
    spoil(database, keeps_time)
    reported = damage.cause_of(error_of_a_reader(described), described)
    assert str(reported).startswith(f"{database}: is damaged, ")
    assert "build" in str(reported)
    assert "rollback" in str(reported)
    assert "\n" not in str(reported)
    assert builds.damage(described, BUILD) == [described.published, database]


def test_file_that_this_user_cannot_read_is_not_called_damaged(
    described: WarehousePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = described.build_database(BUILD)
    monkeypatch.setattr(os, "access", lambda path, *_modes, **_more: path != database)
    spoil(database, False)
    reported = damage.cause_of(error_of_a_reader(described), described)
    assert str(reported) == f"{database}: Permission denied"


def test_error_of_a_query_is_not_damage(described: WarehousePaths) -> None:
    """An error in a query, or in this project's code, keeps its own message."""
    for query in ("from nowhere", "select cast(utterance as integer) from fct_turns", "select"):
        assert damage.cause_of(error_of_a_reader(described, query), described) is None, query
    assert damage.cause_of(duckdb.IOException("elsewhere"), described) is None
    assert damage.cause_of(InputError("as it is"), described) is None


def test_damaged_raw_file_is_reported(described: WarehousePaths) -> None:
    raw = described.raw / "fruit" / "apples" / "apples-1.parquet"
    landed = asdict(LANDED) | {"parquet_sha256": sha256_of(raw.read_bytes())}
    raw.with_suffix(".json").write_bytes(msgspec.json.encode(landed))
    assert damage.cause_of(duckdb.InvalidInputException("odd"), described) is None
    raw.write_bytes(raw.read_bytes() + b"x")
    assert str(damage.cause_of(duckdb.InvalidInputException("odd"), described)).startswith(f"{raw}: is damaged")


@pytest.mark.parametrize(
    "arguments", [("sql", "from fct_turns"), ("describe", "fct_turns"), ("show", "a/b/c"), ("tables",)]
)
def test_every_command_that_reads_names_the_file(
    described: WarehousePaths, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Regression: they ended in an internal error without a file."""
    database = described.build_database(BUILD)
    spoil(database)
    assert main([*arguments, "--warehouse", str(described.root)]) == 2
    reported = capsys.readouterr().err
    assert reported.startswith(f"error: {database}: is damaged, ")
    assert reported.count("\n") == 1


@pytest.mark.parametrize(
    ("query", "lacking"),
    [
        ("select dialogue_key from fct_turns", "core.fct_frames.dialogue_key"),
        ("from dim_acts", "core.dim_acts."),
        ("from core.dim_acts", "core.dim_acts."),
    ],
)
def test_build_of_another_version_is_named(described: WarehousePaths, query: str, lacking: str) -> None:
    """Regression: going back to a build from before a table or column was added ended in an internal error."""
    reported = str(damage.cause_of(error_of_a_reader(described, query), described))
    assert reported.startswith(f"build {BUILD} was made by another version of dialogue-warehouse and lacks {lacking}")
    built_again = command("build", "--source", "/releases", warehouse=described.root)
    assert reported.endswith(f"`{built_again}` builds it again")
    assert "\n" not in reported


def test_advice_builds_from_the_source_and_form_of_the_build(
    described: WarehousePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: the command would have published the embedded sample in place of the release that was built."""
    manifest = builds.read_manifest(described, BUILD)

    def advised(**fields: str) -> str:
        changed = msgspec.structs.replace(manifest, **fields)
        described.build_manifest(BUILD).write_bytes(builds.encode_manifest(changed))
        return str(damage.cause_of(error_of_a_reader(described, "from dim_acts"), described)).split("`")[1]

    hub = command("build", "--source", "/releases", "--form", "huggingface", warehouse=described.root)
    assert advised(form="huggingface") == hub
    assert advised(source=builds.EMBEDDED_SAMPLE) == command("build", warehouse=described.root)
    monkeypatch.setenv("DIALOGUE_SOURCE", "/releases")
    assert advised() == command("build", warehouse=described.root)
    monkeypatch.setenv("DIALOGUE_FORM", "huggingface")
    assert advised(form="huggingface") == command("build", warehouse=described.root)
    assert advised() == command("build", "--form", "release", warehouse=described.root)


def test_copy_of_a_build_of_another_version_is_named(
    paths: WarehousePaths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Regression: the advice was to build in a temporary folder, and Python raised DuckDB's own error."""
    copy = shutil.copy(paths.build_database(BUILD), tmp_path / f"{BUILD}.duckdb")
    with dw.open(copy) as warehouse, pytest.raises(dw.QueryError) as refused:
        warehouse.sql("from dim_acts")
    assert main(["sql", "from dim_acts", "--warehouse", str(copy)]) == 2
    for said in (str(refused.value), capsys.readouterr().err.strip().removeprefix("error: ")):
        assert said.startswith(f"build {BUILD} was made by another version of dialogue-warehouse and lacks core.dim_a")
        assert said.endswith(f"; {copy} is a copy: replace it with one of a build by this version")


def test_command_that_needs_a_newer_column_names_the_build(
    described: WarehousePaths, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (("show", "a/b/c"), ("violations", "--json"), ("claims", "--json"), ("report",)):
        assert main([*arguments, "--warehouse", str(described.root)]) == 2, arguments
        reported = capsys.readouterr().err
        assert reported.startswith(f"error: build {BUILD} was made by another version"), arguments
        assert reported.count("\n") == 1


def test_every_published_macro_is_known() -> None:
    texts = [file.read_text() for file in (DBT_PROJECT / "macros").rglob("*.sql")]
    found = {name for text in texts for name in re.findall(r"create or replace macro core\.(\w+)", text)}
    assert found == set(damage.MACROS)


@pytest.mark.parametrize("macro", damage.MACROS)
def test_missing_macro_is_named(described: WarehousePaths, macro: str) -> None:
    reported = str(damage.cause_of(error_of_a_reader(described, f"select core.{macro}('a')"), described))
    assert reported.startswith(f"build {BUILD} was made by another version of dialogue-warehouse and lacks the macro ")
    assert f"core.{macro}; `{command('build', '--source', '/releases', warehouse=described.root)}` builds" in reported


def test_macro_that_is_there_is_not_called_missing(described: WarehousePaths) -> None:
    with duckdb.connect(described.build_database(BUILD)) as con:
        con.execute("create macro core.same_text(text) as lower(text)")
    assert damage.cause_of(error_of_a_reader(described, "select x.same_text('a')"), described) is None


def test_macro_that_parquet_tables_lack_alone_is_named(
    paths: WarehousePaths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Regression: `show` with the key of a row, and `--without-leaks`, ended in an internal error."""
    shutil.rmtree(paths.root)
    make_parquet_build(paths)
    alone = shutil.copytree(paths.build_tables(BUILD), tmp_path / "alone.tables")
    said = f"{alone}: the macro core.source_of is only in the database of the build; copy that to {alone.parent}/alone"
    with dw.open(alone) as warehouse, pytest.raises(dw.QueryError) as refused:
        warehouse.sql("from core.source_of('a')")
    assert str(refused.value) == f"{said}.duckdb"
    assert main(["sql", "from core.source_of('a')", "--warehouse", str(alone)]) == 2
    assert capsys.readouterr().err == f"error: {said}.duckdb\n"
