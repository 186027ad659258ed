"""Landing never crashes: two thousand files per run, generated from each corpus's schema or damaged on purpose.

Each is landed or refused in one line that names it. No record is lost: each is a row or in quarantine, and one whose
value depends on its reader (equal keys, a number beyond a double) is in quarantine, as text. `DIALOGUE_SEED` gives the
files of a run again, `DIALOGUE_EXAMPLES` asks for more.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dialogue_warehouse.common.json_values import DEEPEST, pointer_token
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container, Corpus, Entity
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.releases import records
from dialogue_warehouse.storage.landed import Landed
from pipelines.ingestion import checking
from pipelines.ingestion.landing import LandingTask, land_file
from tests import fixtures
from tests.integration.mutations import mutate, pack
from tests.integration.random_releases import SEED, Drawing, Known, content_of, files_of
from tests.unit.item_files import ITEM, ITEMS, make_corpus

CASES = max(2000, 300 * int(os.environ.get("DIALOGUE_EXAMPLES", "0")))
GENERATED = 4
"""One of this many cases is generated from the schema, the others are damaged fixtures."""


class Repeated(dict):
    """Object with a repeated key."""


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return Repeated(pairs) if len({key for key, _ in pairs}) < len(pairs) else dict(pairs)


def depends_on_its_reader(value: Any, depth: int = 0) -> bool:
    """Return whether readers of JSON would return different values for it, or some of them none."""
    match value:
        case Repeated():
            return True
        case dict() | list():
            items = value.values() if isinstance(value, dict) else value
            return depth == DEEPEST or any(depends_on_its_reader(item, depth + 1) for item in items)
        case float():
            return math.isinf(value)
    return False


def records_of(entity: Entity, text: bytes) -> Iterator[tuple[str, Any]]:
    """Return pointer and value of each record, read by Python alone. Raises if Python cannot read the file."""
    if entity.container is Container.JSON_LINES:
        lines = text.decode("utf-8-sig").removesuffix("\n").split("\n")
        yield from ((f"/{at}", json.loads(line, object_pairs_hook=members)) for at, line in enumerate(lines))
        return
    whole = json.loads(text.decode("utf-8-sig"), object_pairs_hook=members)
    match entity.container:
        case Container.ARRAY:
            yield from ((f"/{index}", value) for index, value in enumerate(whole))
        case Container.ENTRIES if not isinstance(whole, Repeated):
            yield from ((f"/{pointer_token(key)}", value) for key, value in whole.items())
        case Container.SPLITS:
            for part, values in whole.items():
                yield from ((f"/{pointer_token(part)}/{index}", value) for index, value in enumerate(values))
        case Container.DOCUMENT:
            yield "", whole


NEEDED = {
    "set aside": "; the corpus's release/ in tests/fixtures needs a record that the schema refuses",
    "extras": "; the corpus's release/ in tests/fixtures needs a key or a column that the schema does not know",
}
"""Maps a result to the record that the hand-written release may lack if the result is rare."""


class Fuzz:
    """Lands file after file, and counts the results."""

    def __init__(self, folder: Path, corpus: Corpus) -> None:
        self.folder, self.corpus = folder, corpus
        self.outcomes: Counter[str] = Counter()

    def land(self, entity: Entity, path: str, text: bytes, data: bytes) -> None:
        """Land a file of these bytes; `text` is its unpacked content, if it is an archive."""
        file = self.folder / self.corpus.corpus_id / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        task = LandingTask(self.corpus, entity, self.folder / self.corpus.corpus_id, path, self.folder / "raw")
        try:
            landed = land_file(task)
        except InputError as error:
            assert str(error).startswith(f"{self.corpus.corpus_id}/{path}: ")
            assert len(str(error).splitlines()) == 1
            str(error).encode()
            self.outcomes["refused"] += 1
            return
        self.outcomes["landed"] += 1
        self.outcomes["set aside"] += bool(landed.quarantine)
        self.outcomes["extras"] += bool(landed.extras)
        self.compare(entity, text, landed)

    def compare(self, entity: Entity, text: bytes, landed: Landed) -> None:
        """Fail if a record is neither a row nor in quarantine, or is a row although its value is not certain."""
        parquet = self.folder / "raw" / landed.parquet
        assert pq.read_metadata(parquet).num_rows == landed.record_count - len(landed.quarantine)
        parquet.unlink()
        for row in (*landed.quarantine, *landed.extras):
            for value in row.values():
                str(value).encode()
        refused = {record["record_pointer"]: record["value"] for record in landed.quarantine}
        try:
            found = dict(records_of(entity, text))
        except (ValueError, AttributeError, RecursionError):
            return
        for pointer, value in found.items():
            if depends_on_its_reader(value):
                self.outcomes["uncertain"] += 1
                assert pointer in refused, f"{pointer} was landed: {text[:2000]!r}"
            if pointer in refused:
                self.outcomes["kept whole"] += 1
                assert refused[pointer] in text.decode("utf-8-sig"), f"{pointer} is not what was published"


@pytest.mark.parametrize("corpus_id", registry.corpus_ids())
def test_no_file_crashes_landing(
    corpus_id: str, generated_sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many files at once; in an earlier version, 248 of 2,028 files ended in an internal error."""
    print(f"DIALOGUE_SEED={SEED} gives these files again")
    monkeypatch.setattr(records, "TICK", 0)  # these files are not changed
    corpus = registry.load_corpus(corpus_id)
    fuzz = Fuzz(tmp_path, corpus)
    cases = CASES // len(registry.corpus_ids()) + 1
    damage(fuzz, cases - cases // GENERATED)
    generate(fuzz, generated_sample, cases // GENERATED + 1)
    assert sum(fuzz.outcomes[kind] for kind in ("landed", "refused")) >= cases
    kinds = ["landed", "refused", "set aside", "extras", "uncertain"]
    if all(entity.container in (Container.LINES, Container.TABLE) for entity in corpus.entities):
        kinds.remove("uncertain")  # a value of CSV is a text
    for kind in kinds:
        assert fuzz.outcomes[kind] > cases / 50, f"few {kind}: {dict(fuzz.outcomes)}{NEEDED.get(kind, '')}"


@pytest.mark.parametrize(
    ("reads", "error", "message"),
    [(json.loads, AssertionError, "/0 was landed"), (lambda text: 1 // 0, ZeroDivisionError, "division")],
    ids=["a value is lost", "an error of this project"],
)
def test_violation_of_the_property_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: Any, error: type[Exception], message: str
) -> None:
    """The failing twin of the property: landing as it was before, and landing that crashes."""
    fuzz = Fuzz(tmp_path, make_corpus(tmp_path, ITEMS))
    text = f'[{{"zz": 1, "text": "FIRST", {json.dumps(ITEM)[1:]}]'.encode()
    fuzz.land(ITEMS, "train/items.json", text, text)
    assert fuzz.outcomes == {"landed": 1, "set aside": 1, "extras": 0, "uncertain": 1, "kept whole": 1}
    monkeypatch.setattr(checking, "decode_exactly", reads)
    with pytest.raises(error, match=message):
        fuzz.land(ITEMS, "train/items.json", text + b" ", text + b" ")


def damage(fuzz: Fuzz, cases: int) -> None:
    """Land the fixture's files, with this many damages."""
    chance = random.Random(f"{SEED}/{fuzz.corpus.corpus_id}")
    release = fixtures.release_of(fuzz.corpus.corpus_id)
    listed = {file.path for file in fuzz.corpus.files}
    found = []
    for file in sorted(release.rglob("*")):
        path = file.relative_to(release).as_posix()
        path = path if path in listed else f"{path}.gz"
        entity = fuzz.corpus.entity_of(path)
        if entity is not None:
            found.append((entity, path, file.read_bytes()))
    weights = [max(len(text), 300) for *_, text in found]
    for _ in range(cases):
        entity, path, text = chance.choices(found, weights)[0]
        text = mutate(chance, text)
        fuzz.land(entity, path, text, pack(chance, text) if path.endswith(".gz") else text)


def generate(fuzz: Fuzz, sample: Path, cases: int) -> None:
    """Land this many files drawn at random from the types of the corpus's schema, half of them damaged."""
    chance = random.Random(f"{SEED}/{fuzz.corpus.corpus_id}/drawn")
    mend = fixtures.load_or_default(fuzz.corpus.corpus_id, "strategies")
    drawing = Drawing(fuzz.corpus, Known(fuzz.corpus, sample), mend, chance)
    files = files_of(fuzz.corpus)
    for entity, path in files:
        for _ in range(cases // len(files) + 1):
            text = content_of([*drawing.file(entity, path, chance.randint(1, 4))])
            text = mutate(chance, text) if chance.random() < 0.5 else text
            fuzz.land(entity, path, text, gzip.compress(text, mtime=0) if path.endswith(".gz") else text)
