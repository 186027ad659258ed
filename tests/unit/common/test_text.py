"""Text: lines of files with any line end, and printed commands, which can be pasted into a shell."""

from __future__ import annotations

import gzip
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
from msgspec import Meta, Struct

from dialogue_warehouse.common.text import NAME, command, place_of, readable_size, split_lines
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container, Entity
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.lineage.restored_files import RestoredFile, SourceFile, write_records
from dialogue_warehouse.lineage.tracing import read_json_at
from dialogue_warehouse.releases.records import split_records
from dialogue_warehouse.releases.value_lines import write_line
from tests.unit.form_rows import EXAMPLES
from tests.unit.item_files import ITEM, ITEMS, LINES, land, make_corpus, read
from tests.unit.releases.test_file_kinds import POINTER
from tests.unit.releases.test_form_files import land as land_form
from tests.unit.releases.test_form_files import lines

VALUES = ["dlg-1", "dlg-2", "dlg-3"]
WRITTEN = {
    "as published": "dlg-1,\ndlg-2,\ndlg-3,\n",
    "CRLF": "dlg-1,\r\ndlg-2,\r\ndlg-3,\r\n",
    "CRLF doubled": "dlg-1,\r\r\ndlg-2,\r\r\ndlg-3,\r\r\n",
    "CR": "dlg-1,\rdlg-2,\rdlg-3,\r",
    "LF and CRLF": "dlg-1,\r\ndlg-2,\ndlg-3,\r\n",
    "one column": "dlg-1\ndlg-2\ndlg-3\n",
    "one column, CRLF": "dlg-1\r\ndlg-2\r\ndlg-3\r\n",
    "quoted": '"dlg-1",\n"dlg-2",\n"dlg-3",\n',
    "quoted, one column, CR": '"dlg-1"\r"dlg-2"\r"dlg-3"\r',
    "empty column quoted": '"dlg-1",""\r\n"dlg-2",""\r\n"dlg-3",""\r\n',
    "more empty columns": "dlg-1,,,\ndlg-2,,\ndlg-3,\n",
    "blanks around": ' dlg-1 ,\n\t"dlg-2" , \ndlg-3\t,\n',
    "mark": "\ufeffdlg-1,\ndlg-2,\ndlg-3,\n",
    "mark, CRLF and quoted": '\ufeff"dlg-1",\r\n"dlg-2",\r\n"dlg-3",\r\n',
    "blank last line": "dlg-1,\ndlg-2,\ndlg-3,\n\n",
    "blank last lines": "dlg-1,\r\ndlg-2,\r\ndlg-3,\r\n\r\n  \r\n\r\n",
    "no end of the last line": "dlg-1,\ndlg-2,\ndlg-3,",
    "no end of the last line, CR": "dlg-1,\rdlg-2,\rdlg-3",
    "no end of the last line, quoted": '"dlg-1"\n"dlg-2"\n"dlg-3"',
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=list(WRITTEN))
def test_values_are_read_in_every_notation(tmp_path: Path, text: str) -> None:
    """Regression: split files written by spreadsheets, editors and Git on Windows were rejected, in part or as a whole.

    See https://github.com/facebookresearch/ParlAI/issues/2151.
    """
    landed = land(tmp_path, text.encode(), LINES, "train.csv")
    rows = read(tmp_path, landed)
    assert [(row["value"], row["record_index"], row["record_pointer"]) for row in rows] == [
        (value, index, f"/{index}") for index, value in enumerate(VALUES)
    ]
    assert landed.quarantine == []
    assert ("has a last line without a line break, which may be cut off" in landed.notes) == (text[-1] not in "\r\n")


