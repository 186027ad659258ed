"""The Python API on a whole warehouse: dialogues, selections, exports, claims; also without the libraries of builds."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.api import dialogues as api_dialogues
from dialogue_warehouse.errors import counted
from dialogue_warehouse.reading import dialogue_parts
from tests.conftest import run_command


@pytest.fixture(scope="module")
def warehouse(sample_folder: Path) -> Iterator[dw.Warehouse]:
    """Return the warehouse of the embedded sample, open."""
    with dw.open(sample_folder) as warehouse:
        yield warehouse


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read few dialogues at once, so that the sample has many batches."""
    monkeypatch.setattr(api_dialogues, "BATCH_TURNS", 100)


def keys_of_each_corpus(warehouse: dw.Warehouse) -> list[str]:
    return [
        key for (key,) in warehouse.sql("select min(dialogue_key) from dim_dialogues group by corpus_id").fetchall()
    ]


def test_dialogue_is_what_show_prints(warehouse: dw.Warehouse, sample_folder: Path) -> None:
    for key in keys_of_each_corpus(warehouse):
        shown = run_command("show", key, "--json", "--warehouse", sample_folder)
        assert warehouse.dialogue(key).to_dict() == json.loads(shown.stdout)


def test_dialogues_are_read_in_their_order_whatever_the_batches(warehouse: dw.Warehouse, small_batches: None) -> None:
    selected = warehouse.dialogues()
    count = warehouse.sql("select count(*) from dim_dialogues").fetchall()[0][0]
    read = {dialogue.key: dialogue for dialogue in selected}
    assert tuple(read) == selected.keys
    assert len(read) == len(selected) == count
    for key in keys_of_each_corpus(warehouse):
        assert read[key] == warehouse.dialogue(key)
    turns = warehouse.sql("select dialogue_key, count(*) from fct_turns group by all").fetchall()
    assert {key: len(dialogue.turns) for key, dialogue in read.items() if dialogue.turns} == dict(turns)


def test_dialogues_of_a_closed_warehouse_say_so(sample_folder: Path) -> None:
    with dw.open(sample_folder) as warehouse:
        selected = warehouse.dialogues(sample=2)
        read = list(selected)
    with pytest.raises(dw.InputError, match="the warehouse of these dialogues is closed"):
        next(iter(selected))
    with pytest.raises(dw.InputError, match="is closed"):
        read[0].messages()
    assert read[0].to_dict()["key"] == read[0].key


def test_warehouse_can_be_closed_while_its_dialogues_are_read(sample_folder: Path, small_batches: None) -> None:
    threads = threading.active_count()
    with dw.open(sample_folder) as warehouse:
        reading = iter(warehouse.dialogues())
        read = next(reading)
    with pytest.raises(dw.InputError, match="the warehouse of these dialogues is closed"):
        list(reading)
    assert read.to_dict()["key"] == read.key
    assert threading.active_count() == threads


def test_dialogues_that_were_read_are_not_kept(warehouse: dw.Warehouse, small_batches: None) -> None:
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    most = 0
    for dialogue in warehouse.dialogues():
        alive.add(dialogue)
        most = max(most, len(alive))
    assert most <= 2


def parts_of(part: Any) -> Iterator[Any]:
    """Yield everything that a dialogue holds."""
    yield part
    if isinstance(part, tuple):
        inside = list(part)
    elif isinstance(part, dialogue_parts.Part):
        inside = [getattr(part, name) for name in part.__struct_fields__]
    elif isinstance(part, Mapping):
        inside = list(part.values())
    elif dataclasses.is_dataclass(part):
        inside = [getattr(part, one.name) for one in dataclasses.fields(part)]
    else:
        inside = []
    for one in inside:
        yield from parts_of(one)


def changes_of(name: str) -> list[Callable[[Any], object]]:
    """Return every way to change a mapping that has a name."""
    return [
        lambda one: one.__setitem__(name, "other"),
        lambda one: one.__delitem__(name),
        lambda one: one.__ior__({name: "other"}),
        lambda one: one.update({name: "other"}),
        lambda one: one.setdefault("other", None),
        lambda one: one.pop(name),
        lambda one: one.popitem(),
        lambda one: one.clear(),
    ]


