"""The examples of the form `chat` as Parquet, in the layout of the Hugging Face Hub, which `datasets` opens.

The examples are those of `chat`. Each batch is written to a part, and the parts are put together in two files. The
package `datasets` is not needed: the description of the columns (its "features") is text in the metadata of the file.
Each file is there twice: with messages and tools as lists of JSON values, which `datasets` reads since version 4.7, and
as plain text, which every version reads. `dialogue_warehouse.exporting.card` writes the page that describes the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from dialogue_warehouse.common.database import literal
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.exporting import batches, chat
from dialogue_warehouse.exporting.chat import ChatOptions
from dialogue_warehouse.reading.selection import Dialogue

AS_TEXT = "_str"
"""The end of the name of a config with messages and tools as text."""
ROWS_OF_A_GROUP = 2_048
"""Examples that a reader has to decode at once."""
PART = """
    copy (
        select
            id, messages, tools,
            {{
                'corpus_id': source ->> 'corpus_id', 'split': source ->> 'split',
                'dialogue_key': source ->> 'dialogue_key',
                'turn_keys': from_json(source -> 'turn_keys', '[["varchar"]]')
            }} as source
        {rows}
    ) to {path} (format parquet)
"""
LISTS = """
    nullif(id, '') as id, from_json(messages, '["json"]') as messages, from_json(tools, '["json"]') as tools, source
"""
TEXTS = "nullif(id, '') as id, nullif(messages, '') as messages, nullif(tools, '') as tools, source"
"""No value is empty. `nullif` lets each file say that a value may be NULL, also if the statistics say that none is."""


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
    """Write the examples of a corpus' dialogues as Parquet, in their order, and return the counts of `chat.write`.

    The folder of the config with text gets a file with the same name, and the same examples.
    """
    counts: Counter[str] = Counter()
    parts = []
    for part, found in chat.write_parts(con, corpus, dialogues, path, options, update, PART):
        parts.append(part)
        counts.update(found)
    rows = f"from read_parquet([{', '.join(map(literal, parts))}])"

    def copy(own: duckdb.DuckDBPyConnection, file: tuple[Path, str, str]) -> None:
        to, columns, metadata = file
        own.execute(
            f"copy (select {columns} {rows}) to {literal(to)}"
            f" (format parquet, compression zstd, row_group_size {ROWS_OF_A_GROUP}{metadata})"
        )

    files = (
        (path, LISTS, f", kv_metadata {{huggingface: {literal(_description())}}}"),
        (path.parent.with_name(f"{corpus.corpus_id}{AS_TEXT}") / path.name, TEXTS, ""),
    )
    # Several threads keep many rows of a file in memory, and where a group of rows ends depends on which is faster.
    list(batches.each(con, files, copy, in_one_thread=True))
    for part in parts:
        part.unlink()
    return dict(counts)


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
