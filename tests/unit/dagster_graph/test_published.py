"""The assets of what is published: a report that cannot be made fails no build that is published already."""

from __future__ import annotations

import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from pipelines.dagster_graph.published import write_dbt_docs


@pytest.mark.parametrize("damaged", [b'{"nodes"', b"\xff", None])
def test_documentation_that_cannot_be_made_is_reported_in_one_line(
    paths: WarehousePaths, damaged: bytes | None
) -> None:
    """Regression: a manifest of dbt that was damaged meanwhile was a traceback, and the published build "failed"."""
    paths.dbt_target.mkdir(parents=True)
    if damaged is not None:
        paths.dbt_manifest.write_bytes(damaged)
    with pytest.raises(InputError, match=r"dbt\.html: cannot be written: .+"):
        write_dbt_docs(paths, Settings())