def test_mappings_cannot_be_changed_and_every_part_is_hashable(warehouse: dw.Warehouse) -> None:
    (key,) = warehouse.sql("select min(candidates_key) from fct_candidates").fetchall()[0]
    dialogues = [*warehouse.dialogues(), warehouse.dialogue(key)]
    mappings = [part for dialogue in dialogues for part in parts_of(dialogue) if isinstance(part, Mapping) and part]
    assert any(isinstance(value, tuple) for mapping in mappings for value in mapping.values())
    for mapping in (mappings[0], mappings[-1]):
        name = next(iter(mapping))
        for change in changes_of(name):
            with pytest.raises(TypeError, match=r"this mapping is immutable; dict\(…\) returns a mutable copy"):
                change(mapping)
        assert dict(mapping) == mapping
        assert {mapping: 1}[pickle.loads(pickle.dumps(mapping))] == 1
        assert copy.deepcopy(mapping) == mapping
    assert len({part for dialogue in dialogues for part in parts_of(dialogue)}) > len(dialogues)
    assert dialogues[-1].to_dict()["mark"]["row"]["candidates_key"] == key


def test_no_part_of_a_dialogue_can_be_changed(warehouse: dw.Warehouse) -> None:
    kinds = set()
    for dialogue in warehouse.dialogues():
        for part in parts_of(dialogue):
            assert not isinstance(part, list | set)
            if isinstance(part, dialogue_parts.Part) and type(part) not in kinds:
                with pytest.raises(AttributeError):
                    setattr(part, part.__struct_fields__[0], None)
            kinds.add(type(part))
        with pytest.raises(AttributeError):
            dialogue.key = "other"
    assert {dw.Turn, dw.Act, dw.Span, dw.State, dw.Call, dw.CallResult, dw.Answer, dw.Participant} <= kinds


def test_defects_are_those_of_the_table(warehouse: dw.Warehouse) -> None:
    expected = warehouse.sql(
        "select dialogue_key, count(*) from violations where kind = 'defect' and dialogue_key is not null group by all"
    ).fetchall()
    found = {dialogue.key: len(dialogue.defects) for dialogue in warehouse.dialogues() if dialogue.defects}
    assert expected
    assert found == dict(expected)


def test_dialogue_has_its_source_and_can_be_pickled_and_copied(warehouse: dw.Warehouse) -> None:
    key = keys_of_each_corpus(warehouse)[0]
    dialogue = warehouse.dialogue(key)
    (place,) = rows(warehouse.sql("from core.source_of($key)", key=key))
    source = dialogue.source
    assert [source.source_file_id, source.record_index] == [place["source_file_id"], place["record_index"]]
    assert place["json_pointer"] == source.record_pointer
    for other in (pickle.loads(pickle.dumps(dialogue)), copy.deepcopy(dialogue)):
        assert (other, hash(other)) == (dialogue, hash(dialogue))
        with pytest.raises(dw.InputError, match="has no warehouse; read it from an open one"):
            other.messages()
    assert repr(dialogue) == f"<Dialogue {key}: {counted(len(dialogue.turns), 'turn')}>"


def test_row_of_a_dialogue_is_marked(warehouse: dw.Warehouse) -> None:
    (key,) = warehouse.sql("select min(slot_key) from fct_slots where annotation_type = 'span'").fetchall()[0]
    mark = warehouse.dialogue(key).mark
    assert mark is not None
    assert (mark.key, mark.table) == (key, "core.fct_slots")
    with pytest.raises(dw.TraceError, match="no row has the key 'nothing'"):
        warehouse.dialogue("nothing")


def corpora(warehouse: dw.Warehouse) -> list[str]:
    return [name for (name,) in warehouse.sql("select corpus_id from dim_corpora order by 1").fetchall()]


def test_selection_has_the_words_of_the_commands(warehouse: dw.Warehouse) -> None:
    name, other = corpora(warehouse)[:2]
    query = "select dialogue_key from dim_dialogues where corpus_id in ($a, $b) and split = 'train' and turn_count > 5"
    expected = {key for (key,) in warehouse.sql(query, a=name, b=other).fetchall()}
    assert set(warehouse.dialogues(corpus=(name, other), split="train", where="turn_count > 5").keys) == expected
    sound = set(warehouse.dialogues(without_defects="here").keys)
    query = """
        select dialogue_key from annotation_risk where defects_here > 0
        union select dialogue_key from violations where kind = 'defect' and dialogue_key is not null
    """
    assert set(warehouse.dialogues().keys) - sound == {key for (key,) in warehouse.sql(query).fetchall()}
    assert not any(dialogue.defects for dialogue in warehouse.dialogues(without_defects="from-then-on"))
    sample = warehouse.dialogues(sample=3, seed=7)
    assert len(sample) == 3
    assert repr(warehouse.dialogues(corpus=name, sample=1)) == f"<Dialogues: 1 dialogue of {name}>"