ODD = {
    "second column": ("dlg-2,train", "a second column", 7),
    "value in the second column": (",dlg-2", "a second column", 2),
    "lone quote": ('"dlg-2,', "a quote that is not closed, or a quote inside an unquoted value", 1),
    "quote within": ('dl"g-2,', "a quote that is not closed, or a quote inside an unquoted value", 3),
    "text behind a quote": ('"dlg-2"x,', "text after the closing quote", 8),
    "carriage return within": ("dlg\r-2,", "a carriage return inside the line", 4),
    "blank": ("", "the line is blank", 1),
    "blanks": ("  \t", "the line is blank", 1),
    "second column behind other characters": ("é😀,x", "a second column", 4),
}


@pytest.mark.parametrize(("line", "reason", "column"), ODD.values(), ids=list(ODD))
def test_line_of_another_shape_is_set_aside_with_line_and_column(
    tmp_path: Path, line: str, reason: str, column: int
) -> None:
    landed = land(tmp_path, f"dlg-1,\n{line}\ndlg-3,\n".encode(), LINES, "train.csv")
    assert [row["record_index"] for row in read(tmp_path, landed)] == [0, 2]
    assert landed.quarantine == [
        {
            "record_index": 1,
            "record_pointer": "/1",
            "error": f"line 2, column {column}: {reason} - at `$[1]`",
            "value": json.dumps(line),
        }
    ]


class Id(Struct):
    value: Annotated[str, Meta(pattern="^dlg-[0-9]+$")]


def test_value_that_the_schema_rejects_is_set_aside_with_line_and_column(tmp_path: Path) -> None:
    """A header is not a value, and neither is the end of a truncated download."""
    entity = Entity("lines", Id, Container.LINES, r"(?P<part>train)\.csv")
    landed = land(tmp_path, b'\xef\xbb\xbf "conversation_id"\r\ndlg-1\r\ndl', entity, "train.csv")
    errors = [record["error"] for record in landed.quarantine]
    assert [error.partition(": ")[0] for error in errors] == ["line 1, column 3", "line 3, column 1"]
    assert all("- at `$[" in error for error in errors)
    assert len(read(tmp_path, landed)) == 1
    assert landed.notes == [
        "skipped a byte-order mark at its beginning",
        "has a last line without a line break, which may be cut off",
    ]


FILES_OF_LINES = [
    (corpus.corpus_id, file.path, entity)
    for corpus in registry.load_corpora()
    for file in corpus.files
    if (entity := corpus.entity_of(file.path)) and entity.container is Container.LINES
]


@pytest.mark.parametrize(("corpus_id", "path", "entity"), FILES_OF_LINES, ids=[path for _, path, _ in FILES_OF_LINES])
def test_header_is_not_a_value_of_a_published_file(tmp_path: Path, corpus_id: str, path: str, entity: Entity) -> None:
    """A saved data frame writes the name of its column first."""
    landed = land(tmp_path, b"conversation_id,\n", entity, path)
    assert [record["error"].partition(": ")[0] for record in landed.quarantine] == ["line 1, column 1"]


@pytest.mark.parametrize("path", ["toy/train.csv", "toy/train.txt", "toy/train.txt.gz"])
@pytest.mark.parametrize("value", ["dlg-1", " a ", "a,b", 'a"b', '"', ",", "é", "\ta", 'A: No, "x".\t0.5'])
def test_value_is_written_so_that_it_is_read_again(value: str, path: str) -> None:
    _, records = split_records(LINES, path, write_line("", path).encode() + write_line(value, path).encode())
    assert [json.loads(record.text) for record in records] == [{"value": ""}, {"value": value}]


def test_line_of_a_text_file_is_its_value(tmp_path: Path) -> None:
    entity = Entity("lines", LINES.record, Container.LINES, r"(?P<part>train)\.txt")
    landed = land(tmp_path, b'A: Hi, "you" \t1\r\n\r\n,\r\n', entity, "train.txt")
    assert [row["value"] for row in read(tmp_path, landed)] == ['A: Hi, "you" \t1', "", ","]
    assert landed.quarantine == []


