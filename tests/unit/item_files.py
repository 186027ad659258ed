"""Files of a made-up corpus of items, one for each container, and functions that land them."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
from msgspec import UNSET, Struct, UnsetType

from dialogue_warehouse.corpora.release import Container, Corpus, Entity, Integer, SourceFile
from dialogue_warehouse.storage.landed import Landed
from pipelines.ingestion.landing import LandingTask, land_file


class Pair(Struct, array_like=True, forbid_unknown_fields=True):
    name: str
    numbers: list[Integer]


class Item(Struct, forbid_unknown_fields=True):
    id: Integer
    text: str | None
    tags: list[str]
    pairs: list[Pair]
    scores: dict[str, float]
    data: str | dict[str, str] | None
    note: str | UnsetType = UNSET


ITEM = {"id": 1, "text": "a", "tags": [], "pairs": [["x", [1, 2]]], "scores": {"b": 1.5, "a": 2.0}, "data": "hi"}


def make_corpus(tmp_path: Path, *entities: Entity, files: tuple[SourceFile, ...] = ()) -> Corpus:
    """Return a corpus of these entities; its folder has the schema file for the hash."""
    (tmp_path / "schema.py").write_text("# none")
    facts = dict.fromkeys(("title", "homepage", "license", "citation", "release", "text_kind", "goal_kind"), "x")
    return Corpus(corpus_id="toy", **facts, files=files, entities=entities, folder=tmp_path)


def land(tmp_path: Path, content: object, entity: Entity, path: str = "train/items.json", strict: bool = False):
    """Write `content` (bytes, or JSON) as a release of one file and land it."""
    source = tmp_path / "source"
    (source / path).parent.mkdir(parents=True, exist_ok=True)
    (source / path).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return land_file(LandingTask(make_corpus(tmp_path, entity), entity, source, path, tmp_path / "raw", strict=strict))


def read(tmp_path: Path, landed: Landed) -> list[dict]:
    return (
        duckdb.sql(f"select * from '{tmp_path / 'raw' / landed.parquet}'")
        .to_arrow_table()
        .to_pylist(maps_as_pydicts="strict")
    )


ITEMS = Entity("items", Item, Container.ARRAY, r"(?P<part>train|dev)/items\.json(\.gz)?")
ENTRIES = Entity("entries", list[str], Container.ENTRIES, r"entries\.json")
SPLITS = Entity("splits", Item, Container.SPLITS, r"splits\.json\.gz")
DOCUMENT = Entity("document", Item, Container.DOCUMENT, r"document\.json")


class Line(Struct):
    value: str


LINES = Entity("lines", Line, Container.LINES, r"(?P<part>train)\.csv")
