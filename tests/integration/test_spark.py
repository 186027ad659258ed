"""The same warehouse from Spark: its tasks land the same bytes, and the same project gives the same rows.

Two machines are two executors of `local-cluster`: separate processes that share the disk. The server is the one that
pyspark includes. Without Java or the extra, these tests cannot run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from jinja2 import Environment

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import DBT_PROJECT, WarehousePaths
from dialogue_warehouse.releases import finding
from dialogue_warehouse.settings import SPARK, Settings
from pipelines.building import spark_models
from pipelines.building.spark_models import ANSI
from pipelines.cluster import session
from pipelines.cluster.session import ClusterError, Server, Session
from pipelines.ingestion.lander import Lander
from tests.benchmarks.compare_builds import compare
from tests.conftest import run_command
from tests.integration.random_releases import SEED
from tests.integration.test_pages_of_docs import blocks

(FEW_ROWS,) = blocks("beyond_one_machine", "properties")
"""Settings that make Spark faster with few rows, as on the page."""
TWO_MACHINES = "local-cluster[2,1,1024]"


def why_not() -> str | None:
    """Return the reason why Spark cannot run here; None if it can."""
    try:
        session.check_session(Settings())
    except InputError as error:
        return str(error)
    return None


pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # from py4j, which leaves closing its sockets to Python
]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the file with these settings."""
    file = tmp_path_factory.mktemp("conf") / "spark-defaults.conf"
    file.write_text(FEW_ROWS)
    return str(file)


@pytest.fixture(scope="module")
def two_machines(small: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Return a session with two executors."""
    settings = Settings(engine=SPARK, spark_master=TWO_MACHINES, spark_conf=small)
    with Session(settings, tmp_path_factory.mktemp("spark") / "scratch") as spark:
        yield spark


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the Thrift server that pyspark includes, started as the operator of a cluster would start it."""
    import pyspark

    folder = tmp_path_factory.mktemp("server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    conf = [
        *FEW_ROWS.splitlines(),
        "spark.ui.enabled=false",
        "spark.driver.host=127.0.0.1",
        "spark.sql.catalogImplementation=in-memory",
        f"spark.sql.warehouse.dir={folder}/tables",
        f"spark.hadoop.hive.server2.thrift.port={port}",
        "spark.hadoop.hive.server2.thrift.bind.host=127.0.0.1",
    ]
    words = [word for setting in conf for word in ("--conf", setting)]
    command = [home / "bin" / "spark-submit", "--master", "local[2]", *words, "--driver-memory", "2g"]
    command += ["--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "spark-internal"]
    environment = os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment)
    try:
        end = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "log").read_text()[-3000:]
                assert time.monotonic() < end, (folder / "log").read_text()[-3000:]
                time.sleep(0.5)
        yield f"thrift://127.0.0.1:{port}"
    finally:
        process.kill()  # it stores nothing; on SIGTERM, it once did not end within 30 s
        process.wait(30)


# Landing


