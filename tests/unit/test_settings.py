"""Settings from the environment: accepted values, and values that are rejected by name."""

from __future__ import annotations

import dataclasses
import os
import re

import duckdb
import pytest

from dialogue_warehouse.cli.main import main
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.settings import LONGEST_WAIT, MOST, Settings, SettingsError, misspelt_variables


def test_settings_reject_other_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIALOGUE_FORM", "huggingface")
    assert Settings.from_environment().form == "huggingface"
    monkeypatch.setenv("DIALOGUE_FORM", "csv")
    with pytest.raises(InputError, match="DIALOGUE_FORM: 'csv' is not one of release, huggingface"):
        Settings.from_environment()


@pytest.mark.parametrize(
    "mirror", ["/media/disk", "ftp://m.example", "https:///x", "http://[::1", "file://host/x", "http://a..b/"]
)
def test_mirror_that_is_not_a_url_is_rejected_and_not_printed(monkeypatch, mirror):
    monkeypatch.setenv("DIALOGUE_MIRROR", mirror)
    with pytest.raises(SettingsError, match="DIALOGUE_MIRROR") as raised:
        Settings.from_environment()
    assert mirror not in str(raised.value)


def test_mirror_is_not_among_the_shown_settings(monkeypatch):
    monkeypatch.setenv("DIALOGUE_MIRROR", "https://user:secret@m.example")
    assert "secret" not in repr(Settings.from_environment())


@pytest.mark.parametrize("name", ["JOBS", "ATTEMPTS", "TIMEOUT", "BACKOFF"])
@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "many"])
def test_numbers_of_a_download_are_positive(monkeypatch, name, text):
    monkeypatch.setenv(f"DIALOGUE_{name}", text)
    with pytest.raises(SettingsError, match=f"DIALOGUE_{name}"):
        Settings.from_environment()


@pytest.mark.parametrize(("failures", "most"), [(1, 1), (3, 4), (8, LONGEST_WAIT), (MOST, LONGEST_WAIT)])
def test_pauses_between_attempts_grow_to_a_maximum(failures: int, most: float) -> None:
    """Regression: a download of a warehouse's file waited for days, or ended with an internal error."""
    assert most / 2 <= Settings(backoff=1.0, attempts=MOST).pause(failures) <= most


@pytest.mark.parametrize(
    ("limit", "half"), [("4GB", "2.000GB"), ("1.5 GiB", "0.750GiB"), ("80%", "40.000%"), ("a lot", "a lot")]
)
def test_processes_share_the_memory(limit, half):
    assert Settings(memory_limit=limit).for_each(2).memory_limit == half


