"""Releases made at random: of each entity's schema, files that are mostly right and in part what no publisher would write.

Strange texts, empty lists, keys that no schema knows and records that a schema refuses are part of them. What a release
must keep beyond the types of its schema says `tests/fixtures/<corpus>/strategies.py`.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from pipelines.corpora import registry
from pipelines.corpora.room import Container, Corpus, Entity
from tests import fixtures
from tests.conftest import CLONE
from tests.fixtures.shapes import Strategies


def commit() -> str:
    """The commit of the clone, in hexadecimal; 0 where there is none."""
    command = ["git", "rev-parse", "HEAD"]
    found = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=False).stdout.strip()
    return found or "0"


SEED = int(os.environ.get("DIALOGUE_SEED") or int(commit(), 16) % 2**32)
"""Each commit tries releases of its own, and the same ones whenever it is tested."""

TEXTS = st.one_of(
    st.sampled_from(
        ["", " ", "a/b", "50%", "~1", "é😀", "\n\t", '"', "'", "\\", "\x00", "null", "1.10", "a.b.accept", "x" * 300]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
NAMES = st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1, max_size=8)
INTEGERS = st.one_of(st.integers(-3, 3), st.integers(-(2**31), 2**31 - 1))
LINES = st.from_regex(r"[a-z0-9-]{1,9},?", fullmatch=True)
"""Of a file of lines; one without its comma is refused."""
EXTRAS = st.recursive(TEXTS | INTEGERS, st.lists, max_leaves=3)
"""What an unknown key holds."""
NO_RECORDS = st.sampled_from([7, None, [], {"no": "record"}, [[[["deep"]]]]])
"""What stands among the records and is none."""


def documents(kind: inspect.Type, mend: Strategies) -> st.SearchStrategy[Any]:
    """Values that a schema's type takes, as plain JSON; optional keys present or absent."""
    match kind:
        case inspect.Metadata():
            return documents(kind.type, mend)
        case inspect.ListType():
            return st.lists(documents(kind.item_type, mend), max_size=3)
        case inspect.DictType():
            return st.dictionaries(TEXTS, documents(kind.value_type, mend), max_size=3)
        case inspect.UnionType():
            floats = [option for option in kind.types if isinstance(option, inspect.FloatType)]
            return st.one_of([documents(option, mend) for option in floats or kind.types])
        case inspect.StructType():
            return objects(kind, mend)
        case _:
            return scalars(kind)


def objects(kind: inspect.StructType, mend: Strategies) -> st.SearchStrategy[Any]:
    """Objects of a Struct, mended; arrays where it is written as one."""
    if kind.array_like:
        return st.tuples(*(documents(field.type, mend) for field in kind.fields)).map(list)
    fields = {field.encode_name: documents(field.type, mend) for field in kind.fields}
    required = {field.encode_name for field in kind.fields if field.required}
    made = st.fixed_dictionaries(
        {name: strategy for name, strategy in fields.items() if name in required},
        optional={name: strategy for name, strategy in fields.items() if name not in required},
    )
    return made.map(lambda value: mend.mend_record(kind.cls.__name__, value))


def scalars(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Values of a type that holds no other."""
    match kind:
        case inspect.StrType(pattern=pattern):
            return st.just("1480736453.0") | st.just("7") if pattern else TEXTS
        case inspect.IntType():
            return INTEGERS
        case inspect.FloatType():
            return st.floats(allow_nan=False, allow_infinity=False)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
    raise TypeError(kind)


def files_of(corpus: Corpus) -> list[tuple[Entity, str]]:
    """One or two paths of each entity."""
    found: list[tuple[Entity, str]] = []
    for entity in corpus.entities:
        listed = [
            file.path for file in corpus.files if corpus.entity_of(file.path) is entity and not file.is_documentation
        ]
        found += [(entity, path) for path in listed[:2]]
    return found


def records(kind: inspect.Type, mend: Strategies) -> st.SearchStrategy[Any]:
    """Records of a file: of six, four are as they should be, one has an unknown key where it can, one is none."""
    right = documents(kind, mend)
    return st.one_of(right, right, right, right, st.builds(with_extra_key, right, NAMES, EXTRAS), NO_RECORDS)


def with_extra_key(record: Any, name: str, value: Any) -> Any:
    """The record with a key that no schema knows, where it has keys."""
    return record | {f"extra {name}": value} if isinstance(record, dict) else record


def file_contents(entity: Entity, mend: Strategies) -> st.SearchStrategy[Any]:
    """The content of one file, in the container's layout."""
    kind = inspect.type_info(entity.record)
    many = st.lists(records(kind, mend), max_size=7)
    match entity.container:
        case Container.DOCUMENT:
            contents: st.SearchStrategy[Any] = documents(kind, mend)
        case Container.LINES:
            contents = st.lists(LINES, max_size=5).map(lambda lines: "".join(f"{line}\n" for line in lines))
        case Container.ARRAY:
            contents = many
        case Container.ENTRIES:
            contents = st.dictionaries(TEXTS, records(kind, mend), max_size=7)
        case Container.SPLITS:
            order = st.permutations(["train", "dev", "test"])
            contents = st.builds(lambda keys, *parts: dict(zip(keys, parts, strict=True)), order, many, many, many)
    return contents.map(lambda content: mend.mend_file(entity.name, content))


def whole_releases() -> st.SearchStrategy[dict[str, Any]]:
    """Path -> content of a release of every corpus."""
    mends: dict[str, Strategies] = fixtures.load_all("strategies")
    return st.fixed_dictionaries(
        {
            f"{corpus.corpus_id}/{path}": file_contents(entity, mends[corpus.corpus_id])
            for corpus in registry.load_corpora()
            for entity, path in files_of(corpus)
        }
    )


def write(release: dict[str, Any], folder: Path) -> None:
    """Write a release in place of the one before."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, content in release.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        is_plain = isinstance(content, str) and not path.endswith((".json", ".json.gz"))
        text = content if is_plain else json.dumps(content, ensure_ascii=False)
        target.write_bytes(gzip.compress(text.encode()) if path.endswith(".gz") else text.encode())
