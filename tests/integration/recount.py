"""An independent recount of the releases: the rows that each core table must have, counted in plain Python.

Nothing here, and nothing in the `recount.py` of a corpus's fixtures, imports the project: the counting follows the
written contract of the shared tables, the record shapes follow the corpora's own
documentation. If the contract does not define a value (the domain of a corpus that has none, a key that is not the path
of a row), it is not counted, and the query leaves the column out. Some choices go beyond the contract, and agree with
the warehouse on purpose: a frame without a state has NULL requested_slots, not `[]`; utterance_count counts the turns
whose event_type is `utterance`; others are documented in the corpus's own file.

A corpus's `QUERIES` define how each part is read from the warehouse, and its `count` returns the same rows from the
files. Lists are tuples and maps are sorted tuples of pairs, so that rows can be counted. A name is a table, followed by
a blank and the kind of its rows if it has several; a name with a dot is a column that is compared separately.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

Row = tuple[Any, ...]
Rows = dict[str, list[Row]]

SPLITS = {"train": "train", "dev": "validation", "test": "test"}
DIALOGUE = "dialogue_key, split"
TURN = f"{DIALOGUE}, turn_key, turn_index"
FRAME = f"{TURN}, frame_index"
SLOT = f"slot_key, {TURN}, role, annotation_type"
DIALOGUES = (
    "dialogue_key, split, source_split, source_part, dialogue_id, source_file_id, record_index, record_pointer, task,"
    " source_task, turn_count, utterance_count, outcome_reward"
)
CHANNEL = "dialogue_key, channel, collection_method"
TURNS = (
    f"{TURN}, source_turn_number, role, source_speaker, event_type, utterance, delexicalized_utterance, occurred_at,"
    " source_time, intent, next_step, segment_count"
)
SHARED = {
    "dim_corpora": "select corpus_id from core.dim_corpora",
    "dim_source_files": "select source_file_id, corpus_id, path, parts, bytes, sha256, record_count from core.dim_source_files",
    "source_exceptions": "select * from core.source_exceptions",
    "source_extras": "select * from core.source_extras",
    "source_quarantine": "select * from core.source_quarantine",
}
"""Rows that are counted over all corpora; extras, refused records and forms that no column can show do not occur."""


class Part(Protocol):
    """Functions and values that are used from a corpus's `recount.py`."""

    DATA_FILES: str
    ONE_RECORD: set[str]
    OF_SPLITS: set[str]
    WITH_HEADER: set[str]

    def count(self, folder: Path, rows: Rows) -> None:
        """Add the rows of the release in this folder."""
        ...


def place(partition: str) -> str:
    """Return the position inside a group, from 0, whether the table counts in the group or over all rows."""
    return f"row_number() over (partition by {partition} order by position) - 1"


def of(corpus_id: str, table: str, columns: str, where: str = "true") -> str:
    """Return the query of some columns of a corpus's rows."""
    return f"select {columns} from core.{table} where corpus_id = '{corpus_id}' and {where}"


def source_parts(corpus_id: str) -> str:
    """Return the query of the part that a corpus's files of dialogues belong to."""
    return of(
        corpus_id,
        "dim_source_files",
        "source_file_id, source_part",
        "source_file_id in (select source_file_id from core.dim_dialogues)",
    )


def recount(part: Part, folder: Path) -> Rows:
    """Return the rows that each of a corpus's queries must return, in any order."""
    rows: Rows = defaultdict(list)
    part.count(folder, rows)
    return dict(rows)


def recount_shared(parts: Mapping[str, Part], corpora: Path) -> Rows:
    """Return the rows that the queries of `SHARED` must return."""
    rows: Rows = {name: [] for name in SHARED}
    rows["dim_corpora"] = [(corpus_id,) for corpus_id in parts]
    for corpus_id, part in parts.items():
        for path in data_files(corpora / corpus_id, part.DATA_FILES):
            data = (corpora / corpus_id / path).read_bytes()
            members, record_count = None, 1
            if path not in part.ONE_RECORD:
                content = load(corpora / corpus_id / path)
                record_count = len(content) - (path in part.WITH_HEADER)
                if path in part.OF_SPLITS:
                    members, record_count = tuple(content), sum(map(len, content.values()))
            sha256 = hashlib.sha256(data).hexdigest()
            rows["dim_source_files"].append(
                (f"{corpus_id}/{path}", corpus_id, path, members, len(data), sha256, record_count)
            )
    return rows


def verifications(parts: Mapping[str, Part], corpora: Path, listing: Path) -> list[Row]:
    """Return (source_file_id, verification) of every data file, against the checksums of sources.csv."""
    with listing.open(newline="", encoding="utf-8") as stream:
        listed = {f"{line['corpus']}/{line['path']}": line for line in csv.DictReader(stream)}
    found = []
    for corpus_id, part in parts.items():
        for path in data_files(corpora / corpus_id, part.DATA_FILES):
            line = listed.get(f"{corpus_id}/{path}", {})
            data = (corpora / corpus_id / path).read_bytes()
            blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            if line.get("sha256"):
                is_equal = line["sha256"] == hashlib.sha256(data).hexdigest()
            else:
                is_equal = line.get("git_blob_sha1") == blob
            is_listed = line.get("sha256") or line.get("git_blob_sha1")
            verification = ("verified" if is_equal else "mismatch") if is_listed else "unlisted"
            found.append((f"{corpus_id}/{path}", verification))
    return found


def data_files(folder: Path, pattern: str) -> list[str]:
    """Return the paths of a release's data files, sorted."""
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return [path for path in paths if re.fullmatch(pattern, path)]


def load(path: Path) -> Any:
    """Return the content of a file, zipped or not: its JSON; of JSON Lines the list of the lines; of CSV the rows."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    match path.name.removesuffix(".gz").rpartition(".")[2]:
        case "jsonl":
            return [json.loads(line) for line in data.split(b"\n") if line]
        case "csv" | "tsv" as kind:
            return list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter="\t" if kind == "tsv" else ","))
        case _:
            return json.loads(data)


def segment(text: str) -> str:
    """Return a text as a segment of a key."""
    return text.replace("%", "%25").replace("/", "%2F").replace("~", "%7E")


def letters_and_digits(text: str) -> str:
    """Return the form of a text that is compared: its letters and digits, of any script, in lower case."""
    return "".join(letter for letter in text.lower() if unicodedata.category(letter)[0] in "LN")


class DialogueKeys:
    """Assigns dialogue keys: a native id that occurs again in its part gets a number."""

    def __init__(self, corpus_id: str) -> None:
        self.corpus_id = corpus_id
        self.seen: Counter[tuple[str, str]] = Counter()

    def key(self, part: str, native_id: str) -> str:
        """Return the key of the next dialogue."""
        self.seen[part, native_id] += 1
        occurrence = self.seen[part, native_id]
        again = f"~{occurrence}" if occurrence > 1 else ""
        return f"{self.corpus_id}/{segment(part)}/{segment(native_id)}{again}"