def from_environment(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> object:
    monkeypatch.setenv(f"DIALOGUE_{name}", text)
    return getattr(Settings.from_environment(), name.lower())


@pytest.mark.parametrize("name", ["STRICT", "VERIFY", "FORCE", "REPLACE"])
def test_switch_is_on_or_off_or_rejected(monkeypatch, name):
    """Any other value is not silently off."""
    assert [from_environment(monkeypatch, name, text) for text in ("1", "1 ", "TRUE", "yes", "on")] == [True] * 5
    assert [from_environment(monkeypatch, name, text) for text in ("0", " false", "No", "OFF")] == [False] * 4
    for text in ("maybe", "y", "2", "ｏｎ"):
        with pytest.raises(SettingsError) as refused:
            from_environment(monkeypatch, name, text)
        assert str(refused.value) == f"DIALOGUE_{name}: '{text}' is not one of 1, true, yes, on, 0, false, no, off"


@pytest.mark.parametrize("name", ["THREADS", "PROCESSES", "BUILDS_KEPT", "JOBS", "ATTEMPTS"])
@pytest.mark.parametrize("text", ["0", "-1", "²", "１", "1.5", "many", "100000", "1" * 5_000])
def test_invalid_count_is_rejected_with_its_bounds(monkeypatch, name, text):
    """A hundred thousand threads are rejected, not started."""
    with pytest.raises(SettingsError, match=rf"DIALOGUE_{name}: '.*' is not a number from 1 to \d+"):
        from_environment(monkeypatch, name, text)


@pytest.mark.parametrize("name", ["THREADS", "PROCESSES"])
def test_threads_and_processes_have_a_maximum_of_four_per_core(monkeypatch, name):
    most = 4 * (os.cpu_count() or 1)
    assert from_environment(monkeypatch, name, f" {most}") == most
    with pytest.raises(SettingsError, match=f"from 1 to {most}, 4 per core of this machine"):
        from_environment(monkeypatch, name, str(most + 1))


@pytest.mark.parametrize("text", ["4GB", "1.5 GiB", "512MiB", "300MB", "50%", "1tb", " 2GB "])
def test_memory_has_a_form_that_duckdb_accepts(monkeypatch, text):
    limit = from_environment(monkeypatch, "MEMORY_LIMIT", text)
    with duckdb.connect(config={"memory_limit": limit}) as con:
        assert con.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("text", ["lots", "-1", "0", "GB", "4", "4 potatoes", "none", "٤GB"])
def test_memory_that_is_not_a_size_is_rejected(monkeypatch, text):
    """-1, which DuckDB takes for no limit, too."""
    with pytest.raises(SettingsError, match=r"DIALOGUE_MEMORY_LIMIT: '.*' is not a size such as 4GB, 512MiB or 50%"):
        from_environment(monkeypatch, "MEMORY_LIMIT", text)


@pytest.mark.parametrize("text", ["60MB", "0GB", "1%", "101%", "299MB"])
def test_too_little_memory_is_rejected_with_the_minimum(monkeypatch, text):
    with pytest.raises(SettingsError, match=r"DIALOGUE_MEMORY_LIMIT: .*a build needs at least 300MB"):
        from_environment(monkeypatch, "MEMORY_LIMIT", text)


@pytest.mark.parametrize("text", ["1001TB", f"{10**20}GB", "9" * 400 + "%", "9" * 400 + "GB"])
def test_too_much_memory_is_rejected_with_the_maximum(monkeypatch, text):
    with pytest.raises(
        SettingsError, match=r"is too large; a build needs at least 300MB and can use at most 1000?(TB|%)"
    ):
        from_environment(monkeypatch, "MEMORY_LIMIT", text)
    assert from_environment(monkeypatch, "MEMORY_LIMIT", "1000TB") == "1000TB"


def test_query_limit_defaults_to_that_of_a_build_and_has_a_minimum(monkeypatch):
    assert Settings(memory_limit="2GB").for_queries().memory_limit == "2GB"
    assert Settings(memory_limit="2GB", query_memory_limit="1GB").for_queries().memory_limit == "1GB"
    assert from_environment(monkeypatch, "QUERY_MEMORY_LIMIT", "50MB") == "50MB"
    reported = r"DIALOGUE_QUERY_MEMORY_LIMIT: .*a query needs at least 50MB"
    with pytest.raises(SettingsError, match=reported):
        from_environment(monkeypatch, "QUERY_MEMORY_LIMIT", "49MB")


@pytest.mark.parametrize(
    "text", ["s3://bucket/warehouse", "gs://b", "S3A://b/c", "file:///tmp/x", "https://host/x", "hf:/b"]
)
@pytest.mark.parametrize("option", ["--warehouse", "--source", "--to"])
def test_address_in_place_of_a_folder_is_rejected(text, option, tmp_path, monkeypatch, capsys):
    """Regression: `--warehouse s3://…` built into a local folder called `s3:`."""
    monkeypatch.chdir(tmp_path)
    command = "simulate" if option == "--to" else "build"
    assert main([command, option, text]) == 2
    assert capsys.readouterr().err.startswith(f"error: {option}: '{text}' is a URL; ")
    if option != "--to":
        monkeypatch.setenv(f"DIALOGUE_{option[2:].upper()}", text)
        with pytest.raises(SettingsError, match=rf"^DIALOGUE_{option[2:].upper()}: '{text}' is a URL[^\n]*$"):
            Settings.from_environment()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--warehouse", "--source"])
@pytest.mark.parametrize("text", ["", "  "])
def test_empty_name_of_a_folder_is_not_the_working_folder(option, text, tmp_path, monkeypatch, capsys):
    """Regression: `--warehouse "$UNSET"` built into the working folder, and removed its files."""
    monkeypatch.chdir(tmp_path)
    assert main(["build", option, text]) == 2
    assert capsys.readouterr().err == f"error: {option}: names no folder\n"
    assert list(tmp_path.iterdir()) == []


def test_folder_with_a_colon_is_a_folder(monkeypatch):
    monkeypatch.setenv("DIALOGUE_SOURCE", "C:/releases")
    assert Settings.from_environment().source.name == "releases"
    monkeypatch.setenv("DIALOGUE_SOURCE", "releases: of 2026/sgd")
    assert Settings.from_environment().source.name == "sgd"


def test_blank_at_the_end_of_a_folder_is_part_of_its_name(monkeypatch):
    monkeypatch.setenv("DIALOGUE_SOURCE", "releases ")
    assert Settings.from_environment().source.name == "releases "


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ('"/srv/releases"', '"/srv/releases" is in quotation marks; write it without them'),
        ("'/srv/releases'\r", "'/srv/releases' is in quotation marks; write it without them"),
        (
            "/srv/releases\r",
            "'/srv/releases' ends in a line end; remove it, or save the file with Unix line ends",
        ),
    ],
)
@pytest.mark.parametrize("name", ["SOURCE", "WAREHOUSE", "CACHE"])
def test_folder_as_an_environment_file_may_give_it_is_rejected(monkeypatch, name, text, reported):
    """Regression: `docker run --env-file` passes quotes and CR on, and a folder with them in its name was made."""
    with pytest.raises(SettingsError) as refused:
        from_environment(monkeypatch, name, text)
    assert str(refused.value) == f"DIALOGUE_{name}: {reported}"