def test_dialogues_are_selected_by_key_and_read_by_position(warehouse: dw.Warehouse) -> None:
    keys = warehouse.dialogues().keys
    asked = [keys[7], keys[2], keys[5]]
    selected = warehouse.dialogues(keys=asked)
    assert [dialogue.key for dialogue in selected] == list(selected.keys) == asked
    assert (selected[0], selected[-1]) == (warehouse.dialogue(asked[0]), warehouse.dialogue(asked[2]))
    assert (selected[1:].keys, len(selected[:0]), list(selected[3:])) == (tuple(asked[1:]), 0, [])
    assert warehouse.dialogues(keys=asked[0]).keys == (asked[0],)
    assert {example["id"] for example in selected.examples()} == {
        example["id"] for key in asked for example in warehouse.dialogue(key).examples()
    }
    with pytest.raises(IndexError):
        selected[3]
    with pytest.raises(dw.InputError, match=r"a position is a number; `dialogue` reads the dialogue of a key"):
        selected[asked[0]]  # ty: ignore[invalid-argument-type]


def test_only_the_dialogues_of_given_keys_are_exported(warehouse: dw.Warehouse, tmp_path: Path) -> None:
    keys = [next(iter(warehouse.dialogues(corpus=name)[0].turns)).key for name in corpora(warehouse)[:2]]
    asked = [key.rpartition("/")[0] for key in keys]
    written = warehouse.export("huggingface", tmp_path, keys=asked, where="turn_count > 0")
    assert sum(file.counts["dialogues"] for file in written if not file.is_copy) == len(asked)
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert all(f"''{key}''" in page or f"'{key}'" in page for key in asked)
    assert "--keys" not in page


def test_order_of_the_keys_changes_nothing_in_the_files(warehouse: dw.Warehouse, tmp_path: Path) -> None:
    """In the second order, dialogues of a file are apart."""
    asked = [key for name in corpora(warehouse)[:2] for key in warehouse.dialogues(corpus=name, sample=3).keys]
    for form in ("chat", "huggingface"):
        first = warehouse.export(form, tmp_path / form, keys=asked)
        assert warehouse.export(form, tmp_path / form, keys=asked[::-2] + asked[::2]) == first  # or it is refused


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"corpus": "none"}, r"^corpus: the published warehouse has no corpus 'none'; it has "),
        ({"license": ["none"]}, r"^license: the published warehouse has no license 'none'; it has "),
        ({"split": "dev"}, r"^split: there is no split 'dev'; there are train, validation, test, none$"),
        ({"where": "nothing > 1"}, r"^where: .*nothing"),
        ({"where": "1; select 1"}, r"^where: "),
        ({"without_defects": True}, r"^without_defects: True is not one of 'here', 'from-then-on'$"),
        ({"keys": "none"}, r"^keys: no row has the key 'none'; a key of this build begins with "),
        ({"keys": []}, r"^keys: the list is empty; use None for no limit$"),
        ({"keys": 1}, r"^keys: 1 is not a string$"),
        ({"corpus": b"sgd"}, r"^corpus: b'sgd' is not a string$"),
        ({"where": 1}, r"^where: 1 is not a string$"),
        ({"where": "random() < 1"}, r"^where: random\(\) can .* has sample=N and seed=S$"),
        ({"seed": "1"}, r"^seed: '1' is not a number$"),
        ({"seed": 1}, r"^seed: has no effect without sample=N$"),
        ({"without_leaks": "no"}, r"^without_leaks: 'no' is not one of False, True$"),
        ({"sample": 0}, r"^sample: 0 is not a number of dialogues$"),
        ({"corpus": [1]}, r"^corpus: 1 is not a string$"),
        ({"where": "false"}, r"^no dialogue of the published warehouse matches the selection$"),
    ],
)
def test_wrong_word_of_a_selection_is_named(warehouse: dw.Warehouse, words: dict[str, Any], error: str) -> None:
    with pytest.raises(dw.InputError, match=error) as raised:
        warehouse.dialogues(**words)
    assert "\n" not in str(raised.value)


