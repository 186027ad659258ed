"""Any release of the published shape comes back: documents made at random within each schema, landed, modelled, rebuilt.

Each example is a whole release of all corpora with many odd documents; the models run without the audit. What a schema
refuses, keys it does not know, empty lists and strange texts are part of every example.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import inspect

from pipelines.building import dbt
from pipelines.corpora import registry
from pipelines.corpora.room import Container, Corpus, Entity
from pipelines.intake import raw_layer, releases
from pipelines.intake.lander import Lander
from pipelines.paths import WarehousePaths
from pipelines.proving import verifying
from pipelines.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore")

TEXTS = st.one_of(
    st.sampled_from(
        ["", " ", "a/b", "50%", "~1", "é😀", "\n\t", '"', "'", "\\", "\x00", "null", "1.10", "a.b.accept", "x" * 300]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
NAMES = st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1, max_size=8)
INTEGERS = st.one_of(st.integers(-3, 3), st.integers(-(2**31), 2**31 - 1))
UNIQUE = {
    # Lists of which the published format makes a mapping by name: a name twice would be no key.
    ("Service", "slots"): "name",
    ("Service", "intents"): "name",
}


def documents(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Values that a schema's type takes, as plain JSON; optional keys present or absent."""
    match kind:
        case inspect.Metadata():
            return documents(kind.type)
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
        case inspect.ListType():
            return st.lists(documents(kind.item_type), max_size=3)
        case inspect.DictType():
            return st.dictionaries(TEXTS, documents(kind.value_type), max_size=3)
        case inspect.UnionType():
            options = [documents(option) for option in kind.types]
            floats = [option for option in kind.types if isinstance(option, inspect.FloatType)]
            return st.one_of([documents(option) for option in floats] or options)
        case inspect.StructType(array_like=True):
            return st.tuples(*(documents(field.type) for field in kind.fields)).map(list)
        case inspect.StructType():
            required = {field.encode_name: field_documents(kind, field) for field in kind.fields if field.required}
            optional = {field.encode_name: field_documents(kind, field) for field in kind.fields if not field.required}
            return st.fixed_dictionaries(required, optional=optional).map(constants_of_the_release)
    raise TypeError(kind)


def field_documents(kind: inspect.StructType, field: inspect.Field) -> st.SearchStrategy[Any]:
    name = UNIQUE.get((kind.cls.__name__, field.name))
    if name is None:
        return documents(field.type)
    return documents(field.type).map(lambda items: list({item[name]: item for item in items}.values()))


def constants_of_the_release(record: dict[str, Any]) -> dict[str, Any]:
    """Make a random object keep most of the constants that its schema checks; some stay broken, and are refused."""
    if "actions" in record and "slots" in record and ("service_call" in record) != ("service_results" in record):
        record = {key: value for key, value in record.items() if key not in ("service_call", "service_results")}
    if "scenario_uuid" in record:
        record["scenario"]["uuid"] = record["scenario_uuid"]
    if "human" in record:
        record["human"] = list(dict.fromkeys(record["human"]))
    if "targets" in record:
        intent, step, action, values, rank = record["targets"]
        if step != "retrieve_utterance":
            record["candidates"], rank = [], -1
        record["targets"] = [intent, step, action, values if action is not None else [], rank]
    if "delexed" in record:
        record["original"] = [
            [turn["speaker"], text] for turn, text in zip(record["delexed"], record["original"] * 9, strict=False)
        ]
        record["original"] = [[speaker, str(text[1])] for speaker, text in record["original"]]
        record["delexed"] = record["delexed"][: len(record["original"])]
    return record


def files_of(corpus: Corpus) -> list[tuple[Entity, str]]:
    """One or two paths of each entity."""
    found: list[tuple[Entity, str]] = []
    for entity in corpus.entities:
        listed = [
            file.path for file in corpus.files if corpus.entity_of(file.path) is entity and not file.is_documentation
        ]
        found += [(entity, path) for path in listed[:2]]
    return found


