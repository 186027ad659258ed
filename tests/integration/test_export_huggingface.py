"""`export --form huggingface`: the examples of `chat` as Parquet, described for `datasets`, and a page that is true."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.exporting import card, chat, huggingface, losses, writing
from dialogue_warehouse.exporting.chat import ChatOptions
from dialogue_warehouse.exporting.huggingface import AS_TEXT, HuggingFaceOptions
from dialogue_warehouse.exporting.preference import PreferenceOptions
from dialogue_warehouse.lineage.restoring import open_core
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.selection import Selection
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from tests import exported, validators
from tests.conftest import Once, rows, run_command
from tests.unit.published import snapshot

CORPORA = registry.corpus_ids()
SOURCES = ("sample", "awkward")
Export = Callable[[str, str], Path]
CLASSES: dict[str, type] = {"chat": ChatOptions, "huggingface": HuggingFaceOptions, "preference": PreferenceOptions}


def write(warehouse: Path, to: Path, selection: Selection, options: object, **settings: Any) -> list[Any]:
    """Export in this process."""
    given = Settings(warehouse=warehouse, **settings)
    return writing.export_published(WarehousePaths(warehouse), given, selection, options, to, Reporter())


@pytest.fixture(scope="module")
def form(once: Once, request: pytest.FixtureRequest) -> Export:
    """Return a function that exports a warehouse in a form once, and returns the folder."""

    def export(name: str, source: str) -> Path:
        warehouse = request.getfixturevalue(f"{source}_folder")
        return once(f"{name}_{source}", lambda to: write(warehouse, to, Selection(), CLASSES[name]()) and None)

    return export


@pytest.fixture(scope="module")
def page(form: Export) -> str:
    """Return the page of the sample."""
    return (form("huggingface", "sample") / card.CARD).read_text(encoding="utf-8")


def metadata_of(page: str) -> dict[str, Any]:
    """Return the metadata above the page."""
    return yaml.safe_load(page.split("---\n")[1])


def parquet(query: str, path: Path) -> list[tuple[Any, ...]]:
    """Return the rows of a query on a Parquet file, `{}`."""
    with duckdb.connect() as con:
        return con.execute(query.format(f"'{path}'")).fetchall()


@pytest.mark.parametrize("source", SOURCES)
def test_examples_are_those_of_the_form_chat(form: Export, source: str) -> None:
    """Also those with messages and tools as text."""
    lines = exported.read(form("chat", source))
    found = exported.read_splits(form("huggingface", source))
    for path, examples in lines.items():
        corpus_id, _, name = path.removesuffix(".jsonl").partition("/")
        assert found.pop(f"{corpus_id}/{name}.parquet") == examples
        assert found.pop(f"{corpus_id}{AS_TEXT}/{name}.parquet") == examples
    assert found == {}


@pytest.mark.parametrize("source", SOURCES)
def test_datasets_opens_every_config_with_the_rows_of_chat(form: Export, source: str) -> None:
    """At once and as a stream, with lists and with texts; `datasets` opens the files with preferences as JSON."""
    found = validators.run("load_datasets.py", *(form(name, source) for name in ("huggingface", "chat", "preference")))
    lines = {path: examples for path, examples in exported.read(form("chat", source)).items() if examples}
    names = ("all", *sorted({path.partition("/")[0] for path in lines}))
    assert {config: of["different"] for config, of in found["configs"].items()} == {
        f"{name}{end}": [] for end in ("", AS_TEXT) for name in names
    }
    for config, of in found["configs"].items():
        name = config.removesuffix(AS_TEXT)
        assert sum(of["rows"].values()) == sum(
            len(examples) for path, examples in lines.items() if name in ("all", path.partition("/")[0])
        )
    assert found["default"] == found["configs"]["all"]["rows"]
    for path, examples in exported.read(form("preference", source)).items():
        opened = found["preferences"][path]
        expected = (sorted(examples[0]), len(examples), examples[0])
        assert (opened["columns"], opened["rows"], opened["first"]) == expected


def test_description_in_the_file_is_that_of_its_columns(form: Export) -> None:
    """A column of JSON has the type JSON in the file; the files with texts need no description."""

    def type_of(feature: dict[str, Any]) -> str:
        match feature:
            case {"_type": "Value", "dtype": "string"}:
                return "VARCHAR"
            case {"_type": "Json"}:
                return "JSON"
            case {"_type": "List"}:
                return f"{type_of(feature['feature'])}[]"
        return f"STRUCT({', '.join(f'{name} {type_of(each)}' for name, each in feature.items())})"

    for path in form("huggingface", "sample").glob("*/*.parquet"):
        described = dict(parquet("select decode(key), decode(value) from parquet_kv_metadata({})", path))
        columns = {name: type_ for name, type_, *_ in parquet("describe select * from read_parquet({})", path)}
        if path.parent.name.endswith(AS_TEXT):
            assert described == {}
            assert (columns["messages"], columns["tools"]) == ("VARCHAR", "VARCHAR")
        else:
            features = json.loads(described["huggingface"])["info"]["features"]
            types = {name: type_.replace('"', "") for name, type_ in columns.items()}
            assert {name: type_of(feature) for name, feature in features.items()} == types


def test_groups_of_rows_are_small(form: Export) -> None:
    for path in form("huggingface", "sample").glob("*/*.parquet"):
        groups = parquet("select distinct row_group_id, row_group_num_rows from parquet_metadata({})", path)
        assert all(number <= huggingface.ROWS_OF_A_GROUP for _, number in groups)


def test_file_has_the_same_bytes_on_every_run(form: Export, sample_folder: Path, tmp_path: Path) -> None:
    """Also with another number of threads."""
    write(sample_folder, tmp_path / "out", Selection(), HuggingFaceOptions(), threads=1)
    first = form("huggingface", "sample")
    assert {path.relative_to(first): data for path, data in snapshot(first).items()} == {
        path.relative_to(tmp_path / "out"): data for path, data in snapshot(tmp_path / "out").items()
    }


def test_large_split_is_written_in_numbered_parts(
    form: Export, sample_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts of a split have its examples, in order, and the page and the ledger name each part."""
    monkeypatch.setattr(chat, "BATCH_TURNS", 100)
    written = write(sample_folder, tmp_path, Selection(), HuggingFaceOptions())
    splits = exported.read_splits(tmp_path)
    assert splits == exported.read_splits(form("huggingface", "sample"))
    parts = {path: len(examples) for path, examples in exported.read(tmp_path).items()}
    assert {one.path: one.counts["examples"] for one in written} == parts
    assert len(parts) > 4 * len(splits)
    for split in splits:
        of_split = sorted(path for path in parts if exported.PART.sub("", path) == split)
        stem, end = split.removesuffix(".parquet"), f"-of-{len(of_split):05}.parquet"
        assert of_split == [f"{stem}-{number:05}{end}" for number in range(len(of_split))]
    metadata = metadata_of((tmp_path / card.CARD).read_text(encoding="utf-8"))
    named = [path for config in metadata["configs"] for entry in config["data_files"] for path in entry["path"]]
    assert sorted(named) == sorted(2 * [path for path, examples in parts.items() if examples])