@pytest.mark.parametrize("text", [*WRITTEN.values(), *(f"a,\n{line}\nb,\n" for line, *_ in ODD.values())])
def test_restored_lines_have_the_original_values_and_lines(tmp_path: Path, text: str) -> None:
    """For a file of lines, values are restored, but not quotes, commas and line ends; rejected lines are unchanged."""
    published = list(split_records(LINES, "toy/train.csv", text.removeprefix("\ufeff").encode())[1])
    file = SourceFile("toy/train.csv", "train.csv", None, 0, "")
    stream = io.BytesIO()
    write_records(RestoredFile(make_corpus(tmp_path, LINES), LINES, file, iter(published)), stream)
    _, again = split_records(LINES, "toy/train.csv", stream.getvalue())
    assert [record.text for record in again] == [record.text for record in published]


@pytest.mark.parametrize("text", [b"", b"\n", b" \r\n\r\n"])
def test_empty_file_of_lines_has_no_records_and_a_note(tmp_path: Path, text: bytes) -> None:
    landed = land(tmp_path, text, LINES, "train.csv")
    assert (landed.record_count, landed.notes) == (0, ["is empty"])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_json_is_read_with_any_line_end(tmp_path: Path, end: str) -> None:
    """In JSON, line ends are blanks; there may be a mark before them, blank lines around, or no end of the last line."""
    text = json.dumps([ITEM, ITEM], indent=1).replace("\n", end)
    for written in (text, f"\ufeff{end}{text}{end}{end}"):
        for data, path in (
            (written.encode(), "train/items.json"),
            (gzip.compress(written.encode()), "dev/items.json.gz"),
        ):
            landed = land(tmp_path, data, ITEMS, path)
            assert [row["id"] for row in read(tmp_path, landed)] == [1, 1]


def test_lines_are_split_only_at_line_ends() -> None:
    assert split_lines("a\x0bb\u2028c\x85\x0cd\nx".encode()) == ["a\x0bb\u2028c\x85\x0cd".encode(), b"x"]
    assert split_lines(b"a\rb\nc") == [b"a\rb", b"c"]
    assert split_lines(b"") == split_lines(b"\r\n\n \t\n") == []


@pytest.mark.parametrize(
    ("text", "at", "place"),
    [
        ("abc", 0, "byte 0, line 1, column 1"),
        ("é😀c", 6, "byte 6, line 1, column 3"),
        ("a\nb\r\ncd", 6, "byte 6, line 3, column 2"),
        ("a\rb\rcd", 5, "byte 5, line 3, column 2"),
        ("a\n", 2, "byte 2, line 2, column 1"),
        ("é" * 2**20, 2**21, f"byte {2**21}, line 1, column {2**20 + 1}"),
    ],
)
def test_place_agrees_with_an_editor(text: str, at: int, place: str) -> None:
    assert place_of(text.encode(), at) == place


@pytest.mark.parametrize(("corpus_id", "path", "entity"), FILES_OF_LINES, ids=[path for _, path, _ in FILES_OF_LINES])
def test_traced_lines_are_the_values_that_were_read(corpus_id: str, path: str, entity: Entity) -> None:
    text = "".join(write_line(value, path) for value in ("dlg-1", "", "dlg-2")).replace("\n", "\r\n")
    found = list(read_json_at(corpus_id, path, text.encode(), ["/0", "/1", "/2", "/3"]))
    assert found == ['"dlg-1"', '""', '"dlg-2"', None]


FORM_CORPUS, ROW, _ = EXAMPLES[0]
ROW_LINES = lines(ROW, ROW)
JSON_LINES = {
    "as published": ROW_LINES,
    "CRLF": ROW_LINES.replace(b"\n", b"\r\n"),
    "CR": ROW_LINES.replace(b"\n", b"\r"),
    "no end of the last line": ROW_LINES[:-1],
    "blank last lines": ROW_LINES + b"\n\r\n",
    "mark": b"\xef\xbb\xbf" + ROW_LINES,
    "mark and CRLF": b"\xef\xbb\xbf" + ROW_LINES.replace(b"\n", b"\r\n"),
    "compressed under a plain name": gzip.compress(ROW_LINES),
}