def test_examples_are_what_the_command_exports(
    warehouse: dw.Warehouse, sample_folder: Path, tmp_path: Path, small_batches: None
) -> None:
    options = ("--form", "chat", "--targets", "weight", "--quiet", "--warehouse", sample_folder)
    assert run_command("export", *options, "--to", tmp_path / "by_command").returncode == 0
    written = warehouse.export("chat", tmp_path / "by_python", targets="weight")
    by_command, by_python = (
        {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        for folder in (tmp_path / "by_command", tmp_path / "by_python")
    )
    assert by_python == by_command
    assert {one.path for one in written} == {name.as_posix() for name in by_command if name.suffix == ".jsonl"}
    lines = [
        json.loads(line) for name in by_command if name.suffix == ".jsonl" for line in by_command[name].splitlines()
    ]
    by_id = {line["id"]: line for line in lines}
    assert {example["id"]: example for example in warehouse.dialogues().examples(targets="weight")} == by_id
    for key in keys_of_each_corpus(warehouse):
        dialogue = warehouse.dialogue(key)
        examples = dialogue.examples(targets="weight")
        assert examples == [by_id[example["id"]] for example in examples]
        assert dialogue.messages(targets="weight") == (examples[0]["messages"] if examples else [])


def test_examples_have_the_order_of_the_dialogues(warehouse: dw.Warehouse) -> None:
    by_split = warehouse.dialogues(corpus="sgd").keys
    for keys in (by_split, by_split[::-7]):
        found = [example["source"]["dialogue_key"] for example in warehouse.dialogues(keys=keys).examples()]
        assert list(dict.fromkeys(found)) == list(keys)


def test_wrong_option_of_a_form_is_named(warehouse: dw.Warehouse, tmp_path: Path) -> None:
    with pytest.raises(dw.InputError, match=r"^there is no form 'parrot'; there are "):
        warehouse.export("parrot", tmp_path)
    with pytest.raises(dw.InputError, match=r"^colour: the form chat has no such option; it has arguments, "):
        warehouse.export("chat", tmp_path, colour="red")
    with pytest.raises(dw.InputError, match=r"^profile: 'wild' is not one of 'faithful', 'alternating'$"):
        warehouse.dialogues().examples(profile="wild")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda warehouse, _: warehouse.dialogue(None), r"^key: None is not a string$"),
        (lambda warehouse, _: warehouse.sql(1), r"^text: 1 is not a string$"),
        (lambda warehouse, _: warehouse.table(None), r"^name: None is not a string$"),
        (lambda warehouse, _: warehouse.table("nothing_like_it"), r"'nothing_like_it'; tables\(\) lists all tables$"),
        (lambda warehouse, _: warehouse.describe(1), r"^name: 1 is not a string$"),
        (lambda warehouse, _: warehouse.claims(corpus="none"), r"^corpus: there is no corpus 'none'; there are "),
        (lambda warehouse, _: warehouse.violations(corpus="none"), r"^corpus: there is no corpus 'none'; there are "),
        (lambda warehouse, _: warehouse.violations(rule=1), r"^rule: 1 is not a string$"),
        (
            lambda warehouse, _: warehouse.violations(rule="none"),
            r"'none'; violations\(summary=True\) lists all rules$",
        ),
        (lambda warehouse, _: warehouse.search(None), r"^said: None is not a string$"),
        (lambda warehouse, _: warehouse.search("yes", most=0), r"^most: 0 is not a number from 1 on$"),
        (lambda warehouse, file: warehouse.export("chat", file), r"^to: \S+file is a file, not a folder$"),
        (lambda warehouse, file: warehouse.export("chat", file / "below"), r"^to: \S+file is a file, not a folder$"),
        (lambda warehouse, _: warehouse.export("chat", None), r"^to: None is not a path$"),
        (
            lambda warehouse, file: warehouse.export("chat", file.parent / "new", max_characters="true"),
            r"^max_characters: 'true' is not a number from 1 on$",
        ),
        (
            lambda warehouse, file: warehouse.export("chat", file.parent / "new", instructions="yes"),
            r"^instructions: 'yes' is not one of False, True$",
        ),
        (lambda warehouse, file: warehouse.score("none", file), r"^corpus: there is no corpus 'none'; there are "),
        (lambda warehouse, _: warehouse.score("sgd", None), r"^predictions: None is not a path$"),
        (lambda warehouse, file: warehouse.score("sgd", file), r"^sgd: split is missing; there are train, "),
        (
            lambda warehouse, file: warehouse.score("abcd", file, split="test", across_turn=True),
            r"^abcd: across_turn: no metric is multiplied across a turn$",
        ),
    ],
)
def test_wrong_argument_is_named_in_words_of_python(
    warehouse: dw.Warehouse, tmp_path: Path, use: Callable[[Any, Path], object], error: str
) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(dw.InputError, match=error) as raised:
        use(warehouse, tmp_path / "file")
    assert "\n" not in str(raised.value)
    assert not re.search(r"--[a-z]|DIALOGUE_", str(raised.value))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_folder_that_cannot_be_written_is_named(warehouse: dw.Warehouse) -> None:
    with pytest.raises(dw.CheckError, match=r"^/proc/none\S*: \w+") as raised:
        warehouse.export("chat", "/proc/none", sample=1)
    assert "\n" not in str(raised.value)