def test_parts_of_another_export_are_not_left_beside_those_of_this_one(
    sample_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are refused, or, with `force`, removed; a file of another split stays."""
    few, many = Selection(corpora=CORPORA[:1], splits=("test",)), Selection(corpora=CORPORA[:1])
    write(sample_folder, tmp_path, many, HuggingFaceOptions())
    before = snapshot(tmp_path)
    monkeypatch.setattr(chat, "BATCH_TURNS", 10)
    with pytest.raises(InputError, match=r"test-00000-of-00001\.parquet: is a part of another export"):
        write(sample_folder, tmp_path, few, HuggingFaceOptions())
    assert snapshot(tmp_path) == before
    given = Settings(warehouse=sample_folder)
    written = writing.export_published(
        WarehousePaths(sample_folder), given, few, HuggingFaceOptions(), tmp_path, Reporter(), force=True
    )
    left = {path for path in before if path.suffix == ".parquet" and not path.name.startswith("test-")}
    assert left
    assert set(tmp_path.glob("*/*.parquet")) == {tmp_path / one.path for one in written} | left


@pytest.mark.parametrize("folder", [CORPORA[0], f"{CORPORA[0]}{AS_TEXT}"])
def test_a_file_with_a_whole_split_is_not_left_beside_its_parts(
    sample_folder: Path, tmp_path: Path, folder: str
) -> None:
    """An earlier version wrote such files. A file whose name only begins with that of the split stays."""
    whole, other = (tmp_path / folder / name for name in ("test.parquet", "test-of-mine.parquet"))
    whole.parent.mkdir()
    whole.write_bytes(b"whole")
    other.write_bytes(b"other")
    before = snapshot(tmp_path)
    selection, options = Selection(corpora=CORPORA[:1], splits=("test",)), HuggingFaceOptions()
    with pytest.raises(InputError, match=rf"{folder}/test\.parquet: is a part of another export"):
        write(sample_folder, tmp_path, selection, options)
    assert snapshot(tmp_path) == before
    given = Settings(warehouse=sample_folder)
    written = writing.export_published(
        WarehousePaths(sample_folder), given, selection, options, tmp_path, Reporter(), force=True
    )
    assert set(tmp_path.glob("*/*.parquet")) == {tmp_path / one.path for one in written} | {other}


def test_every_file_is_in_its_config_and_in_that_of_all_corpora(form: Export, page: str) -> None:
    folder = form("huggingface", "sample")
    configs = {config["config_name"]: config for config in metadata_of(page)["configs"]}
    assert [name for name, config in configs.items() if config.get("default")] == ["all"]
    assert set(configs) == {f"{name}{end}" for name in ("all", *CORPORA) for end in ("", AS_TEXT)}
    for path in folder.glob("*/*.parquet"):
        relative = path.relative_to(folder).as_posix()
        every = f"all{AS_TEXT}" if path.parent.name.endswith(AS_TEXT) else "all"
        found = [
            (name, entry["split"])
            for name, config in configs.items()
            for entry in config["data_files"]
            if relative in entry["path"]
        ]
        split = exported.PART.sub("", path.name).removesuffix(".parquet")
        assert found == [(name, split) for name in configs if name in (every, path.parent.name)]


def test_one_corpus_is_the_default_config(sample_folder: Path, tmp_path: Path) -> None:
    write(sample_folder, tmp_path, Selection(corpora=CORPORA[:1]), HuggingFaceOptions())
    configs = metadata_of((tmp_path / card.CARD).read_text(encoding="utf-8"))["configs"]
    assert [(config["config_name"], config.get("default")) for config in configs] == [
        (CORPORA[0], True),
        (f"{CORPORA[0]}{AS_TEXT}", None),
    ]


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_page_promises_tools_only_if_an_example_has_some(sample_folder: Path, tmp_path: Path, corpus_id: str) -> None:
    """Regression: the page of a corpus without tools had the tag tool-calling."""
    write(sample_folder, tmp_path, Selection(corpora=(corpus_id,)), HuggingFaceOptions())
    page = (tmp_path / card.CARD).read_text(encoding="utf-8")
    has_tools = any("tools" in example for examples in exported.read(tmp_path).values() for example in examples)
    assert ("tool-calling" in metadata_of(page)["tags"]) == has_tools
    assert ("# Dialogues as chat messages with tools\n" in page) == has_tools


def test_export_without_an_example_has_no_configs(sample_folder: Path, tmp_path: Path) -> None:
    write(sample_folder, tmp_path, Selection(corpora=CORPORA[:1]), HuggingFaceOptions(max_characters=1))
    page = (tmp_path / card.CARD).read_text(encoding="utf-8")
    assert metadata_of(page)["configs"] == []
    assert metadata_of(page)["pretty_name"] == "Dialogues of no corpus"
    assert "**No example is in these files**" in page
    assert "A dialogue without messages gives\nno example" in page
    assert "load_dataset" not in page
    assert metadata_of(page)["size_categories"] == ["n<1K"]
    assert {len(examples) for examples in exported.read(tmp_path).values()} == {0}


def table(page: str, heading: str, number: int = 0) -> list[list[str]]:
    """Return the cells of a table below a heading, without those of its head."""
    below = page.partition(f"{heading}\n")[2]
    lines = re.findall(r"(?:^\|.*\|\n)+", below, re.M)[number].splitlines()
    return [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines[2:]]


def test_numbers_of_the_page_are_those_of_the_files(form: Export, page: str) -> None:
    folder = form("huggingface", "sample")
    counted = [
        [
            corpus_id,
            path.removesuffix(".parquet"),
            f"{len({example['source']['dialogue_key'] for example in examples}):,}",
            f"{len(examples):,}",
        ]
        for corpus_id in CORPORA
        for path, examples in exported.read_splits(folder / corpus_id).items()
    ]
    assert sorted(table(page, "## Load it")) == sorted(counted)
    ledger = json.loads((folder / losses.LEDGER).read_text(encoding="utf-8"))["corpora"]
    keys = {"dialogue_key", "corpus_id", "split", "turn_key"}
    for corpus_id in CORPORA:
        lost = table(page.partition("## What is lost")[2], f"### {corpus_id}")
        assert lost == [
            [
                each["table"],
                *(
                    f"{sum(column[fate] for column in each['columns'] if column['column'] not in keys):,}"
                    for fate in losses.FATES
                ),
            ]
            for each in ledger[corpus_id]["tables"]
        ]


def test_defects_of_the_page_are_those_of_the_exported_dialogues(form: Export, page: str, sample_folder: Path) -> None:
    keys = {
        example["source"]["dialogue_key"]
        for examples in exported.read(form("huggingface", "sample")).values()
        for example in examples
    }
    with duckdb.connect(str(sample_folder / "dialogues.duckdb"), read_only=True) as con:
        violations = rows(con, "select corpus_id, rule_id, dialogue_key from quality.violations where kind = 'defect'")
        risky = rows(con, "select corpus_id, dialogue_key from quality.annotation_risk where defects_here > 0")
        turns = rows(con, "select corpus_id, dialogue_key from core.fct_turns")
    defects: dict[tuple[str, str], list[str]] = {}
    for corpus_id, rule_id, key in violations:
        if key in keys:
            defects.setdefault((corpus_id, rule_id), []).append(key)
    shown = table(page, "## Known defects", 1)
    assert defects
    assert {(corpus_id, rule_id): (times, in_) for corpus_id, rule_id, _, times, in_ in shown} == {
        rule: (f"{len(found):,}", f"{len(set(found)):,}") for rule, found in defects.items()
    }
    assert all(title for _, _, title, *_ in shown)
    assert table(page, "## Known defects") == [
        [corpus_id, *(f"{sum(of == corpus_id and key in keys for of, key in found):,}" for found in (turns, risky))]
        for corpus_id in CORPORA
    ]


def test_generated_corpora_and_licenses_are_named(page: str, sample_folder: Path) -> None:
    with duckdb.connect(str(sample_folder / "dialogues.duckdb"), read_only=True) as con:
        licenses = rows(con, "select corpus_id, license from core.dim_corpora")
    for corpus_id, license_ in licenses:
        assert f"**{corpus_id} is generated.**" in page
        section = page.partition(f"### {corpus_id}\n")[2].partition("###")[0]
        assert f"- license: {license_}\n" in section
        assert license_ in page.partition("The licenses differ:")[2]
    assert set(metadata_of(page)["license"]) >= {"unknown"}


def test_command_of_the_page_writes_the_same_export(sample_folder: Path, tmp_path: Path) -> None:
    selection = Selection(
        corpora=CORPORA[:2], splits=("train", "test"), where="dialogue_key <> 'a `b` c'", without_leaks=True, sample=30
    )
    options = HuggingFaceOptions(profile="alternating", arguments="string", targets="train", max_characters=50_000)
    write(sample_folder, tmp_path / "DIR", selection, options)
    first = snapshot(tmp_path / "DIR")
    page = (tmp_path / "DIR" / card.CARD).read_text(encoding="utf-8")
    (block,) = (token for token in MarkdownIt().parse(page) if token.type == "fence" and not token.info)
    words = shlex.split(block.content)
    words[words.index("DIR")] = str(tmp_path / "again")
    completed = run_command(*words[1:], "--warehouse", sample_folder)
    assert completed.returncode == 0, completed.stderr
    again = snapshot(tmp_path / "again")
    assert {path.name: data for path, data in first.items()} == {path.name: data for path, data in again.items()}
    assert len(first) > 3


HOSTILE = (
    "<script>alert(1)</script>",
    "[press](javascript:alert(1)) ![x](http://127.0.0.1/x.png)",
    "a | b `c` *d* _e_ ~~f~~ \\| $x$",
    "line\n# heading\n\n---\n- item\n```\n",
    "<https://example.org> &lt;b&gt; \u202e \x1b[31m",
)


def tokens(page: str) -> Iterator[Token]:
    """Yield what Markdown makes of a page."""
    for token in MarkdownIt().enable(["table", "strikethrough"]).parse(page):
        yield token
        yield from token.children or ()


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_a_warehouse_are_shown_as_they_are(
    form: Export, page: str, sample_folder: Path, tmp_path: Path, text: str
) -> None:
    """The page has the same structure, whatever the texts are."""
    corpus_id = CORPORA[0]
    folder = form("huggingface", "sample")
    (tmp_path / corpus_id).mkdir()
    paths = [path.relative_to(folder).as_posix() for path in (folder / corpus_id).iterdir()]
    for path in paths:
        (tmp_path / path).write_bytes((folder / path).read_bytes())
    ledger = json.loads((folder / losses.LEDGER).read_text(encoding="utf-8"))
    ledger["corpora"] = {corpus_id: ledger["corpora"][corpus_id]}
    structures, shown = [], ""
    with open_core(builds.published_build(WarehousePaths(sample_folder))[1], Settings()) as con:
        for value in ("harmless", text):
            changed = ", ".join(f"$text as {name}" for name in ("title", "homepage", "license", "citation", "release"))
            con.execute(
                f"create or replace temp table dim_corpora as select * replace ({changed}) from core.dim_corpora",
                {"text": value},
            )
            card.write(con, tmp_path, paths, ledger, Selection())
            shown = (tmp_path / card.CARD).read_text(encoding="utf-8")
            structures.append([token.type for token in tokens(shown)])
    assert structures[0] == structures[1]
    assert "harmless" not in shown
    texts = [token.content for token in tokens(shown) if token.type == "inline"]
    assert not {"\x1b", "\u202e"} & set(shown)
    assert sum(card.plain(text) in content for content in texts) >= 5
    assert metadata_of(shown)["license"] == ["other"]