@st.composite
def file_contents(draw: st.DrawFn, entity: Entity) -> Any:
    """The content of one file: records in the container's layout, some with unknown keys, some refused."""
    kind = inspect.type_info(entity.record)
    records = st.lists(documents(kind), max_size=6)

    def spoiled(values: list[Any]) -> list[Any]:
        for value in values:
            if isinstance(value, dict) and draw(st.integers(0, 5)) == 0:
                value[f"extra {draw(NAMES)}"] = draw(st.recursive(TEXTS | INTEGERS, st.lists, max_leaves=3))
        if draw(st.booleans()) and entity.container is not Container.DOCUMENT:
            values.insert(
                draw(st.integers(0, len(values))),
                draw(st.sampled_from([7, None, [], {"no": "record"}, [[[["deep"]]]]])),
            )
        return values

    match entity.container:
        case Container.ARRAY:
            values = spoiled(draw(records))
            if isinstance(kind, inspect.StructType) and kind.cls.__name__ == "Service":
                values = list(
                    {
                        value["service_name"]: value
                        for value in values
                        if isinstance(value, dict) and "service_name" in value
                    }.values()
                )
            return values
        case Container.ENTRIES:
            values = spoiled(draw(records))
            keys = draw(st.lists(TEXTS, min_size=len(values), max_size=len(values), unique=True))
            if entity.name == "ontology":
                for key, value in zip(keys, values, strict=True):
                    if isinstance(value, dict) and "id" in value:
                        value["id"] = f"service {key}"
            return dict(zip(keys, values, strict=True))
        case Container.SPLITS:
            return {key: spoiled(draw(records)) for key in draw(st.permutations(["train", "dev", "test"]))}
        case Container.LINES:
            lines = draw(st.lists(st.from_regex(r"[a-z0-9-]{1,9},?", fullmatch=True), max_size=5))
            return "".join(f"{line}\n" for line in lines)
        case _:
            return one_name_one_button(draw(documents(kind)))


def one_name_one_button(document: dict[str, Any]) -> dict[str, Any]:
    """A button stands in one group, a flow once in the list of flows."""
    seen: set[str] = set()
    for group, buttons in document["actions"].items():
        document["actions"][group] = {name: slots for name, slots in buttons.items() if name not in seen}
        seen |= set(buttons)
    document["values"]["non_enumerable"].pop("enumerable", None)
    return document


@st.composite
def whole_releases(draw: st.DrawFn) -> dict[str, Any]:
    """Path -> content of a release of every corpus."""
    return {
        f"{corpus.corpus_id}/{path}": draw(file_contents(entity))
        for corpus in registry.load_corpora()
        for entity, path in files_of(corpus)
    }


def write(release: dict[str, Any], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for path, content in release.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (
            content if isinstance(content, str) and path.endswith(".csv") else json.dumps(content, ensure_ascii=False)
        )
        target.write_bytes(gzip.compress(text.encode()) if path.endswith(".gz") else text.encode())


def build_models(source: Path, paths: Any) -> dict[str, int]:
    """Land and model a release, nothing more; how many records were set aside and kept."""
    paths.scratch_database.unlink(missing_ok=True)
    paths.scratch_staging.unlink(missing_ok=True)
    corpora, landed, lander = registry.load_corpora(), [], Lander(paths.raw, Settings())
    for corpus in corpora:
        own = lander.land(releases.find_release(corpus, source))
        raw_layer.link_raw(corpus, own, paths)
        landed += own
    raw_layer.write_catalog(corpora, landed, paths)
    manifest = dbt.parse(paths)  # a run leaves its own marks in a manifest
    results = dbt.build(manifest, paths, exclude=f"{dbt.AUDIT_TAG} resource_type:test")
    dbt.refuse_failures(results, paths)
    return {
        "records": sum(file.record_count for file in landed),
        "refused": sum(len(file.quarantine) for file in landed),
        "extras": sum(len(file.extras) for file in landed),
    }


def test_any_release_comes_back(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path / "warehouse")
    totals: dict[str, int] = {}

    @settings(
        max_examples=int(os.environ.get("DIALOGUE_EXAMPLES", "6")),
        deadline=None,
        database=None,
        derandomize="DIALOGUE_EXAMPLES" not in os.environ,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(whole_releases())
    def comes_back(release: dict[str, Any]) -> None:
        write(release, tmp_path / "source")
        for name, count in build_models(tmp_path / "source", paths).items():
            totals[name] = totals.get(name, 0) + count
        corpora = registry.corpus_ids()
        for result in verifying.verify_database(paths.scratch_database, tmp_path / "source", corpora, Settings()):
            assert result.is_equal, f"{result.source_file_id}: {result.first_difference}"

    comes_back()
    assert totals["records"] > 3 * totals["refused"] > 0
    assert totals["extras"] > 0


def test_documents_of_the_strategies_pass_the_schemas() -> None:
    """The generator is no idle one: most of what it makes for each entity is a record that the schema takes."""
    for corpus in registry.load_corpora():
        for entity in corpus.entities:
            taken: list[bool] = []
            collect_into(taken, entity)
            assert sum(taken) > len(taken) / 3, (corpus.corpus_id, entity.name)


def collect_into(taken: list[bool], entity: Entity) -> None:
    """Note of forty documents whether the schema takes them."""

    @settings(max_examples=40, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(documents(inspect.type_info(entity.record)))
    def collect(document: Any) -> None:
        try:
            msgspec.json.decode(json.dumps(document).encode(), type=entity.record)
            taken.append(True)
        except msgspec.DecodeError:
            taken.append(False)

    collect()
