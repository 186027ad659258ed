"""The examples of the form `chat` as Parquet, in the layout of the Hugging Face Hub, which `datasets` opens.

The examples are those of `chat`. Each batch is a file, named as the Hub names the parts of a split. The package
`datasets` is not needed: the description of the columns (its "features") is text in the metadata of the file. Each file
is there twice: with messages and tools as lists of JSON values, which `datasets` reads since version 4.7, and
as plain text, which every version reads. `dialogue_warehouse.exporting.card` writes the page that describes the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
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
PART = re.compile(r"-\d{5,}-of-\d{5,}(?=\.parquet$)")
"""The number of a part, in the name of its file."""
ROWS_OF_A_GROUP = 2_048
"""Examples that a reader has to decode at once."""
COLUMNS = """
    if(id = '', null, id) as id,
    if(id = '', null, {messages}) as messages,
    if(id = '', null, {tools}) as tools,
    if(id = '', null, source) as source
"""
"""No id is empty. The conditions let each file say that values may be NULL, also if the statistics say that none is."""
LISTS = COLUMNS.format(messages="messages", tools="tools")
TEXTS = COLUMNS.format(messages="concat('[', array_to_string(messages, ','), ']')", tools="tools_json")


class HuggingFaceOptions(ChatOptions):
    """The variants of the examples; they are those of the form `chat`."""


def write(
    con: duckdb.DuckDBPyConnection,
    corpus: Corpus,
    dialogues: Sequence[Dialogue],
    path: Path,
    options: HuggingFaceOptions,
    update: Callable[[str], None],
) -> dict[Path, dict[str, int]]:
    """Write the examples of a corpus's dialogues as Parquet, in their order, and return each path with counts.

    Each batch is a file beside `path`. The folder of the config with text gets a file with the same name, and the same
    examples.
    """
    as_text(path).parent.mkdir(exist_ok=True)
    described = f", kv_metadata {{huggingface: {literal(_description())}}}"

    def save(own: duckdb.DuckDBPyConnection, rows: str, number: int, parts: int) -> Path:
        part = path.with_stem(f"{path.stem}-{number:05}-of-{parts:05}")
        for to, columns, metadata in ((part, LISTS, described), (as_text(part), TEXTS, "")):
            own.execute(
                f"copy (select {columns} {rows}) to {literal(to)}"
                f" (format parquet, compression zstd, row_group_size {ROWS_OF_A_GROUP}{metadata})"
            )
        return part

    return dict(chat.write_parts(con, corpus, dialogues, options, update, save))


def other_parts(folder: Path, paths: Iterable[str]) -> Iterator[Path]:
    """Yield the files of a folder that are parts of the same splits as some paths, but of another number of parts.

    A file without a number is a whole split. A reader of all files of a split would find an example twice.
    """
    for pattern in sorted({PART.sub(end, path) for path in paths if PART.search(path) for end in ("", "-*-of-*")}):
        for found in sorted(folder.glob(pattern)):
            if found.relative_to(folder).as_posix() not in paths:
                yield found


def as_text(path: Path) -> Path:
    """Return the path of the file with the same examples, with messages and tools as text."""
    return path.parent.with_name(f"{path.parent.name}{AS_TEXT}") / path.name


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
