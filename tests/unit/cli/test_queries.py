"""The command `sql`: its options, output forms and time limit; and corpora that the build lacks, for all commands."""

from __future__ import annotations

import contextlib
import errno
import io
import json
from pathlib import Path

import click
import duckdb
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from msgspec import structs
from rich.console import Console

import dialogue_warehouse as dw
from dialogue_warehouse.cli import completing
from dialogue_warehouse.cli.main import cli, main
from dialogue_warehouse.common import files
from dialogue_warehouse.common.database import QueryError
from dialogue_warehouse.corpora.registry import corpus_ids
from dialogue_warehouse.errors import NO_SPACE, InputError
from dialogue_warehouse.lineage import verifying
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import connection, query
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.terminal import printing
from tests.unit.published import BUILD, TURNS, make_build, run

ENDLESS = "with recursive t as (select 1 as n union all select n + 1 from t) select max(n) from t"


def sql(paths, *arguments: str, **options) -> tuple[int, str, str]:
    """The result of a command: its status, standard output, standard error."""
    result = CliRunner().invoke(cli, ["sql", "--warehouse", str(paths.root), *arguments], **options)
    return result.exit_code, result.stdout_bytes.decode(), result.stderr


@pytest.mark.parametrize(
    "comment", ["-- why\n", "--\tx\n", "/* why */ ", "--why\n", "--------\n-- why\n", "--a = b\r\n"]
)
def test_a_query_may_begin_with_a_comment(paths, comment):
    """Regression: a comment without a space after -- was read as an unknown option."""
    assert sql(paths, "--csv", f"{comment}select 1 as a") == (0, "a\n1\n", "")


def test_value_of_several_lines_is_not_a_comment(paths):
    assert sql(paths, "--csv", "--param=a=1\n2", "select $a as a") == (0, 'a\n"1\n2"\n', "")


@pytest.mark.parametrize(
    "given", [("--json", "--csv"), ("--csv", "--format", "json"), ("--json", "--parquet", "x.parquet")]
)
def test_two_output_forms_are_rejected(paths, given):
    """The last one does not replace the first."""
    status, shown, reported = sql(paths, *given, "select 1")
    assert (status, shown) == (2, "")
    assert f"{given[0]} and" in reported or f"and {given[0]}" in reported
    assert "cannot be given together" in reported


EVERY_FORM = {
    "table": lambda text: "1 row" in text,
    "vertical": lambda text: "── row 1" in text and "b  x|y" in text,
    "json": lambda text: json.loads(text) == [{"a": 1, "b": "x|y"}],
    "jsonl": lambda text: [json.loads(line) for line in text.splitlines()] == [{"a": 1, "b": "x|y"}],
    "csv": lambda text: text == "a,b\n1,x|y\n",
    "markdown": lambda text: text == "| a | b |\n|---|---|\n| 1 | x\\|y |\n",
}


@pytest.mark.parametrize("form", EVERY_FORM)
def test_every_form_has_the_row(paths, form):
    status, shown, reported = sql(paths, "--format", form, "select 1 as a, 'x|y' as b")
    assert (status, reported) == (0, "")
    assert EVERY_FORM[form](shown), shown


@pytest.mark.parametrize("form", ["json", "csv", "markdown"])
def test_failing_query_writes_nothing(paths, form):
    """Regression: a pipe received the `[` of an array, or a header, before the error."""
    status, shown = sql_of_a_process(paths, "--format", form, "select cast(utterance as integer) from core.fct_turns")
    assert (status, shown) == (2, "")


def sql_of_a_process(paths, *arguments: str) -> tuple[int, str]:
    """Run the same through `main`, which turns errors into a status."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        status = main(["sql", "--warehouse", str(paths.root), *arguments])
    return status, shown.getvalue()


@pytest.mark.parametrize("arguments", [("simulate", "--to", "/"), ("restore", "--corpus", "a", "--to", "/tmp/..")])
def test_root_folder_is_rejected(arguments, capsys):
    assert main(list(arguments)) == 2
    assert capsys.readouterr().err.endswith("is the root of the file system; choose a folder below it\n")


def test_link_to_itself_is_rejected_as_a_folder(tmp_path, capsys):
    """Regression: it was an internal error."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert main(["tables", "--warehouse", str(tmp_path / "loop")]) == 2
    assert "loop" in capsys.readouterr().err


