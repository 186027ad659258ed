"""The schemas that dbt holds its configuration against are kept, and are those that dbt would have made."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from dbt.config.project import ProjectContract
from dbt_common.dataclass_schema import ValidationError, dbtClassMixin

from dialogue_warehouse.paths import WarehousePaths
from pipelines.building import dbt, dbt_changes

BY_DBT: Any = inspect.getattr_static(dbtClassMixin, "json_schema")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[type]:
    """The classes of which dbt has made a schema."""
    classes: list[type] = []

    def record(cls: type) -> dict[str, Any]:
        classes.append(cls)
        return BY_DBT.__func__.__wrapped__(cls)

    monkeypatch.setattr(dbtClassMixin, "json_schema", classmethod(record))
    return classes


def parse(folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse the project, with the schemas of this file."""
    monkeypatch.setattr("pipelines.building.dbt.DBT_LAST_PARSE", file.with_name("last_parse"))
    dbt.parse(WarehousePaths(folder))


def test_second_time_nothing_is_made_and_what_is_kept_is_dbts_own(
    tmp_path: Path, made: list[type], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kept" / "schemas.bin"
    parse(tmp_path / "first", file, monkeypatch)
    first = list(made)
    assert len(first) == len(set(first)) > 3
    parse(tmp_path / "second", file, monkeypatch)
    assert made == first
    with dbt_changes.reuse_schemas(file):
        assert [cls.json_schema() for cls in first] == [BY_DBT.__func__(cls) for cls in first]
    assert made == first


def test_configuration_is_held_against_what_is_kept(tmp_path: Path) -> None:
    project = {"name": "of_mine", "profile": "any"}
    for _ in ("made", "looked up"):
        with dbt_changes.reuse_schemas(tmp_path / "schemas.bin"):
            ProjectContract.validate(project)
            with pytest.raises(ValidationError, match="1 is not valid"):
                ProjectContract.validate(project | {"model-paths": 1})


def test_dbt_is_itself_again_afterwards(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), dbt_changes.reuse_schemas(tmp_path / "schemas.bin"):
        assert inspect.getattr_static(dbtClassMixin, "json_schema") is not BY_DBT
        raise RuntimeError
    assert inspect.getattr_static(dbtClassMixin, "json_schema") is BY_DBT