@pytest.mark.parametrize("data", JSON_LINES.values(), ids=list(JSON_LINES))
def test_rows_in_json_lines_are_read_in_every_notation(tmp_path: Path, data: bytes) -> None:
    """Tools differ in the end of the last line; see https://github.com/Modalities/modalities/issues/395."""
    landed = land_form(tmp_path, FORM_CORPUS, data, ".jsonl")
    assert len(read(tmp_path, landed)) == landed.record_count == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (ROW_LINES[:-9], r"line 2, column \d+: not JSON, "),
        (ROW_LINES + b'{"uuid": 1,,}\n', "line 3, column 12: not JSON, "),
        (ROW_LINES.replace(b"\n", b"\r\n\r\n"), "line 2, column 1: the line is blank"),
        (ROW_LINES + b"[1]", r"line 3, column 1: \[1\] is not a row"),
        (ROW_LINES + b'{"uuid": NaN}', "line 3, column 1: not JSON, NaN"),
        (POINTER, "is a Git LFS pointer, not the file: "),
        (b'{"error": "Entry not found"}', r"is the error response of a server \('Entry not found'\), not the file: "),
    ],
)
def test_odd_line_of_json_lines_is_rejected_with_line_and_column(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=rf"\.jsonl: {message}"):
        land_form(tmp_path, FORM_CORPUS, data, ".jsonl")


SCRIPT = Path(sys.executable).parent / NAME
SAYS_ITS_ARGUMENTS = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"


def script_in(folder: Path) -> Path:
    """Create a program with the command's name, which prints its arguments."""
    folder.mkdir(parents=True)
    script = folder / NAME
    script.write_text(SAYS_ITS_ARGUMENTS)
    script.chmod(0o755)
    return script


def run(line: str, folder: Path, path: str) -> list[str]:
    """Run the line in a shell in that folder, and return the lines that the program printed."""
    environment = {"PATH": os.pathsep.join((path, "/usr/bin", "/bin"))}
    done = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("is_on_path", [True, False])
@pytest.mark.parametrize("place", ["it's here/.venv/bin", "../elsewhere/bin"])
def test_a_line_runs_the_program_with_its_arguments(tmp_path, monkeypatch, is_on_path, place):
    """The environment may be on the PATH or not, and below the working folder or not."""
    here = tmp_path / "work"
    here.mkdir()
    script = script_in((here / place).resolve())
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setenv("PATH", str(script.parent) if is_on_path else "/nowhere")
    line = command("sql", 'select "a b" from core.fct_turns -- it\'s', warehouse=here / "my warehouse")
    assert line.startswith(f"{NAME} sql ") == is_on_path
    expected = ["sql", 'select "a b" from core.fct_turns -- it\'s', "--warehouse", "my warehouse"]
    assert run(line, here, str(script.parent) if is_on_path else "/nowhere") == expected


def test_other_program_with_the_same_name_is_not_used(tmp_path, monkeypatch):
    """The program on the PATH is another installation."""
    monkeypatch.setattr(sys, "argv", [str(script_in(tmp_path / "ours"))])
    monkeypatch.setenv("PATH", str(script_in(tmp_path / "theirs").parent))
    assert shlex.split(command("tables"))[0] == str(tmp_path / "ours" / NAME)


def test_line_names_the_warehouse_if_the_command_would_use_another(tmp_path, monkeypatch):
    """Only in this case."""
    monkeypatch.delenv("DIALOGUE_WAREHOUSE", raising=False)
    assert command("tables", warehouse=tmp_path).endswith(f" tables --warehouse {tmp_path}")
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(tmp_path))
    assert command("tables", warehouse=tmp_path).endswith(" tables")


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"), (10**16, "10,000 TB")],
)
def test_size_is_written_in_the_largest_unit_that_gives_one(count: int, text: str) -> None:
    assert readable_size(count) == text