@pytest.mark.parametrize("form", [("--format", "parquet"), ("--parquet", "-")])
def test_complete_parquet_is_written_to_a_pipe(paths, form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    result = CliRunner().invoke(cli, ["sql", "--warehouse", str(paths.root), *form, "from range(250000) t(a)"])
    assert sorted(tmp_path.iterdir()) == before
    table = pyarrow.parquet.read_table(io.BytesIO(result.stdout_bytes))
    assert table.column("a").to_pylist() == list(range(250_000))


@pytest.mark.parametrize(
    "given", [("--param", "a=1"), ("--parquet", "x.parquet"), ("--parquet", "-"), ("--format", "parquet")]
)
def test_shell_refuses_options_that_it_would_ignore(paths, given, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert main(["sql", "--warehouse", str(paths.root), *given]) == 2
    assert "need a QUERY" in capsys.readouterr().err


def test_parameter_is_a_value_and_not_a_part_of_the_query(paths):
    """Neither a quote nor a comment in a value ends it."""
    text = "select utterance from fct_turns where utterance = $said and turn_index < $n"
    status, shown, _ = sql(paths, "--json", "--param", "said=Hi", "--param", "n=3", text)
    assert (status, json.loads(shown)) == (0, [{"utterance": "Hi"}])
    assert json.loads(sql(paths, "--json", "--param", "said=' or 1=1 --", "--param", "n=3", text)[1]) == []


@pytest.mark.parametrize("given", [("said",), ("a b=1",), ("a=1", "a=2")])
def test_invalid_parameter_is_rejected(paths, given):
    status, _, reported = sql(paths, *(f"--param={one}" for one in given), "select 1")
    assert (status, "--param:" in reported) == (2, True)


@pytest.mark.parametrize("arguments", [("sql", "--timeout", "nan", "select 1"), ("simulate", "--scale", "nan")])
def test_nan_of_an_option_is_rejected(paths, arguments, capsys):
    """Regression: a query was "stopped after nan seconds"."""
    to = ("--to", str(paths.root / "new")) if arguments[0] == "simulate" else ()
    assert main([*arguments, *to, "--warehouse", str(paths.root)]) == 2
    assert "'nan' is not a number" in capsys.readouterr().err


def test_missing_parameter_is_reported_in_one_line(paths):
    assert main(["sql", "--warehouse", str(paths.root), "select $a, $b", "--param", "a=1"]) == 2


# Names and rows


@pytest.mark.parametrize("name", ["fct_turns", "core.fct_turns", "dialogues.core.fct_turns"])
def test_names_resolve_with_and_without_schema(con, name):
    assert run(con, f"select count(*) from {name}") == [(len(TURNS),)]


def test_show_tables_shows_them(con):
    assert {"fct_turns", "fct_frames"} <= {row[0] for row in run(con, "show tables")}


def shown(con, text: str, form: str | None, width: int = 60) -> str:
    stream = io.StringIO()
    printing._show(query.run_query(con, text), form, Console(file=stream, width=width), None)
    return stream.getvalue()


WIDE = "select 'sgd/train/' || 'x'.repeat(30) || '/7' as turn_key, " + ", ".join(
    f"'value {n}' as column_{n}" for n in range(12)
)


def test_wide_rows_are_shown_with_one_line_per_column(con):
    """Every column, and every complete key."""
    text = shown(con, WIDE, None)
    assert all(f"column_{n}" in text and f"value {n}" in text for n in range(12))
    assert f"turn_key   sgd/train/{'x' * 30}/7" in text
    assert "── row 1" in text
    assert "── row 1" not in shown(con, WIDE, None, width=400)


def test_requested_table_has_keys_last(con):
    text = shown(con, WIDE, "table")
    assert text.splitlines()[1].split()[:2] == ["column_0", "column_1"]
    assert "turn_key" not in text
    assert "of 13 columns fit, --format vertical shows all" in text


def test_long_key_is_shortened_in_the_middle(con):
    """Its beginning and its end distinguish it from other keys."""
    text = shown(con, "select 'sgd/train/' || 'x'.repeat(80) || '/7' as turn_key", "table")
    assert "sgd/train/" in text
    assert "…" in text
    assert "x/7" in text


def test_long_results_go_to_the_pager_only_on_a_terminal(con):
    paged: list[str] = []
    result = query.run_query(con, "from range(100)")
    terminal = Console(file=io.StringIO(), force_terminal=True, width=80, height=24)
    printing._show(result, None, terminal, paged.append)
    assert len(paged) == 1
    assert "100 rows" in paged[0]
    short = Console(file=io.StringIO(), force_terminal=True, width=80, height=24)
    printing._show(query.run_query(con, "from range(3)"), None, short, paged.append)
    printing._show(result, None, Console(file=io.StringIO()), paged.append)
    assert len(paged) == 1
    assert "3 rows" in short.file.getvalue()
    wide = query.run_query(con, "select unnest([repeat('é漢', 1000), repeat('é漢', 1000), 'a', 'b']) as long")
    printing._show(
        wide, "vertical", Console(file=io.StringIO(), force_terminal=True, width=80, height=24), paged.append
    )
    assert len(paged) == 2, "the long values take more lines than the terminal has"


# Giving up


def test_time_limit_has_a_default_and_is_reported(con):
    with pytest.raises(
        QueryError, match=r"stopped after 0\.2 seconds; DIALOGUE_QUERY_TIMEOUT, or --timeout of `sql`, allows more"
    ):
        list(query.run_query(con, ENDLESS, timeout=0.2).rows())
    assert run(con, "select 1") == [(1,)]
    assert 0 < Settings.query_timeout < 3600


def test_tables_are_listed_as_json(paths, capsys):
    assert main(["tables", "--json", "--warehouse", str(paths.root)]) == 0
    assert {(table["schema"], table["rows"]) for table in json.loads(capsys.readouterr().out)} >= {("core", 3)}


# What reaches a terminal


def test_escapes_are_visible_in_errors(paths, capsys):
    assert main(["sql", "--warehouse", str(paths.root), 'select "\x1b[31mred\x07" from fct_turns']) == 2
    assert main(["describe", "--warehouse", str(paths.root), "\x1b]0;title\x07"]) == 2
    assert main(["sql", "--format", "\x1b[31m"]) == 2
    reported = capsys.readouterr().err
    assert r"\x1b[31mred\x07" in reported
    assert r"\x1b]0;title" in reported
    assert "\x1b" not in reported
    assert "\x07" not in reported


@pytest.mark.parametrize("columns", ["0", "00"])
def test_rows_are_shown_if_the_terminal_has_no_width(paths, monkeypatch, columns):
    """Regression: nothing was printed."""
    monkeypatch.setenv("COLUMNS", columns)
    status, shown = sql_of_a_process(paths, "select 'seen' as a")
    assert (status, "seen" in shown) == (0, True)


def test_shell_completes_nothing_for_a_word_that_is_not_utf_8(paths):
    """Regression: the shell showed an internal error."""
    context = click.Context(cli)
    context.params = {"warehouse": str(paths.root)}
    assert completing.tables(context, click.Argument(["table"]), "fct_t") == ["fct_turns"]
    assert completing.tables(context, click.Argument(["table"]), "\udcff") == []


# A build that is pruned while it is opened


def test_reader_reads_the_pointer_again_if_its_build_is_missing(paths, monkeypatch):
    """Another build was published, and the earlier one was pruned, between two steps of opening."""
    newer = "20990101T000000000000Z"
    published = builds.published_build

    def pruned_meanwhile(asked):
        found = published(asked)
        if found[0] == BUILD:
            make_build(paths, newer)
            paths.build_database(BUILD).unlink()
        return found

    monkeypatch.setattr(builds, "published_build", pruned_meanwhile)
    with connection.open_published(paths, raw=True) as con:
        assert con.execute("select path from duckdb_databases() where database_name = 'dialogues'").fetchall() == [
            (str(paths.build_database(newer)),)
        ]


@pytest.fixture
def of_another_corpus(paths: WarehousePaths) -> WarehousePaths:
    """Return a build whose only corpus is none of this project's."""
    with duckdb.connect(paths.build_database(BUILD)) as con:
        con.execute("create table core.dim_corpora as select 'toy' as corpus_id")
    manifest = builds.read_manifest(paths, BUILD)
    paths.build_manifest(BUILD).write_bytes(builds.encode_manifest(structs.replace(manifest, corpora=("toy",))))
    return paths


@pytest.mark.parametrize("command", ["claims", "violations"])
def test_corpus_that_the_build_lacks_is_not_shown_as_one_without_findings(
    of_another_corpus: WarehousePaths, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Regression: there were no rows, as for a corpus in which everything is right."""
    corpus = corpus_ids()[0]
    said = f": the published warehouse has no corpus '{corpus}'; it has toy"
    assert main([command, "--corpora", corpus, "--warehouse", str(of_another_corpus.root)]) == 2
    assert capsys.readouterr().err == f"error: --corpora{said}\n"
    with dw.open(of_another_corpus.root) as warehouse, pytest.raises(dw.InputError) as refused:
        getattr(warehouse, command)(corpus=corpus)
    assert str(refused.value) == f"corpus{said}"


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "of the environment"])
def test_corpus_that_the_build_lacks_is_not_verified(of_another_corpus: WarehousePaths, is_named: bool) -> None:
    """Regression: no file was compared, and the status was that of a warehouse whose files are all equal."""
    corpora = (corpus_ids()[0],)
    settings = Settings(source=of_another_corpus.root, only=corpora)
    with pytest.raises(
        InputError, match=f"^--corpora: the published warehouse has no corpus '{corpora[0]}'; it has toy$"
    ):
        verifying.verify_published(of_another_corpus, settings, corpora if is_named else ())


@pytest.mark.parametrize("is_equal", [True, False])
def test_results_of_verify_that_do_not_fit_on_the_disk_are_printed(
    paths: WarehousePaths, is_equal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Regression: only the error was printed, after the time that it takes to compare all files."""

    def be_full(file: Path, _content: bytes) -> None:
        raise OSError(errno.ENOSPC, NO_SPACE, str(file))

    results = [verifying.Verified("toy/a.json", 7, is_equal, None if is_equal else "/0: it is another one")]
    monkeypatch.setattr(verifying, "refuse_damage", lambda _paths: None)
    monkeypatch.setattr(verifying, "verify_published", lambda *_: (BUILD, results))
    monkeypatch.setattr(files, "write_atomically", be_full)
    assert main(["verify", "--json", "--warehouse", str(paths.root)]) == 1
    shown = capsys.readouterr()
    assert [row["records"] for row in json.loads(shown.out)] == [7]
    full = f"{paths.build_restorations(BUILD)}: {NO_SPACE}"
    assert (
        shown.err == f"error: {full if is_equal else 'toy/a.json: the restored file differs: /0: it is another one'}\n"
    )


@pytest.mark.parametrize(("length", "end"), [(1_000, "x"), (1_001, "x…"), (5_000, "x…")])
def test_long_value_that_is_cut_has_a_mark(con, length: int, end: str) -> None:
    """Regression: one line per column showed the first 1,000 characters of a value as if it had no others."""
    text = shown(con, f"select repeat('x', {length}) as long", "vertical")
    line = next(line for line in text.splitlines() if line.startswith("long"))
    assert line.endswith(f" {'x' * (1_000 - 1)}{end}")
