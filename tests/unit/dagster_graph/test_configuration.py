"""The configuration of Dagster's instance is written once; what an operator writes there is never changed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from pipelines.dagster_graph import configuration
from pipelines.dagster_graph.configuration import DAGSTER_YAML, POSTGRES_URL

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
    """The address has a password, so the file has only the name of the variable."""
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


@pytest.mark.parametrize("text", ["[not, a, mapping]", "{ not YAML", "a: b: c"])
def test_configuration_that_is_not_yaml_is_refused_in_one_line(paths: WarehousePaths, text: str) -> None:
    configure(paths, text)
    with pytest.raises(InputError, match=r"dagster\.yaml: ") as refused:
        list(configuration.lacking(paths))
    assert "\n" not in str(refused.value)
