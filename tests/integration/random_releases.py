"""Draw releases at random from the types of each corpus's schema.

A record begins as a record of the generated sample; then none, a few or many of its values are replaced. The states
that the records show are counted, and a state that is rare is drawn next, so that each state occurs often and in few
records. `tests/fixtures/<corpus>/strategies.py` says what a record must satisfy beyond the types of its schema.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import os
import random
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from dialogue_warehouse.corpora.column_types import type_of
from dialogue_warehouse.corpora.release import Container, Corpus, Entity
from dialogue_warehouse.corpora.scores import PredictionForm
from dialogue_warehouse.releases import records
from dialogue_warehouse.releases.csv_tables import separator_of
from dialogue_warehouse.releases.unpacking import unpack
from dialogue_warehouse.releases.value_lines import is_plain
from tests.conftest import CLONE
from tests.fixtures.shapes import Strategies
from tests.integration.record_states import (
    Place,
    State,
    member_of,
    members,
    parts_of,
    possible,
    states_of,
    states_of_entity,
    unwrapped,
)


def commit() -> str:
    """Return the commit of the clone, in hexadecimal; 0 if there is none."""
    command = ["git", "rev-parse", "HEAD"]
    found = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=False).stdout.strip()
    return found or "0"


SEED = int(os.environ.get("DIALOGUE_SEED") or int(commit(), 16) % 2**32)
"""Seed: each commit tries different releases, and the same ones each time it is tested."""
WANTED = 50
"""Minimum number of occurrences of each state, in records that the schema accepts."""
ENOUGH = 70
"""A state is drawn on purpose until it has occurred this often: some records that show it are refused."""
COUNTED = 1000
"""Number of records of an entity that are counted; after them, records are drawn by chance alone."""
FEWEST = 300
"""Minimum number of records of an entity other than the first, unless fewer are requested."""
ODD_TEXTS = (
    *("a/b", "50%", "~1", "~2", "é😀", '"', "'", "\\", "\x00", "null", "NULL", "1.10", "a.b.accept", "-1", "{}", "[]"),
    *("unheard_of", "none", "None", "true", "/", "..", "<b>&amp;", "{{ x }}", "%s", "e\u0301", "\u202eabc", "\x1b[31m"),
)
TEXTS = {
    "empty text": ("",),
    "blank text": (" ", "\t", "\n", "\r\n", "   ", "\u00a0", "\u3000"),
    "long text": (*("x" * 300, "word " * 60, "😀" * 250, "a, b. c? " * 40) * 10, "word " * 3000),
}
NUMERIC_TEXTS = ("1480736453.0", "7", "0", "-1", "0.000000001", "999999999999.999999999", "-999999999999")
INTEGERS = {"zero": (0,), "negative": (-1, -7, -(2**31)), "": (0, 1, 2, 3, 100, 2**31 - 1)}
FLOATS = (0.0, 1.0, -1.5, 0.1, 1e-300, 5e-324, 1.7e308, 123456789.25)
SCALARS: dict[type[inspect.Type], tuple[Any, ...]] = {
    inspect.StrType: NUMERIC_TEXTS,
    inspect.IntType: INTEGERS[""],
    inspect.FloatType: FLOATS,
    inspect.BoolType: (False, True),
    inspect.NoneType: (None,),
}
NO_RECORDS: tuple[Any, ...] = (7, None, [], {"no": "record"}, [[[["deep"]]]], "text", True)
"""Values among the records that are not records."""
NO_RECORD, UNMENDED, EXTRA_KEY = 0.02, 0.03, 0.001
"""Share of values that are not records, of records that stay invalid, and of objects with an unknown key."""
MANY_ITEMS = 60
"""Of a list with at least this many items, only one item is drawn again."""
KNOWN_MOST = 100
"""Maximum number of values of the sample that are remembered for each place."""
ABSENT: Any = object()


@dataclass(frozen=True)
class Drawn:
    """Record of a release, as JSON text."""

    corpus: Corpus
    entity: Entity
    path: str
    index: int
    """Position in the file, from 0; in its part, if the file has parts."""
    key: str | None
    text: bytes

    @property
    def file(self) -> str:
        """Return the file, as in `source_file_id`."""
        return f"{self.corpus.corpus_id}/{self.path}"


def files_of(corpus: Corpus, most: int = 2) -> list[tuple[Entity, str]]:
    """Return the first listed paths of each entity."""
    found: list[tuple[Entity, str]] = []
    for entity in corpus.entities:
        listed = [
            file.path for file in corpus.files if corpus.entity_of(file.path) is entity and not file.is_documentation
        ]
        found += [(entity, path) for path in listed[:most]]
    return found


class Known:
    """Content of the generated sample: its records by entity, and its values by place."""

    def __init__(self, corpus: Corpus, folder: Path) -> None:
        self.records: dict[str, list[tuple[str | None, Any]]] = defaultdict(list)
        self.values: dict[Place, list[Any]] = defaultdict(list)
        for entity, path in files_of(corpus, most=1000):
            file = folder / corpus.corpus_id / path
            if file.is_file():
                for record in records.split_records(entity, path, unpack(path, file.read_bytes()).content)[1]:
                    self.records[entity.name].append((record.key, value := json.loads(record.text)))
                    self._look_at(type_of(entity.record), (entity.name, "record"), value)

    def _look_at(self, kind: inspect.Type, place: Place, value: Any) -> None:
        values = self.values[place]
        if len(values) < KNOWN_MOST and value not in values:
            values.append(value)
        for part in parts_of(kind, place, value):
            self._look_at(*part)


class Drawing:
    """Draws the records of a corpus, and counts the states of those that the schema accepts."""

    def __init__(self, corpus: Corpus, known: Known, mend: Strategies, chance: random.Random) -> None:
        self.corpus, self.known, self.mend, self.chance = corpus, known, mend, chance
        self.shown: Counter[State] = Counter()
        self.progress = 0.0
        self.is_counted = True
        self.eagerness = 0.0
        self.rate = 0.0
        self.is_mended = True

    def release(self, count: int) -> Iterator[Drawn]:
        """Draw this number of records of the first entity, half as many of each other entity, and one of a document."""
        for entity in self.corpus.entities:
            files = [path for of, path in files_of(self.corpus) if of is entity]
            wanted = count if entity is self.corpus.entities[0] else max(count // 2, min(count, FEWEST))
            for number, path in enumerate(files):
                share = wanted // len(files) + (number < wanted % len(files))
                is_last = path == files[-1] and entity.container is not Container.DOCUMENT
                stretch = (number / len(files), (number + 1) / len(files))
                yield from self.file(entity, path, share, stretch, states_of_entity(entity) if is_last else set())

    def file(
        self,
        entity: Entity,
        path: str,
        count: int,
        stretch: tuple[float, float] = (0, 1),
        wanted: Set[State] = frozenset(),
    ) -> Iterator[Drawn]:
        """Return the records of a file; `stretch` is the part of the entity's records that they are.

        More than `count` are drawn, up to a quarter more, until each of the `wanted` states has occurred often
        enough.
        """
        begin, end = stretch
        count = 1 if entity.container is Container.DOCUMENT else count
        parts = itertools.cycle(["train", "dev", "test"]) if entity.container is Container.SPLITS else None
        indexes: Counter[str | None] = Counter()
        wanted = wanted - self.mend.NEVER
        for number in range(count + count // 4):
            if number >= count and all(self.shown[state] >= WANTED for state in wanted):
                return
            all_of_entity = count / (end - begin)
            drawn = begin * all_of_entity + number + 1
            self.is_counted = drawn <= (first := min(all_of_entity, COUNTED)) or number >= count
            self.progress = min(1.0, drawn / first / 0.85)
            key, text = self.record(entity)
            key = next(parts) if parts else key
            place = key if parts else None
            yield Drawn(self.corpus, entity, path, indexes[place], key, text)
            indexes[place] += 1

    def record(self, entity: Entity) -> tuple[str | None, bytes]:
        """Return the key and the text of a record."""
        is_document = entity.container is Container.DOCUMENT
        self.rate = self.chance.choice((0, 0.01, 0.01, 0.1, 0.1))
        self.eagerness = 0.1 if is_document else 0.8 if self.rate and self.is_counted else 0
        self.is_mended = is_document or self.chance.random() >= UNMENDED
        kind, place = type_of(entity.record), (entity.name, "record")
        key, value = self.chance.choice(self.known.records[entity.name] or [(None, ABSENT)])
        value = self.draw(kind, place, value) if self.rate or value is ABSENT else value
        if self.chance.random() < NO_RECORD and not is_document:
            value = self.chance.choice(NO_RECORDS)
        text = json.dumps(value, ensure_ascii=self.chance.random() < 0.5).encode()
        if self.is_counted and is_taken(entity, text):
            self.shown.update(states_of(kind, place, value))
        if entity.container is Container.ENTRIES:
            key = f"{key} {self.chance.randrange(10**6)}" if self.chance.random() < 0.6 else self._text(place)
        return key, text

    def states(self, record: Drawn) -> set[State]:
        """Return the states that a record shows."""
        kind = type_of(record.entity.record)
        return set(states_of(kind, (record.entity.name, "record"), json.loads(record.text)))

    def draw(self, kind: inspect.Type, place: Place, base: Any = ABSENT) -> Any:
        """Return a value of this type, from a base that is kept with some probability."""
        kind = unwrapped(kind)
        state = self._state_behind(kind, place)
        if state is not None:
            return self._of_state(kind, place, state)
        if base is ABSENT or (self.chance.random() < self.rate and not isinstance(kind, inspect.StructType)):
            return self._fresh(kind, place)
        return self._vary(kind, place, base)

    def _state_behind(self, kind: inspect.Type, place: Place) -> str | None:
        """Return the state that this value should show: a rare one, or any."""
        is_eager = self.chance.random() < self.eagerness
        if not is_eager and self.chance.random() >= self.rate / 2:
            return None
        never = self.mend.NEVER
        behind = [
            state
            for state in possible(kind)
            if (not is_eager or self.shown[*place, state] < ENOUGH * self.progress) and (*place, state) not in never
        ]
        rarest = sorted(behind, key=lambda state: self.shown[*place, state])[: -(-len(behind) // 2)]
        return self.chance.choice(rarest) if rarest else None

    def _of_state(self, kind: inspect.Type, place: Place, state: str) -> Any:
        """Return a value that shows the state."""
        match kind:
            case inspect.UnionType():
                found = members(kind)
                if state in found:
                    return self._fresh(found[state], place)
                return self._of_state(next(one for one in found.values() if state in possible(one)), place, state)
            case inspect.StrType():
                return self.chance.choice(TEXTS[state])
            case inspect.IntType():
                return self.chance.choice(INTEGERS[state])
            case inspect.BoolType():
                return state == "true"
            case inspect.LiteralType():
                return next(value for value in kind.values if state == f"word {value}")
            case inspect.ListType() if state == "repeated item":
                items = [*self._known(place, []), self.draw(kind.item_type, (place[0], f"{place[1]}[]"))]
                return [*items, self.chance.choice(items)]
            case inspect.ListType():
                return []
        return {}

    def _fresh(self, kind: inspect.Type, place: Place) -> Any:
        """Return a value that does not depend on the record that it is put into."""
        kind = unwrapped(kind)
        match kind:
            case inspect.UnionType():
                return self._fresh(self.chance.choice(list(members(kind).values())), place)
            case inspect.StrType(pattern=None):
                return self._text(place)
            case inspect.ListType():
                return self._vary(kind, place, self._known(place, []))
            case inspect.StructType() | inspect.DictType():
                return self._vary(kind, place, self._known(place, {}))
            case inspect.LiteralType(values=values):
                return self.chance.choice(values)
        return self.chance.choice(SCALARS[type(kind)])

    def _known(self, place: Place, otherwise: Any) -> Any:
        """Return a value that the sample has at the place, with the same type as the other value."""
        values = [value for value in self.known.values[place] if isinstance(value, type(otherwise) | list)]
        return self.chance.choice(values or [otherwise])

    def _text(self, place: Place) -> str:
        """Return a text: one known at the place, one known at another place, or an odd one."""
        odd = self.chance.random()
        places = [place] if odd < 0.5 else [self.chance.choice(list(self.known.values))] if odd < 0.6 else []
        texts = [value for known in places for value in self.known.values[known] if isinstance(value, str)]
        return self.chance.choice(texts or ODD_TEXTS if odd < 0.95 else TEXTS["long text"])

    def _vary(self, kind: inspect.Type, place: Place, base: Any) -> Any:
        """Return the base, with some of its parts drawn again."""
        owner, name = place
        match kind:
            case inspect.UnionType():
                found = member_of(kind, base)
                return base if found is None else self._vary(found[1], place, base)
            case inspect.ListType():
                of = owner, f"{name}[]"
                there = self._items(base)
                few = range(len(there)) if len(there) < MANY_ITEMS else [self.chance.randrange(len(there))]
                items = [self.draw(kind.item_type, of, item) if at in few else item for at, item in enumerate(there)]
                while self.chance.random() < self.rate or (len(items) < 12 and self._state_behind(kind.item_type, of)):
                    items.insert(self.chance.randint(0, len(items)), self.draw(kind.item_type, of))
                return items
            case inspect.DictType():
                return self._vary_object(kind, place, base)
            case inspect.StructType(array_like=True):
                there = base if isinstance(base, list) else []
                items = itertools.chain(there, itertools.repeat(ABSENT))
                of = kind.cls.__name__
                return [self.draw(field.type, (of, field.encode_name), next(items)) for field in kind.fields]
            case inspect.StructType():
                return self._vary_struct(kind, base)
        return base

    def _items(self, base: list[Any]) -> list[Any]:
        """Return the items; one may be missing, repeated, or moved."""
        items = list(base)
        if items and self.chance.random() < self.rate:
            position = self.chance.randrange(len(items))
            change = self.chance.randrange(3)
            item = items[position] if change == 0 else items.pop(position)
            if change < 2:
                items.insert(self.chance.randint(0, len(items)), item)
        return items

    def _vary_object(self, kind: inspect.DictType, place: Place, base: dict[str, Any]) -> dict[str, Any]:
        owner, name = place
        keys, values = (owner, f"{name}{{key}}"), (owner, f"{name}{{}}")
        pairs = [(self.draw(kind.key_type, keys, key), item) for key, item in base.items()]
        while self.chance.random() < self.rate:
            pairs.append((self._text(keys), ABSENT))
        return {
            key: self.draw(kind.value_type, values, item) for key, item in pairs if self.chance.random() > self.rate / 5
        }

    def _vary_struct(self, kind: inspect.StructType, base: dict[str, Any]) -> dict[str, Any]:
        of, value = kind.cls.__name__, {}
        for field in kind.fields:
            there = base.get(field.encode_name, ABSENT)
            if field.required or self._is_there(of, field.encode_name, there is not ABSENT):
                value[field.encode_name] = self.draw(field.type, (of, field.encode_name), there)
        if self.is_mended:
            value = self.mend.mend_record(of, value)
        if self.rate and self.chance.random() < EXTRA_KEY:
            value[f"extra {self._text((of, ''))}"] = self.chance.choice([*NO_RECORDS, *FLOATS, *ODD_TEXTS])
        return value

    def _is_there(self, of: str, field: str, otherwise: bool) -> bool:
        """Return whether an optional field is present."""
        if self.chance.random() < self.eagerness:
            if self.shown[of, field, "absent"] < ENOUGH * self.progress and self.chance.random() < 0.3:
                return False
            if self.shown[of, field, "there"] < 5 * WANTED * self.progress:  # its content has states as well
                return True
        return self.chance.random() < 0.5 if self.chance.random() < self.rate else otherwise


def is_taken(of: Entity | PredictionForm, text: bytes | str) -> bool:
    """Return whether the schema accepts a record of an entity, or of a form of predictions."""
    try:
        msgspec.json.decode(text, type=of.record)
    except msgspec.DecodeError:
        return False
    return True


def write(release: Iterable[Drawn], folder: Path) -> None:
    """Write a release in place of the previous one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    grouped: dict[str, list[Drawn]] = defaultdict(list)
    for record in release:
        grouped[record.file].append(record)
    for file, drawn in grouped.items():
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        text = content_of(drawn)
        target.write_bytes(gzip.compress(text, 1) if target.suffix == ".gz" else text)


