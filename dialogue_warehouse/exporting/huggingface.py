"""The examples of the form `chat` as Parquet, in the layout of the Hugging Face Hub, which `datasets` opens.

The examples are written as JSON Lines first, so that they are the same ones; DuckDB then makes Parquet of them. The
package `datasets` is not needed: the description of the columns (its "features") is text in the metadata of the file.
Each file is there twice: with messages and tools as lists of JSON values, which `datasets` reads since version 4.7, and
as plain text, which every version reads. `dialogue_warehouse.exporting.card` writes the page that describes the files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from dialogue_warehouse.common.database import literal
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.exporting import chat
from dialogue_warehouse.exporting.chat import ChatOptions
from dialogue_warehouse.reading.selection import Dialogue

AS_TEXT = "_str"
"""The end of the name of a config with messages and tools as text."""
ROWS_OF_A_GROUP = 2_048
"""Examples that a reader has to decode at once."""
USUAL_LINE = 2**24
"""Bytes of a line for which DuckDB makes room."""


class HuggingFaceOptions(ChatOptions):
    """The variants of the examples; they are those of the form `chat`."""


def write(
    con: duckdb.DuckDBPyConnection,
    corpus: Corpus,
    dialogues: Sequence[Dialogue],
    path: Path,
    options: HuggingFaceOptions,
    update: Callable[[str], None],
) -> dict[str, int]:
    """Write the examples of a corpus' dialogues as Parquet, in their order, and return the counts of `chat.write`."""
    lines = path.with_suffix(".jsonl")
    counts = chat.write(con, corpus, dialogues, lines, options, update)
    json_lists = "json[]"
    source = "struct(corpus_id varchar, split varchar, dialogue_key varchar, turn_keys varchar[][])"
    columns = {"id": "varchar", "messages": json_lists, "tools": json_lists, "source": source}
    read = f"read_json({literal(lines)}, format = 'newline_delimited', columns = {columns}"
    with lines.open("rb") as stream:
        longest = max(map(len, stream), default=0)
    rows = f"select * from {read}, maximum_object_size = {max(longest, USUAL_LINE)})"
    _copy(con, rows, path, f", kv_metadata {{huggingface: {literal(_description())}}}")
    lines.unlink()
    return counts


def write_as_text(
    con: duckdb.DuckDBPyConnection,
    corpus: Corpus,
    dialogues: Sequence[Dialogue],
    path: Path,
    options: HuggingFaceOptions,
    update: Callable[[str], None],
) -> dict[str, int]:
    """Write a file that `write` has written again, with messages and tools as text."""
    written = path.parent.with_name(corpus.corpus_id) / path.name
    texts = ", ".join(f"'[' || array_to_string({name}, ',') || ']' as {name}" for name in ("messages", "tools"))
    _copy(con, f"select * replace ({texts}) from read_parquet({literal(written)})", path)
    found = con.execute(f"select count(*) from read_parquet({literal(path)})").fetchall()
    return {"examples": found[0][0]}


def _copy(con: duckdb.DuckDBPyConnection, rows: str, path: Path, more: str = "") -> None:
    """Write rows as Parquet, with one thread.

    Several threads keep many rows in memory, and where a group of rows ends depends on which of them is faster.
    """
    [(threads,)] = con.execute("select current_setting('threads')").fetchall()
    con.execute("set threads = 1")
    con.execute(
        f"copy ({rows}) to {literal(path)} (format parquet, compression zstd, row_group_size {ROWS_OF_A_GROUP}{more})"
    )
    con.execute(f"set threads = {threads}")


def _description() -> str:
    """Return the columns as `datasets` describes them in the metadata of a file."""
    text = {"dtype": "string", "_type": "Value"}

    def list_of(feature: dict[str, Any]) -> dict[str, Any]:
        return {"feature": feature, "_type": "List"}

    features = {
        "id": text,
        "messages": list_of({"_type": "Json"}),
        "tools": list_of({"_type": "Json"}),
        "source": {
            "corpus_id": text,
            "split": text,
            "dialogue_key": text,
            "turn_keys": list_of(list_of(text)),
        },
    }
    return msgspec.json.encode({"info": {"features": features}}).decode()
