"""The charts of a real build: there is one of every kind, and it agrees with the tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.site.pictures import KINDS, Picture, read_pictures


@pytest.fixture(scope="module")
def con(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        yield con


@pytest.fixture(scope="module")
def pictures(con: duckdb.DuckDBPyConnection) -> dict[tuple[str | None, str], Picture]:
    found = list(read_pictures(con))
    named = {(picture.corpus_id, picture.name): picture for picture in found}
    assert len(named) == len(found)
    return named


def cells_of(picture: Picture) -> dict[str, list[str]]:
    return {line.label: [cell.text for cell in line.cells] for line in picture.chart.lines}


def test_every_kind_and_every_corpus_has_pictures(pictures) -> None:
    kinds = {kind.name for kind in KINDS}
    assert {name.partition("-")[0] for _, name in pictures} == kinds
    assert {corpus_id for corpus_id, _ in pictures} == {None, *registry.corpus_ids()}
    assert all(picture.chart.lines for picture in pictures.values())


def test_no_picture_names_a_corpus() -> None:
    for path in (CLONE / "dialogue_warehouse" / "site").rglob("*.*"):
        if path.suffix in (".py", ".sql", ".html", ".css"):
            text = path.read_text(encoding="utf-8")
            assert [corpus_id for corpus_id in registry.corpus_ids() if corpus_id in text] == [], path


def test_pictures_link_to_existing_tables(pictures, con) -> None:
    tables = {
        name for (name,) in con.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()
    }
    assert {picture.table for picture in pictures.values()} <= tables


def test_dialogues_by_split_agree_with_the_dimension(pictures, con) -> None:
    picture = pictures[None, "splits"]
    counted = con.execute(
        "select corpus_id, coalesce(split, 'no split'), count(*) from core.dim_dialogues group by all"
    ).fetchall()
    reported = {
        (corpus_id, split): int(text.replace(",", ""))
        for corpus_id, texts in cells_of(picture).items()
        for split, text in zip(picture.chart.columns, texts, strict=True)
        if text != "0"
    }
    assert reported == {(corpus_id, split): count for corpus_id, split, count in counted}


def test_labels_are_the_most_frequent_ones(pictures, con) -> None:
    acts = con.execute(
        """
        select act, count(*) as times
        from core.fct_actions
        where corpus_id = 'sgd' and role = 'user'
        group by act
        order by times desc, act
        limit 12
        """
    ).fetchall()
    assert cells_of(pictures["sgd", "labels-dialogue_act-user"]) == {act: [f"{times:,}"] for act, times in acts}


def test_turns_agree_with_the_dialogues(pictures, con) -> None:
    least_and_largest = con.execute(
        "select corpus_id, min(turn_count), max(turn_count) from core.dim_dialogues group by corpus_id"
    ).fetchall()
    reported = {corpus_id: (texts[0], texts[2]) for corpus_id, texts in cells_of(pictures[None, "turns"]).items()}
    assert reported == {corpus_id: (str(least), str(largest)) for corpus_id, least, largest in least_and_largest}


def test_shares_of_following_acts_are_at_most_100_percent(pictures) -> None:
    for (corpus_id, name), picture in pictures.items():
        if name == "transitions":
            for label, texts in cells_of(picture).items():
                assert sum(float(text.rstrip("%")) for text in texts if text) <= 101, (corpus_id, label)


def test_guidelines_of_a_flow_count_its_dialogues(pictures, con) -> None:
    counted = con.execute(
        "select conformance, count(*) from analytics.guideline_conformance group by conformance"
    ).fetchall()
    picture = pictures["abcd", "flows"]
    reported = {
        name: sum(int(texts[index].replace(",", "")) for texts in cells_of(picture).values())
        for index, name in enumerate(picture.chart.columns)
    }
    assert {name: count for name, count in reported.items() if count} == dict(counted)