def content_of(drawn: list[Drawn]) -> bytes:
    """Return the content of a file with these records, in the layout of their entity's container."""
    texts = [record.text for record in drawn]
    match drawn[0].entity.container:
        case Container.DOCUMENT:
            return texts[0]
        case Container.LINES:
            end = "" if is_plain(drawn[0].path) else ","
            return b"".join(_line(text, end) for text in texts)
        case Container.TABLE:
            return _table(drawn)
        case Container.JSON_LINES:
            return b"".join(text.replace(b"\n", b" ") + b"\n" for text in texts)
        case Container.ENTRIES:
            members = (json.dumps(record.key).encode() + b": " + record.text for record in drawn)
            return b"{" + b",\n".join(members) + b"}"
        case Container.SPLITS:
            parts: dict[str | None, list[bytes]] = defaultdict(list)
            for record in drawn:
                parts[record.key].append(record.text)
            arrays = (json.dumps(key).encode() + b": [" + b",\n".join(of) + b"]" for key, of in parts.items())
            return b"{" + b",\n".join(arrays) + b"}"
        case _:
            return b"[" + b",\n".join(texts) + b"]"


def _table(drawn: list[Drawn]) -> bytes:
    """Return a CSV file of the records; a record that no line can hold is written as one value."""
    header = [each.encode_name for each in msgspec.structs.fields(drawn[0].entity.record)]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator_of(drawn[0].path))
    writer.writerow(header)
    for value in (json.loads(record.text) for record in drawn):
        cells = [value.get(name) for name in header] if isinstance(value, dict) else [None]
        writer.writerow(cells if all(isinstance(cell, str) for cell in cells) else [json.dumps(value)])
    return stream.getvalue().encode()


def _line(text: bytes, end: str) -> bytes:
    """Return the line of a record; a text that is not a value is written as it is."""
    value = json.loads(text)
    value = f"{value['value']}{end}" if isinstance(value, dict) and "value" in value else json.dumps(value)
    return " ".join(value.splitlines()).encode() + b"\n"