@pytest.mark.parametrize("name", ["SOURCE", "WAREHOUSE"])
@pytest.mark.parametrize("text", ["/", "/tmp/..", "/srv/\udcff"])
def test_folder_in_which_no_warehouse_can_be_is_rejected(monkeypatch, name, text):
    """Regression: a command that reads `/` said to run `build`, and DuckDB failed at a name that is not UTF-8."""
    with pytest.raises(InputError, match=r": (is the root of the file system|the path is not valid UTF-8)"):
        from_environment(monkeypatch, name, text)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("form", "csv"),
        ("tables", "csv"),
        ("engine", "polars"),
        ("spark_master", "local[2"),
        ("mirror", "/disk"),
        ("timezone", "Mars/Base"),
        ("cron", "at four"),
        ("alert_to", "anna,b@example"),
    ],
)
def test_same_checks_apply_to_options_and_variables(option, text, monkeypatch):
    with pytest.raises(SettingsError) as given:
        Settings.from_environment(**{option: text})
    monkeypatch.setenv(f"DIALOGUE_{option.upper()}", text)
    with pytest.raises(SettingsError) as read:
        Settings.from_environment()
    assert str(given.value) == str(read.value)
    assert str(read.value).startswith(f"DIALOGUE_{option.upper()}: ")


def test_every_default_is_a_value_that_can_be_set(monkeypatch):
    """The text of a default, given as a variable, is read as that default."""
    for setting in dataclasses.fields(Settings):
        if setting.default in (None, ()):
            continue
        monkeypatch.setenv(f"DIALOGUE_{setting.name.upper()}", str(setting.default))
    assert Settings.from_environment() == Settings()


@pytest.mark.parametrize("name", ["cron", "fetch_cron"])
@pytest.mark.parametrize(
    "cron", ["99 4 * * *", "0 24 * * *", "*/0 * * * *", "0 4 31 2 *", "foo 4 * * *", "0 0 1-32 * *"]
)
def test_time_that_cannot_occur_is_rejected_with_its_variable(name: str, cron: str) -> None:
    """Regression: Dagster's error, with which its page showed no assets, named neither the variable nor a setting."""
    from pipelines.dagster_graph import instance, jobs  # they load Dagster

    settings = Settings(**{name: cron})
    with pytest.raises(
        SettingsError, match=rf"^DIALOGUE_{name.upper()}: '{re.escape(cron)}' is not a time that can occur$"
    ):
        jobs.build_schedules(settings)
    instance.refuse_impossible_times(Settings())


def test_variable_that_is_almost_a_setting_is_named(monkeypatch):
    for name in ("THREADS", "THREAD", "ALERT_WEBHOK", "warehouse", "CORPORA", "DOCUMENTS", "TOOLS", "DEBUG", "SEED"):
        monkeypatch.setenv(f"DIALOGUE_{name}", "1")
    assert misspelt_variables() == [
        "DIALOGUE_ALERT_WEBHOK is ignored, because it is not a setting; did you mean DIALOGUE_ALERT_WEBHOOK?",
        "DIALOGUE_THREAD is ignored, because it is not a setting; did you mean DIALOGUE_THREADS?",
        "DIALOGUE_warehouse is ignored, because it is not a setting; did you mean DIALOGUE_WAREHOUSE?",
    ]
