"""Sessions and servers of Spark: their URLs, and what their errors say."""

from __future__ import annotations

import ast
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.settings import Settings
from pipelines.building import dbt
from pipelines.cluster import session


def test_missing_extra_is_named() -> None:
    session.refuse_missing("json")
    with pytest.raises(InputError, match=r"make spark"):
        session.refuse_missing("json", "no_such_module_here")


@pytest.mark.parametrize(
    ("master", "address"),
    [
        ("thrift://host", ("host", 10_000, None)),
        ("thrift://host:10015", ("host", 10_015, None)),
        ("thrift://me@host:1", ("host", 1, "me")),
    ],
)
def test_address_of_a_server_is_read(master: str, address: tuple[str, int, str | None]) -> None:
    assert session.address(master) == address
    assert isinstance(session.spark_of(Settings(engine="spark", spark_master=master), Path()), session.Server)


@pytest.mark.parametrize("master", ["thrift://:10000", "thrift://host:99999"])
def test_invalid_address_is_rejected(master: str) -> None:
    with pytest.raises(InputError, match="is not a server such as thrift://HOST"):
        session.address(master)


@pytest.mark.parametrize(
    "master",
    ["local", "local[*]", "local[2,4]", "local-cluster[2,1,1024]", "spark://a:7077", "yarn", "k8s://https://a"],
)
def test_masters_of_spark_are_settings(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIALOGUE_SPARK_MASTER", master)
    monkeypatch.setenv("DIALOGUE_ENGINE", "spark")
    settings = Settings.from_environment()
    assert (settings.engine, settings.spark_master) == ("spark", master)
    assert isinstance(session.spark_of(settings, Path()), session.Session)


def test_duckdb_needs_no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    session.check_engine(Settings())
    assert session.spark_of(Settings(), Path()) is None


def test_errors_are_one_line() -> None:
    of_a_task = "Job aborted due to stage failure: Task 1 failed\nTraceback (most recent call last):\n  File x\n"
    assert session.one_line(Exception(f"{of_a_task}OSError: [Errno 28] No space left\n\tat org.x")).startswith(
        "OSError: [Errno"
    )
    assert session.one_line(Exception("[CAST_INVALID_INPUT] The value 'a' cannot be cast.\n== SQL ==\nselect")) == (
        "[CAST_INVALID_INPUT] The value 'a' cannot be cast."
    )
    of_a_server = SimpleNamespace(status=SimpleNamespace(errorMessage="Error running query: no\nat x"))
    assert session.one_line(Exception(of_a_server)) == "Error running query: no"
    assert session.one_line(ValueError()) == "ValueError"


def test_one_module_imports_pyspark() -> None:
    importing = set()
    for path in (CLONE / "pipelines").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if any(name.split(".")[0] == "pyspark" for name in names):
                importing.add(path.relative_to(CLONE).as_posix())
    assert importing == {"pipelines/cluster/session.py"}


def test_error_of_a_model_leaves_out_the_query_and_the_java_stack() -> None:
    of_java = "\n".join(
        (
            "Runtime Error in model fct_slots (models/fct_slots.sql)",
            "  An error occurred while calling o61.sql.",
            "  : org.apache.spark.SparkException: Not enough memory at this size (4g)",
            "  \tat org.apache.spark.sql.errors.QueryErrors$.noMemory(QueryErrors.scala:2180)",
            "  \tat java.base/java.lang.Thread.run(Thread.java:840)",
        )
    )
    assert dbt._one_line(of_java) == (
        "Runtime Error in model fct_slots (models/fct_slots.sql) An error occurred while calling o61.sql. "
        ": org.apache.spark.SparkException: Not enough memory at this size (4g)"
    )
    assert (
        dbt._one_line("[CAST_INVALID_INPUT] 'a' is not\n  a number\n== SQL ==\nselect 1")
        == "[CAST_INVALID_INPUT] 'a' is not a number"
    )


def test_master_that_accepts_no_connection_is_named_at_once() -> None:
    """Spark itself tries for a minute, and then its JVM is gone. One master of several is enough."""
    with socket.create_server(("127.0.0.1", 0)) as living, socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in (living, dead)]
        session.refuse_silent(f"spark://127.0.0.1:{ports[1]},127.0.0.1:{ports[0]}")
        session.refuse_silent("local[2]")
        with pytest.raises(session.ClusterError) as refused:
            session.refuse_silent(f"spark://127.0.0.1:{ports[1]}")
    assert str(refused.value) == (
        f"Spark does not start with master spark://127.0.0.1:{ports[1]}: 127.0.0.1:{ports[1]}: Connection refused"
    )
    with pytest.raises(session.ClusterError, match="does not start with master spark://nowhere"):
        session.refuse_silent("spark://nowhere")


def test_server_that_accepts_no_connection_is_named_at_once(tmp_path: Path) -> None:
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        master = f"thrift://127.0.0.1:{dead.getsockname()[1]}"
        server = session.Server(Settings(spark_master=master), tmp_path)
        with server, pytest.raises(session.ClusterError) as refused:
            server.sql("select 1")
    assert str(refused.value) == f"{master}: Connection refused"
