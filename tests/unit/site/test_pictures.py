"""The picture of the relations between tables, and the lineage of the models."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import descriptions
from dialogue_warehouse.reading.descriptions import Join, Links
from dialogue_warehouse.site.dictionary import EVERYWHERE, read_lineage
from dialogue_warehouse.site.pictures import ACROSS, HEIGHT, WIDTH, relations


def links(*to: str) -> Links:
    return Links(("key",), tuple(Join((f"{name}_key",), name, (f"{name}_key",)) for name in to))


def test_relations_leave_out_indirect_joins() -> None:
    picture = relations(
        {
            "c.all": links(),
            "c.dialogues": links("c.all"),
            "c.turns": links("c.dialogues", "c.all"),
            "c.slots": links("c.turns", "c.dialogues", "c.slots", "c.gone"),
            "c.alone": links("c.all"),
        },
        everywhere="c.all",
    )
    assert {box.table: box.left for box in picture.boxes} == {
        "c.dialogues": 0,
        "c.turns": WIDTH + ACROSS,
        "c.slots": 2 * (WIDTH + ACROSS),
    }
    assert [line.title for line in picture.lines] == [
        "c.turns joins c.dialogues on c.dialogues_key",
        "c.slots joins c.turns on c.turns_key",
    ]
    assert all(line.start[0] < line.end[0] for line in picture.lines)
    assert str(picture.draw()).count("<path") == 2


def test_no_two_boxes_of_the_published_tables_overlap() -> None:
    core = {name: of for name, of in descriptions.links().items() if name.startswith("core.")}
    picture = relations(core, EVERYWHERE)
    places = {(box.left, box.top) for box in picture.boxes}
    assert len(places) == len(picture.boxes) > 25
    assert {"core.fct_turns", "core.fct_slots"} <= {box.table for box in picture.boxes}
    assert all(left + WIDTH <= picture.width and top + HEIGHT <= picture.height for left, top in places)


def test_relations_of_nothing_are_empty() -> None:
    assert relations({}, "c.all").boxes == []


@pytest.mark.parametrize("content", [None, b"no JSON"], ids=["a folder", "damaged"])
def test_manifest_of_dbt_that_cannot_be_read_prevents_no_page(tmp_path: Path, content: bytes | None) -> None:
    """Regression: the report was not written, and the dashboard said that its dictionary had a fault."""
    paths = WarehousePaths(tmp_path)
    assert read_lineage(paths) == {}
    paths.dbt_target.mkdir(parents=True)
    paths.dbt_manifest.mkdir() if content is None else paths.dbt_manifest.write_bytes(content)
    assert read_lineage(paths) == {}