def test_file_that_would_be_overwritten_is_named_with_the_argument(warehouse: dw.Warehouse, tmp_path: Path) -> None:
    warehouse.export("chat", tmp_path, sample=5)
    with pytest.raises(dw.InputError, match=r"nothing was written; force=True overwrites existing files$"):
        warehouse.export("chat", tmp_path, sample=6)
    assert warehouse.export("chat", tmp_path, sample=6, force=True)


def rows(relation: Any) -> list[dict[str, Any]]:
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def test_claims_and_violations_are_those_of_the_commands(warehouse: dw.Warehouse, sample_folder: Path) -> None:
    name = corpora(warehouse)[0]
    shown = json.loads(run_command("claims", "--json", "--corpora", name, "--warehouse", sample_folder).stdout)
    assert [row["claim_id"] for row in rows(warehouse.claims(corpus=name))] == [row["claim_id"] for row in shown]
    shown = json.loads(run_command("violations", "--json", "--warehouse", sample_folder).stdout)
    found = msgspec.to_builtins(rows(warehouse.violations()))
    assert found == shown
    assert warehouse.violations(rule=shown[0]["rule_id"]).fetchall()
    assert {row["verdict"] for row in rows(warehouse.claims(verdict="refuted"))} <= {"refuted"}
    assert rows(warehouse.claims(unexpected=True)) == [
        row for row in rows(warehouse.claims()) if row["is_as_recorded"] is False
    ]
    summary = rows(warehouse.violations(summary=True))
    assert {row["rule_id"] for row in found} <= {row["rule_id"] for row in summary}
    with pytest.raises(dw.InputError, match="there is no rule 'none'"):
        warehouse.violations(rule="none")
    first = rows(warehouse.claims())[0]
    assert rows(warehouse.claims(claim=first["claim_id"])) == [first]
    with pytest.raises(dw.InputError, match="there is no claim 'none'"):
        warehouse.claims(claim="none")


def test_search_finds_what_the_command_finds(warehouse: dw.Warehouse, sample_folder: Path) -> None:
    for said in ("restaurant", '"looking for"', "restau*"):
        options = ("--limit", "20", "--split", "train")
        printed = run_command("search", said, *options, "--json", "--warehouse", sample_folder)
        found = rows(warehouse.search(said, most=20, split="train"))
        assert found == json.loads(printed.stdout)
        assert found and all("[" in row["utterance"] for row in found)
    with pytest.raises(dw.InputError, match="the search has no word"):
        warehouse.search("?")
    with pytest.raises(dw.InputError, match=r"^corpus"):
        warehouse.search("restaurant", corpus="nowhere")


def test_notebook_shows_a_warehouse_and_a_dialogue(warehouse: dw.Warehouse, sample_folder: Path) -> None:
    summary = warehouse._repr_html_()
    assert all(f">{name}</td>" in summary for name in corpora(warehouse))
    assert "generated" in summary
    key = keys_of_each_corpus(warehouse)[0]
    page = run_command("show", key, "--html", "--warehouse", sample_folder).stdout
    shown = warehouse.dialogue(key)._repr_html_()
    assert shown.partition("</style>")[2].strip() in page
    assert warehouse.dialogue(key).to_html(page=True) == page
    assert warehouse.dialogue(key).to_html() == shown