def test_files_are_landed_in_tasks_byte_for_byte(two_machines: Session, awkward_releases: Path, tmp_path: Path) -> None:
    landed = {}
    settings = Settings(source=awkward_releases, processes=1)
    for name, spark in (("here", None), ("there", two_machines)):
        with Lander(tmp_path / name, settings, spark) as lander:
            for corpus in registry.load_corpora():
                release = finding.find(corpus, settings, WarehousePaths(tmp_path))
                landed[name, corpus.corpus_id] = lander.land(release)
    files = {
        name: {
            path.relative_to(tmp_path / name).as_posix(): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("here", "there")
    }
    assert len(files["here"]) > 30
    assert files["here"] == files["there"]
    for corpus in registry.load_corpora():
        assert landed["here", corpus.corpus_id] == landed["there", corpus.corpus_id]


def test_rejected_file_is_reported_as_usual_and_not_tried_again(
    two_machines: Session, awkward_releases: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "releases" / "mutualfriends" / "dev.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text('[{"uuid": "a", ')
    settings = Settings(source=tmp_path / "releases")
    release = finding.find(registry.load_corpus("mutualfriends"), settings, WarehousePaths(tmp_path))
    reported = []
    for name, spark in (("here", None), ("there", two_machines)):
        with Lander(tmp_path / name, settings, spark) as lander, pytest.raises(InputError) as raised:
            lander.land(release)
        reported.append(str(raised.value))
        assert not list((tmp_path / name).rglob("*.parquet"))
    assert reported[0] == reported[1]
    assert reported[0].startswith("mutualfriends/dev.json: ")


def _executor() -> int:
    """Return the process id of the JVM that the Python process of this task works for."""
    pid = os.getpid()
    while "CoarseGrainedExecutorBackend" not in Path(f"/proc/{pid}/cmdline").read_text():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid


def _killed_once(given: tuple[str, int]) -> tuple[int, int]:
    """Run a task whose first attempt ends together with its machine."""
    folder, number = given
    attempts = Path(folder) / str(number)
    attempts.write_text(attempts.read_text() + "x" if attempts.exists() else "x")
    if number == 1 and attempts.read_text() == "x":
        os.kill(_executor(), signal.SIGKILL)
        time.sleep(60)
    return number, _executor()


def test_task_that_dies_with_its_machine_is_run_again(two_machines: Session, tmp_path: Path) -> None:
    given = [(str(tmp_path), number) for number in range(6)]
    found = two_machines.run(_killed_once, given)
    assert [number for number, _ in found] == [0, 1, 2, 3, 4, 5]
    assert (tmp_path / "1").read_text() == "xx"


def _fails(given: int) -> int:
    raise OSError(28, f"No space left on device {given}")


def test_task_that_always_fails_is_reported_in_one_line(two_machines: Session) -> None:
    with pytest.raises(ClusterError) as raised:
        two_machines.run(_fails, [1])
    assert str(raised.value) == "OSError: [Errno 28] No space left on device 1"


def test_folder_that_machines_do_not_share_is_reported(
    two_machines: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.check_storage(two_machines, tmp_path)
    assert list(tmp_path.iterdir()) == []
    elsewhere = [(str(tmp_path / "not written"), str(tmp_path / "written"))]
    monkeypatch.setattr(session, "TASKS", 1)
    monkeypatch.setattr(two_machines, "run", lambda look, _: Session.run(two_machines, look, elsewhere))
    with pytest.raises(
        InputError, match=r"does not share this folder \(files that are written here are not visible there\)"
    ):
        session.check_storage(two_machines, tmp_path)
    unseen = [(str(tmp_path), str(tmp_path / "nowhere" / "written"))]
    monkeypatch.setattr(two_machines, "run", lambda look, _: Session.run(two_machines, lambda _: ("a", ""), unseen))
    with pytest.raises(InputError, match=r"\(files that it writes there are not visible here\)"):
        session.check_storage(two_machines, tmp_path)


# SQL


def test_bad_cast_is_an_error_and_not_null(two_machines: Session) -> None:
    """dbt-spark switches ANSI mode off before every statement. If it stayed off, the result would be NULL."""
    from dbt.adapters.spark.connections import SparkCredentials
    from dbt.adapters.spark.session import Connection
    from pyspark.errors import NumberFormatException

    two_machines.start()
    profile = {"method": "session", "host": "none", "schema": "x"}
    by_dbt = Connection(server_side_parameters=SparkCredentials(**profile).server_side_parameters).cursor()
    by_dbt.execute("select cast('a' as int)")
    assert [tuple(row) for row in by_dbt.fetchall() or ()] == [(None,)]
    with spark_models._ansi():
        credentials = SparkCredentials(**profile)
    assert credentials.server_side_parameters[ANSI] == "true"
    ours = Connection(server_side_parameters=credentials.server_side_parameters).cursor()
    ours.execute("select cast('a' as int)")
    with pytest.raises(NumberFormatException, match="CAST_INVALID_INPUT"):
        ours.fetchall()


@pytest.mark.parametrize("place", ["two machines", "server"])
def test_options_that_change_results_are_set(place: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if place == "two machines":
        session = contextlib.nullcontext(request.getfixturevalue("two_machines"))
    else:
        settings = Settings(engine=SPARK, spark_master=request.getfixturevalue("server"))
        session = Server(settings, tmp_path / "scratch")
    with session as spark:

        def one(expression: str) -> object:
            return spark.sql(f"select {expression}")[1][0][0]

        assert one("cardinality(cast(null as array<int>))") is None  # else -1
        assert one("typeof(timestamp '2020-01-01 00:00:00')") == "timestamp_ntz"
        assert one(r"r'\d'") == "\\d"
        with pytest.raises(ClusterError, match=r"^[^\n]*\[DIVIDE_BY_ZERO\] [^\n]*$"):
            one("1 / 0")


# The results are those of DuckDB, which unit tests of the models expect.
SAME_ON_BOTH = [
    ("lower_case", ["'ΟΔΟΣ İ É'"], "οδοσ i é"),
    ("lower_case", ["'ΣΑΣ'"], "σασ"),
    ("without_number", [r"'Night\nBuses_3'", "_[0-9]+"], "Night\nBuses"),
    ("without_number", [r"'Buses_3\n'", "_[0-9]+"], "Buses_3\n"),
    ("position_segment", ["100000"], "100000"),
    ("text_between", ["'hello'", "1", "9"], "ello"),
    ("text_between", ["'hello'", "2147483647", "2147483647"], ""),
]


@pytest.mark.parametrize(("macro", "arguments", "expected"), SAME_ON_BOTH)
def test_macro_gives_the_result_of_duckdb(
    two_machines: Session, macro: str, arguments: list[str], expected: str
) -> None:
    environment = Environment(extensions=["jinja2.ext.do"])
    macros: dict[str, Any] = {}
    for name in ("dialect_spark", "keys", "spans"):
        text = (DBT_PROJECT / "macros" / f"{name}.sql").read_text(encoding="utf-8")
        macros |= vars(environment.from_string(text).module)
    two_machines.start()
    expression = macros.get(f"spark__{macro}", macros.get(macro))(*arguments)
    assert two_machines.sql(f"select {expression}")[1][0][0] == expected


# Whole builds


def built(folder: Path, master: str, *arguments: object, **settings: str) -> Path:
    """Return a warehouse that Spark has built, with every file restored before it was published."""
    environment = {"DIALOGUE_SPARK_MASTER": master, "DIALOGUE_ENGINE": "spark"} | settings
    ended = run_command("build", "--verify", "--warehouse", folder, *arguments, **environment)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stderr.splitlines()
    assert not [line for line in lines if "WARN" in line or "Exception" in line or "Warning" in line], lines
    assert [line.split()[:2] for line in lines if line.startswith(("model", "load", "audit", "verify"))] == [
        ["load", "framework"],
        ["model", "warehouse"],
        ["load", "tables"],
        ["audit", "warehouse"],
        ["verify", "warehouse"],
        ["load", "audit"],
    ]
    assert not (folder / ".spark").exists()
    return folder


def differences(one: Path, other: Path) -> dict[str, list[str]]:
    """Return the differences between two warehouses, by table. Only one of them has restored its files."""
    reported = compare(one / "dialogues.duckdb", other / "dialogues.duckdb")
    return {table: lines for table, lines in reported.items() if lines and table != "quality.restorations"}


def declared(folder: Path) -> list[tuple]:
    """Return every column of a warehouse with its declaration and its comment."""
    with duckdb.connect(str(folder / "dialogues.duckdb"), read_only=True) as con:
        return con.execute(
            "select schema_name, table_name, column_index, column_name, data_type, is_nullable, comment"
            " from duckdb_columns() where not internal order by all"
        ).fetchall()


def test_whole_build_gives_the_same_warehouse(request: pytest.FixtureRequest, small: str, tmp_path: Path) -> None:
    """Each commit has one of two builds, because Spark plans the models for minutes; `DIALOGUE_SEED` selects one.

    An odd seed builds the hand-written releases on two machines, an even one the defective releases on a server that
    is already running. DuckDB can read `corpus_id=x` in a path as the value of this column in each row.
    """
    name, master, settings = (
        ("awkward", TWO_MACHINES, {"DIALOGUE_SPARK_CONF": small})
        if SEED % 2
        else ("defective", request.getfixturevalue("server"), {})
    )
    releases, expected = (request.getfixturevalue(f"{name}_{part}") for part in ("releases", "folder"))
    folder = built(tmp_path / "corpus_id=x" / "w", master, "--source", releases, **settings)
    assert differences(expected, folder) == {}
    assert declared(expected) == declared(folder)
    status = run_command("status", "--warehouse", folder)
    assert "(published, on Spark)" in status.stdout, status.stderr
    again = run_command("build", "--source", releases, "--warehouse", folder)
    assert again.returncode == 0, again.stderr
    assert "nothing changed, still published" in again.stdout, "the engine is not an input of a build"


# Refused settings


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"DIALOGUE_SPARK_CONF": "spark.driver.memory=much"}, "Spark does not start with master local[2]: "),
        ({"DIALOGUE_SPARK_MASTER": "thrift://127.0.0.1:1"}, "thrift://127.0.0.1:1: "),
        ({"PATH": "/nowhere", "JAVA_HOME": ""}, "Spark needs Java 17 or later, but Java is not installed: "),
    ],
)
def test_missing_spark_is_reported_in_one_line_and_nothing_is_published(
    settings: dict[str, str], reported: str, awkward_releases: Path, tmp_path: Path
) -> None:
    ended = run_command(
        "build", "--quiet", "--engine", "spark", "--source", awkward_releases, "--warehouse", tmp_path / "w", **settings
    )
    assert ended.returncode == (2 if "Java" in reported else 1), ended.stderr
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert ended.stderr.startswith(f"error: {reported}")
    assert not (tmp_path / "w" / "dialogues.duckdb").exists()
