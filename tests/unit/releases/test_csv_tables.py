"""CSV files whose first line names the columns: each other line is a record, and is restored as a line."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import Annotated

import pytest
from msgspec import UNSET, Struct, UnsetType

from dialogue_warehouse.corpora.release import Container, Entity, note
from dialogue_warehouse.lineage.restored_files import RestoredFile, SourceFile, write_records
from dialogue_warehouse.releases.csv_tables import read_table
from dialogue_warehouse.releases.records import LandingError, split_records
from tests.unit.item_files import land, make_corpus, read


class Rating(Struct, forbid_unknown_fields=True):
    """A line of ratings."""

    id: Annotated[str, note("id of the dialogue")]
    stars: Annotated[str, note("stars, from 1 to 5")]
    remark: Annotated[str, note("what the person wrote")] | UnsetType = UNSET


PATHS = {",": "train/ratings.csv", "\t": "train/ratings.tsv"}
TABLE = Entity("ratings", Rating, Container.TABLE, r"(?P<part>train)/ratings\.[ct]sv")


def restored(tmp_path: Path, text: bytes, path: str = PATHS[","]) -> bytes:
    """Return the file that its records become."""
    stream, file = io.BytesIO(), SourceFile(f"toy/{path}", path, None, 0, "")
    _, found = split_records(TABLE, f"toy/{path}", text)
    write_records(RestoredFile(make_corpus(tmp_path, TABLE), TABLE, file, found), stream)
    return stream.getvalue()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("separator", PATHS)
def test_each_line_is_an_object_of_texts(tmp_path: Path, separator: str, end: str) -> None:
    lines = [["stars", "id"], ["05", "a"], ["", "b"], ['"1, ""2""\t"', "c"]]
    text = "".join(separator.join(line) + end for line in lines).encode()
    landed = land(tmp_path, text, TABLE, PATHS[separator])
    rows = [(row["record_index"], row["id"], row["stars"]) for row in read(tmp_path, landed)]
    assert rows == [(0, "a", "05"), (1, "b", ""), (2, "c", '1, "2"\t')]
    assert (landed.record_count, landed.source_part, landed.notes) == (3, "train", [])


def test_value_in_quotes_may_have_line_breaks_and_errors_name_the_line(tmp_path: Path) -> None:
    landed = land(tmp_path, b'id,stars\na,"1\n2\r\n3"\nb\nc,4\n', TABLE, PATHS[","])
    assert [row["stars"] for row in read(tmp_path, landed)] == ["1\n2\r\n3", "4"]
    assert [(each["record_pointer"], each["error"]) for each in landed.quarantine] == [
        ("/1", "line 5: 1 values for 2 columns - at `$[1]`")
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('b,"5', "a quote that is not closed, or text after the closing quote"),
        ('b,"5"x', "a quote that is not closed, or text after the closing quote"),
        ("b,5,6", "3 values for 2 columns"),
        ("", "the line is blank"),
        ("  ", "the line is blank"),
    ],
)
def test_wrong_line_is_refused_alone(tmp_path: Path, line: str, reason: str) -> None:
    text = f"id,stars\na,1\n{line}\nc,3\n".encode()
    landed = land(tmp_path, text, TABLE, PATHS[","])
    assert [row["id"] for row in read(tmp_path, landed)] == ["a", "c"]
    assert [each["error"] for each in landed.quarantine] == [f"line 3: {reason} - at `$[1]`"]
    assert restored(tmp_path, text) == text


def test_unknown_column_is_set_aside_and_restored(tmp_path: Path) -> None:
    text = b"more,id,stars\nx,a,1\ny,b,2\n"
    landed = land(tmp_path, text, TABLE, PATHS[","])
    assert [each["json_pointer"] for each in landed.extras] == ["/0/more", "/1/more"]
    assert restored(tmp_path, text) == text


def test_missing_column_refuses_every_line(tmp_path: Path) -> None:
    landed = land(tmp_path, b"id\na\n", TABLE, PATHS[","])
    assert [each["error"] for each in landed.quarantine] == [
        "line 2: Object missing required field `stars` - at `$[0]`"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"id,stars,id\na,1,b\n", "toy/train/ratings.csv: line 1 has two columns with the name 'id': put"),
        (b',""\na,1\n', "toy/train/ratings.csv: line 1 does not name the columns: put"),
        (b'id,"stars\na,1\n', "toy/train/ratings.csv: line 1 does not name the columns: put"),
        (b'<html class="a"><body>log in</body></html>\n', "toy/train/ratings.csv: is a web page, not the file"),
    ],
)
def test_file_without_names_of_columns_is_refused(tmp_path: Path, text: bytes, message: str) -> None:
    with pytest.raises(LandingError) as refused:
        land(tmp_path, text, TABLE, PATHS[","])
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_file_that_may_be_cut_off_or_is_empty_is_noted(tmp_path: Path) -> None:
    cut = land(tmp_path, b"id,stars\na,1", TABLE, PATHS[","])
    assert cut.notes == ["has a last line without a line break, which may be cut off"]
    assert land(tmp_path, b"", TABLE, PATHS[","]).notes == ["is empty"]
    assert land(tmp_path, b"id,stars\n", TABLE, PATHS[","]).notes == ["has no records"]


def test_table_without_records_has_the_columns_of_the_schema(tmp_path: Path) -> None:
    assert restored(tmp_path, b"id,stars\n") == b"id,stars,remark\n"
    assert restored(tmp_path, b"id,stars\nx\n") == b"id,stars,remark\nx\n"


@pytest.mark.parametrize("separator", PATHS)
def test_random_tables_are_read_as_python_reads_them_and_restored(tmp_path: Path, separator: str) -> None:
    draw = random.Random(20261126)
    for _ in range(300):
        width = draw.randint(2, 4)
        header = [f"c{number}" for number in range(width)]
        cells = [["".join(draw.choices('a"\n\r,\t é', k=draw.randint(0, 6))) for _ in header] for _ in range(5)]
        stream = io.StringIO()
        csv.writer(stream, delimiter=separator).writerows([header, *cells])
        rows = list(read_table(stream.getvalue() + "end" + separator * (width - 1) + "x\n", separator))[:-1]
        assert [row.refused for row in rows] == [None] * len(cells)
        assert [list(row.content.values()) for row in rows if isinstance(row.content, dict)] == cells
        file = stream.getvalue().encode()
        again = restored(tmp_path, file, PATHS[separator])
        assert list(read_table(again.decode(), separator)) == list(read_table(stream.getvalue(), separator))