def test_tables_and_selections_are_short_on_a_line_and_whole_in_a_notebook(warehouse: dw.Warehouse) -> None:
    tables, described = warehouse.tables(), warehouse.describe("fct_turns")
    assert re.fullmatch(r"<Tables: \d+ tables of core, analytics, quality>", repr(tables))
    assert re.fullmatch(r"<TableDescription core\.fct_turns: \d+ columns, key turn_key>", repr(described))
    assert len(str(tables).splitlines()) == len(tables)
    assert str(described).splitlines()[:2] == [f"core.fct_turns: {described.comment}", "key: turn_key"]
    for whole in (str(described), described._repr_html_()):
        assert all(column.column in whole for column in described.columns)
    assert all(f"{table.schema}.{table.table}" in tables._repr_html_() for table in tables)
    selected = warehouse.dialogues(sample=5)
    assert selected.keys[0] in selected._repr_html_()
    assert len(selected[:0]._repr_html_()) > 0


def test_closed_warehouse_shows_that_in_a_notebook(sample_folder: Path) -> None:
    with dw.open(sample_folder) as warehouse:
        pass
    assert warehouse._repr_html_() is None
    assert repr(warehouse) == f"<Warehouse {str(sample_folder)!r}, closed>"


WITHOUT = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {0!r}:
            raise ImportError(f"{{name}} is not installed")

sys.meta_path.insert(0, Refused())
import dialogue_warehouse as dw

with dw.open({1!r}) as warehouse:
    dialogues = warehouse.dialogues(sample=20)
    print(sum(len(dialogue.turns) for dialogue in dialogues) > 20, len(list(dialogues.examples())) > 0)
    print(len(warehouse.claims().fetchall()) > 0, len(warehouse.violations().fetchall()) > 0)
    print(len(warehouse.tables()) > 10, len(warehouse.describe("fct_turns").columns) > 10)
    print(len(next(iter(dialogues))._repr_html_()) > 100, len(warehouse._repr_html_()) > 100)
    print(len(warehouse.export("chat", {2!r}, sample=5)) > 0)
"""
REFUSED = ("dagster", "dbt", "great_expectations", "pyarrow", "pandas", "polars", "numpy", "pycurl", "sqlalchemy")


def test_api_works_without_the_libraries_of_builds_and_of_data_frames(sample_folder: Path, tmp_path: Path) -> None:
    code = WITHOUT.format(REFUSED, str(sample_folder), str(tmp_path / "exported"))
    ended = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (ended.stderr, ended.stdout.split()) == ("", ["True"] * 9)


def test_relations_become_data_frames(warehouse: dw.Warehouse) -> None:
    turns = warehouse.sql("select corpus_id, count(*) as turns from fct_turns group by all order by all")
    assert turns.df()["corpus_id"].tolist() == turns.pl()["corpus_id"].to_list()
    assert turns.to_arrow_table().num_rows == len(turns.fetchall())


def test_mappings_of_a_call_are_by_slot(warehouse: dw.Warehouse) -> None:
    calls = [call for dialogue in warehouse.dialogues() for turn in dialogue.turns for call in turn.calls]
    assert any(call.parameters for call in calls)
    assert all(isinstance(call.parameters, Mapping) for call in calls)
    assert all(len(result.values) == len(call.columns) for call in calls for result in call.results)


def test_words_of_python_are_checked_and_none_does_not_limit(warehouse: dw.Warehouse) -> None:
    with pytest.raises(dw.InputError, match=r"^verdict: 'wrong' is not one of 'reproduced', "):
        warehouse.claims(verdict="wrong")  # ty: ignore[invalid-argument-type]
    with pytest.raises(dw.InputError, match=r"^sample: '10' is not a number of dialogues$"):
        warehouse.dialogues(sample="10")  # ty: ignore[invalid-argument-type]
    assert warehouse.dialogues(split=None, corpus=None).keys == warehouse.dialogues().keys
    some = warehouse.dialogues(sample=3)
    assert all(key in some for key in some.keys)
    assert all(dialogue in some for dialogue in some)
    assert "no/such/key" not in some
