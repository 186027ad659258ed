"""Options of Spark, and the Java that it needs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.settings import Settings, SettingsError
from pipelines.cluster import options


def program(folder: Path, text: str, name: str = "java") -> Path:
    """Create a program that prints a text in place of Java's version."""
    file = folder / "bin" / name
    file.parent.mkdir(parents=True)
    file.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{text}\nEND\n")
    file.chmod(0o755)
    return file.parent


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
    ],
)
def test_version_of_java_is_read(text: str, version: int | None) -> None:
    assert options.version_of(text) == version


@pytest.mark.parametrize("in_path", [True, False])
def test_installed_java_is_used_if_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_path: bool
) -> None:
    new = program(tmp_path / "new", 'openjdk version "17.0.1"')
    old = program(tmp_path / "old", 'java version "1.8.0_402"')
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{new if in_path else old}:/usr/bin:/bin")
    if in_path:
        options.check()
        monkeypatch.setenv("JAVA_HOME", str(old.parent))  # goes before
    with pytest.raises(InputError, match=r"Java 17 or later, but .*/old/bin/java is Java 8: install it"):
        options.check()


def test_missing_or_failing_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"Java is not installed: install it .* or set JAVA_HOME"):
        options.check()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"nowhere/bin/java does not run \(FileNotFoundError\)"):
        options.check()


def test_settings_of_the_user_are_read_from_text_and_file(tmp_path: Path) -> None:
    file = tmp_path / "spark-defaults.conf"
    file.write_text("# of the cluster\nspark.executor.memory  4g\n\nspark.driver.extraJavaOptions=-Da=b -Dc=d\n")
    assert options.user_options(str(file)) == {
        "spark.executor.memory": "4g",
        "spark.driver.extraJavaOptions": "-Da=b -Dc=d",
    }
    assert options.user_options("spark.a=1 spark.b=x=y") == {"spark.a": "1", "spark.b": "x=y"}
    assert len(options.user_options(" ".join(f"spark.a{number}=1" for number in range(999)))) == 999
    assert options.user_options(None) == {}


def test_file_of_settings_that_has_no_end_is_rejected(tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    large.write_bytes(b"#" * (options.LARGEST_FILE + 1))
    for file in (pipe, large, Path("/dev/zero"), tmp_path):
        with pytest.raises(InputError, match=f"{file}: neither options such as"):
            options.user_options(str(file))


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("nothing", "neither options such as"),
        ("spark.a=1 b=2", "'b=2' is not an option"),
        ("spark.a=", "'spark.a=' is not an option"),
        ("spark.sql.ansi.enabled=false", "must be true, because results depend on it"),
        ("spark.sql.session.timeZone=CET", "must be UTC, because results depend on it"),
    ],
)
def test_invalid_settings_are_rejected(text: str, reported: str) -> None:
    with pytest.raises(InputError, match=reported):
        options.user_options(text)


def test_options_of_the_user_replace_defaults_but_not_fixed_options(tmp_path: Path) -> None:
    given = Settings(memory_limit="2GB", spark_conf="spark.driver.memory=7g spark.sql.shuffle.partitions=2")
    found = options.session_options(given, tmp_path)
    assert found["spark.driver.memory"] == "7g"
    assert found["spark.sql.shuffle.partitions"] == "2"
    assert found["spark.sql.ansi.enabled"] == "true"
    assert found["spark.driver.host"] == "127.0.0.1"
    assert options.session_options(Settings(memory_limit="2GB"), tmp_path)["spark.driver.memory"] == "1907m"
    assert options.session_options(Settings(memory_limit="50%"), tmp_path)["spark.driver.memory"] == "4g"
    elsewhere = options.session_options(Settings(spark_master="spark://host:7077"), tmp_path)
    assert "spark.driver.host" not in elsewhere


@pytest.mark.parametrize(
    ("name", "value", "reported"),
    [
        ("ENGINE", "flink", "'flink' is not one of duckdb, spark"),
        ("SPARK_MASTER", "mesos://a", "'mesos://a' is not a master such as"),
        ("SPARK_MASTER", "local[2", "is not a master such as"),
    ],
)
def test_invalid_engine_and_master_are_rejected(
    name: str, value: str, reported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"DIALOGUE_{name}", value)
    with pytest.raises(SettingsError) as raised:
        Settings.from_environment()
    assert reported in str(raised.value)
