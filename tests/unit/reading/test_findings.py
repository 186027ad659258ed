"""Tracing: every key of core leads back to the source."""

from __future__ import annotations

import yaml

from dialogue_warehouse.paths import DBT_PROJECT
from dialogue_warehouse.reading.findings import KEYED_TABLES

NOT_OWN = {"dim_scenarios": "scenario_key", "dim_key_pointers": "traced_key"}
"""Unique columns whose keys belong to other tables."""


def test_every_key_of_core_can_be_traced() -> None:
    keyed = {}
    for path in (DBT_PROJECT / "models/marts/core").glob("*.yml"):
        for model in yaml.safe_load(path.read_text(encoding="utf-8"))["models"]:
            (declared,) = [test["sound_rows"]["arguments"] for test in model["data_tests"] if "sound_rows" in test]
            for key in declared["keys"]:
                if isinstance(key, str) and key.endswith("_key"):
                    keyed[model["name"]] = key
    lines = {"dim_split_members"}
    assert keyed == {name: key for name, key in KEYED_TABLES.items() if name not in lines} | NOT_OWN
