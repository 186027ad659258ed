"""The configuration of Dagster's instance is written once; what an operator writes there is never changed."""

from __future__ import annotations

import os
import pwd
import re
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from pipelines.dagster_graph import configuration, instance
from pipelines.dagster_graph.configuration import DAGSTER_YAML, IN_POSTGRESQL, POSTGRES_URL

SERVER = "postgresql+psycopg2://dagster:secret@history/dagster"
OWN = "telemetry: {enabled: false}\nretention: {schedule: {purge_after_days: 7}}\nsensors: {use_threads: true}\n"


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(POSTGRES_URL, raising=False)


@pytest.fixture
def paths(tmp_path: Path) -> WarehousePaths:
    return WarehousePaths(tmp_path)


def configure(paths: WarehousePaths, text: str) -> None:
    """Write the configuration of an operator."""
    paths.dagster_home.mkdir()
    paths.dagster_yaml.write_text(text)


def test_new_warehouse_keeps_its_history_in_sqlite_and_lacks_nothing(paths: WarehousePaths) -> None:
    configuration.write(paths)
    assert paths.dagster_yaml.read_text() == DAGSTER_YAML
    assert "storage" not in yaml.safe_load(DAGSTER_YAML)
    assert list(configuration.lacking(paths)) == []


def test_new_warehouse_keeps_its_history_in_postgresql_if_a_server_is_named(
    paths: WarehousePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL has a password, so the file has only the name of the variable."""
    monkeypatch.setenv(POSTGRES_URL, SERVER)
    configuration.write(paths)
    written = yaml.safe_load(paths.dagster_yaml.read_text())
    assert written == yaml.safe_load(DAGSTER_YAML) | {"storage": {"postgres": {"postgres_url": {"env": POSTGRES_URL}}}}
    assert "secret" not in paths.dagster_yaml.read_text()
    assert list(configuration.lacking(paths)) == []


@pytest.mark.parametrize("server", ["", SERVER])
@pytest.mark.parametrize("text", [OWN, "", "[not, a, mapping]", "{ not YAML"])
def test_configuration_that_is_there_is_not_changed(
    paths: WarehousePaths, text: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: each start of the image wrote its own file over that of the operator."""
    monkeypatch.setenv(POSTGRES_URL, server)
    configure(paths, text)
    configuration.write(paths)
    assert paths.dagster_yaml.read_text() == text


def test_link_to_a_configuration_elsewhere_is_not_replaced(paths: WarehousePaths) -> None:
    """The disk that it leads to may be absent for a while."""
    paths.dagster_home.mkdir()
    paths.dagster_yaml.symlink_to(paths.root / "absent.yaml")
    configuration.write(paths)
    assert paths.dagster_yaml.is_symlink()
    assert not paths.dagster_yaml.exists()


def test_settings_that_an_older_configuration_lacks_are_named(paths: WarehousePaths) -> None:
    configure(paths, OWN)
    (notice,) = configuration.lacking(paths)
    assert notice.startswith(f"{paths.dagster_yaml}: has no concurrency, nux, run_monitoring, which new ")
    assert "docs/back_up_and_upgrade.md" in notice


def test_server_that_the_configuration_does_not_use_is_named(
    paths: WarehousePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is named after the first start is not used, and a notice says so."""
    configure(paths, DAGSTER_YAML)
    assert list(configuration.lacking(paths)) == []
    monkeypatch.setenv(POSTGRES_URL, SERVER)
    (notice,) = configuration.lacking(paths)
    assert POSTGRES_URL in notice
    assert "secret" not in notice


WRONG = {
    "telemetry: [": "is not YAML: line 1, column 13 cannot be read",
    "\x01": "is not YAML: a character",
    "- a": "must be a YAML mapping",
    "nonsense: 1": 'Dagster does not accept it: .*"nonsense"',
    "concurrency: {runs: {max_concurrent_runs: many}}": "Dagster does not accept it: .*max_concurrent_runs",
    "run_monitoring: {enabled: true, max_runtime: 5}": "Dagster does not accept it: .*max_runtime",
    "run_queue: {}\nrun_coordinator: {module: a, class: b}": "Dagster does not accept it: .*run_queue",
    "run_coordinator: {module: no.such, class: Nothing}": "Dagster does not accept it: run_coordinator: .*no.such",
    "run_launcher: {module: dagster, class: Nothing}": "Dagster does not accept it: run_launcher: .*Nothing",
    "run_launcher: {module: dagster, class: DagsterInstance}": "Dagster does not accept it: run_launcher: ",
    "compute_logs: {module: os, class: path}": "Dagster does not accept it: compute_log_manager: ",
    "storage: 5": "Dagster does not accept it: storage: ",
    "storage: {postgres: {postgres_url: 5}}": "Dagster does not accept it: .*postgres_url",
    "storage: {oracle: {}}": "Dagster does not accept it: .*oracle",
}
"""Configurations that cannot be used, and what the error says of each."""


@pytest.mark.parametrize(
    "text",
    [
        "storage: {postgres: {postgres_url: postgresql://user:s3cret@host: 1}}",
        "storage: {postgres: {postgres_url: *s3cret}}",
        "storage: {postgres: {postgres_url: !s3cret x}}",
        "storage: {postgres: {postgres_url: 'postgresql://user:s3cret@host/db', other: 1}}",
        "storage: {postgres: {postgres_url: ['postgresql://user:s3cret@host/db']}}",
        "storage: {postgres: {postgres_db: {username: user, password: s3cret, hostname: host}}}",
    ],
)
def test_password_in_a_wrong_configuration_is_not_repeated(paths: WarehousePaths, text: str) -> None:
    configure(paths, text)
    with pytest.raises(InputError) as refused:
        configuration.check(paths)
    assert "s3cret" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("text", WRONG)
def test_wrong_configuration_is_refused_in_one_line(paths: WarehousePaths, text: str) -> None:
    configure(paths, text)
    with pytest.raises(InputError, match=f"^{re.escape(str(paths.dagster_yaml))}: {WRONG[text]}") as refused:
        configuration.check(paths)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith("; correct the file, or remove it: the next start writes a new one")
    assert len(str(refused.value)) < 500
    assert [path.name for path in paths.dagster_home.iterdir()] == ["dagster.yaml"]


@pytest.mark.parametrize(
    "text",
    [
        DAGSTER_YAML,
        DAGSTER_YAML + IN_POSTGRESQL,
        "",
        OWN,
        "storage: {sqlite: {base_dir: /nowhere}}",
        "storage: {postgres: {postgres_url: {env: NOT_SET}}}",
        "run_coordinator: {module: dagster.core.run_coordinator, class: DefaultRunCoordinator}",
    ],
)
def test_right_configuration_is_accepted_and_its_storage_is_not_opened(paths: WarehousePaths, text: str) -> None:
    configure(paths, text)
    configuration.check(paths)
    assert [path.name for path in paths.dagster_home.iterdir()] == ["dagster.yaml"]
    assert not Path("/nowhere").exists()


def test_warehouse_without_a_configuration_is_not_refused(paths: WarehousePaths) -> None:
    configuration.check(paths)
    paths.dagster_home.touch()  # a damaged history: a build starts a new one
    configuration.check(paths)


def test_configuration_that_cannot_be_read_is_refused(paths: WarehousePaths) -> None:
    paths.dagster_home.mkdir()
    paths.dagster_yaml.symlink_to(paths.root / "absent.yaml")
    with pytest.raises(InputError, match=r"dagster\.yaml: is a broken link; mount the disk that it leads to"):
        configuration.check(paths)
    paths.dagster_yaml.unlink()
    os.mkfifo(paths.dagster_yaml)
    with pytest.raises(InputError, match=r"dagster\.yaml: cannot be read: "):
        configuration.check(paths)


@pytest.fixture
def of_another_user() -> Iterator[WarehousePaths]:
    """Return a warehouse that this user can neither write to nor read the configuration of, also as root."""
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        paths = WarehousePaths(Path(folder))
        configure(paths, DAGSTER_YAML)
        paths.dagster_yaml.chmod(0)
        paths.dagster_home.chmod(0o555)
        paths.root.chmod(0o755)
        if is_root:
            os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            yield paths
        finally:
            if is_root:
                os.seteuid(0)
            paths.dagster_home.chmod(0o755)


def test_configuration_of_another_user_is_refused(of_another_user: WarehousePaths) -> None:
    with pytest.raises(InputError, match=r"dagster\.yaml: cannot be read: Permission denied; let "):
        configuration.check(of_another_user)


def test_configuration_that_cannot_be_written_is_refused(of_another_user: WarehousePaths) -> None:
    new = WarehousePaths(of_another_user.dagster_home)
    with pytest.raises(InputError, match=r"dagster\.yaml: cannot be written: Permission denied; make "):
        configuration.write(new)


@pytest.mark.parametrize(("name", "part"), [("a%20b", "%20"), ("a?b", "?")])
def test_folder_that_sqlite_takes_for_another_one_is_refused_before_it_is_made(
    tmp_path: Path, name: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: webserver and daemon wrote into another folder, or said that the database must be started."""
    paths = WarehousePaths(tmp_path / name)
    refused = re.escape(f"{paths.root}: Dagster's webserver and daemon cannot use a folder with {part} in its path")
    with pytest.raises(InputError, match=refused):
        instance.configure(paths)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv(POSTGRES_URL, SERVER)
    configuration.refuse_path(paths)
    configuration.write(paths)
    configuration.refuse_path(paths)


@pytest.mark.parametrize("name", ["100%", "a b", "a#b", "a'b", 'a"b', "aüb"])
def test_folder_of_any_other_name_is_used(tmp_path: Path, name: str) -> None:
    instance.configure(WarehousePaths(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == [name]
