"""`export --form chat`: the messages are those of the files, the form is valid, and nothing is written by halves."""

from __future__ import annotations

import copy
import functools
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.common import files
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.sections import file_of
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.exporting import chat, writing
from dialogue_warehouse.exporting.chat import ChatOptions
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.selection import Selection, select_published
from dialogue_warehouse.settings import Settings
from tests import exported, fixtures
from tests.conftest import rows, run_command
from tests.integration.conftest import Exports
from tests.unit.published import snapshot

CORPORA = registry.corpus_ids()
SOURCES = ("sample", "real")
RECOUNT = Path(__file__).with_name("recount_messages.py")


@pytest.fixture
def con(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        yield con


@functools.cache
def recounted(releases: Path) -> dict[str, dict[str, list]]:
    """Return the expected messages of each corpus and example, which another process reads from the files."""
    command = [sys.executable, "-I", RECOUNT, releases]
    counted = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert counted.returncode == 0, counted.stderr
    return json.loads(counted.stdout)


def releases_of(source: str, request: pytest.FixtureRequest) -> Path:
    """Return the folder of the releases."""
    if source == "real":
        return request.getfixturevalue("real_corpora")
    return request.getfixturevalue("sample_folder") / "sample"


def with_values(message: tuple) -> list:
    """Return a message with the JSON value of its result instead of the text, if the text is JSON."""
    if message[0] != "call" or not message[3].startswith(("[", "{")):
        return [*message]
    return [*message[:3], json.loads(message[3])]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("corpus_id", CORPORA)
def test_messages_are_those_of_the_files(
    export: Exports, request: pytest.FixtureRequest, source: str, corpus_id: str
) -> None:
    """Every call, result and text of every example, and no other, as another process counts them."""
    releases = releases_of(source, request)
    if not (releases / corpus_id).is_dir():
        pytest.skip(f"no real files of {corpus_id}")
    if corpus_id not in fixtures.having("messages.py"):
        pytest.skip(f"{corpus_id} has the usual messages, and no second reading of them")
    examples = exported.examples(export(source), corpus_id)
    assert examples
    found = {example["id"]: [with_values(each) for each in exported.said(example)] for example in examples}
    assert found == recounted(releases)[corpus_id]


@pytest.mark.parametrize("profile", chat.PROFILES)
@pytest.mark.parametrize("corpus_id", CORPORA)
def test_form_is_valid(export: Exports, con: duckdb.DuckDBPyConnection, corpus_id: str, profile: str) -> None:
    """The schemas of the tools find the calls that lack a slot, which are known, and no other problem."""
    known = {
        key for (key,) in rows(con, "select row_key from quality.violations where rule_id = 'missing_required_slot'")
    }
    ids = set()
    for example in exported.examples(export("sample", "--profile", profile), corpus_id):
        found = exported.problems(example, profile == "alternating")
        lacking = [problem for problem in found if problem.endswith("is required")]
        assert found == lacking, example["id"]
        assert bool(lacking) == any(key.startswith(f"{example['source']['dialogue_key']}/") for key in known)
        ids.add(example["id"])
    assert len(ids) == len(exported.examples(export("sample", "--profile", profile), corpus_id))


def break_call(example: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> None:
    change(next(message for message in example["messages"] if "tool_calls" in message)["tool_calls"][0])


BROKEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "an unknown tool": lambda example: example["tools"].clear(),
    "a call without its result": lambda example: break_call(example, lambda call: call.update(id="call99999")),
    "a call of another form": lambda example: break_call(example, lambda call: call.update(id="no id")),
    "is not of type object": lambda example: break_call(example, lambda call: call["function"].update(arguments=[])),
    "is not a parameter": lambda example: break_call(
        example, lambda call: call["function"]["arguments"].update(other="x")
    ),
    "turn_keys": lambda example: example["source"]["turn_keys"].pop(),
    "keys": lambda example: example["messages"][0].update(content=None),
    "a system prompt is not the first": lambda example: example["messages"].append({"role": "system", "content": "x"}),
    "order": lambda example: example["messages"].pop(0),
}


@pytest.mark.parametrize("problem", BROKEN)
def test_broken_example_is_noticed(export: Exports, problem: str) -> None:
    of_files = exported.read(export("sample", "--profile", "alternating")).values()
    example = copy.deepcopy(
        next(
            example
            for of_file in of_files
            for example in of_file
            if any("tool_calls" in message for message in example["messages"][:-2])
        )
    )
    assert not any(problem in found for found in exported.problems(example, is_alternating=True))
    BROKEN[problem](example)
    assert any(problem in found for found in exported.problems(example, is_alternating=True))


def test_every_file_is_one_split_and_joins_with_the_warehouse(export: Exports, con: duckdb.DuckDBPyConnection) -> None:
    dialogues = {key: rest for key, *rest in rows(con, "select dialogue_key, corpus_id, split from core.dim_dialogues")}
    turns = dict(rows(con, "select turn_key, utterance from core.fct_turns"))
    for path, examples in exported.read(export("sample")).items():
        corpus_id, split = path.removesuffix(".jsonl").split("/")
        keys = [example["id"] for example in examples]
        assert keys == sorted(keys)
        for example in examples:
            source = example["source"]
            assert dialogues[source["dialogue_key"]] == [source["corpus_id"], source["split"]]
            assert (corpus_id, split) == (source["corpus_id"], source["split"] or "none")
            for message, keys_of_turns in zip(example["messages"], source["turn_keys"], strict=True):
                said = [turns[key] for key in keys_of_turns]
                assert message["role"] == "system" or len(said) == 1
                if message["role"] == "user":
                    assert message["content"] == said[0]


def test_alternating_joins_texts_and_counts_what_it_leaves_out(sample_folder: Path, tmp_path: Path) -> None:
    """Each turn of the faithful example is in the alternating one, or in a count."""
    counts = {}
    for profile in chat.PROFILES:
        written = write(sample_folder, tmp_path / profile, Selection(), ChatOptions(profile=profile))
        counts[profile] = {name: sum(one.counts[name] for one in written) for name in written[0].counts}
    faithful, alternating = counts["faithful"], counts["alternating"]
    left_out = ("said_before_user", "calls_without_answer", "said_after_answer")
    assert [faithful[name] for name in (*left_out, "joined")] == [0, 0, 0, 0]
    assert all(alternating[name] > 0 for name in (*left_out, "joined"))
    by_id = {
        profile: {
            example["id"]: example for of_file in exported.read(tmp_path / profile).values() for example in of_file
        }
        for profile in chat.PROFILES
    }
    assert by_id["alternating"].keys() < by_id["faithful"].keys()
    for key, example in by_id["alternating"].items():
        lines = [line for message in example["messages"] for line in message["content"].split("\n")]
        whole = [line for message in by_id["faithful"][key]["messages"] for line in message["content"].split("\n")]
        rest = iter(whole)
        assert all(line in rest for line in lines), key  # in the same order


def test_result_has_only_the_turn_of_its_call(export: Exports) -> None:
    """A message of `alternating` can have texts of other turns before its call; the result is not theirs."""
    joined = 0
    for examples in exported.read(export("sample", "--profile", "alternating")).values():
        for example in examples:
            keys = example["source"]["turn_keys"]
            for number, message in enumerate(example["messages"]):
                if message["role"] == "tool":
                    assert keys[number] == keys[number - 1][-1:]
                    joined += len(keys[number - 1]) > 1
    assert joined


def write(warehouse: Path, to: Path, selection: Selection, options: ChatOptions, **settings: Any) -> list[Any]:
    """Export in this process."""
    from dialogue_warehouse.common.progress import Reporter

    given = Settings(warehouse=warehouse, **settings)
    return writing.export_published(WarehousePaths(warehouse), given, selection, options, to, Reporter())


def test_file_has_the_same_bytes_on_every_run(
    export: Exports, sample_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with another number of threads, and in other batches."""
    monkeypatch.setattr(chat, "BATCH_TURNS", 100)
    write(sample_folder, tmp_path / "out", Selection(), ChatOptions(), threads=1)
    again = {path.relative_to(tmp_path / "out"): data for path, data in snapshot(tmp_path / "out").items()}
    first = export("sample")
    assert {path.relative_to(first): data for path, data in snapshot(first).items()} == again


def test_arguments_as_text_are_the_same(export: Exports) -> None:
    objects, texts = (exported.read(export("sample", "--arguments", form)) for form in chat.ARGUMENTS)
    count = 0
    for example in (example for of_file in texts.values() for example in of_file):
        for message in example["messages"]:
            for call in message.get("tool_calls", []):
                assert isinstance(call["function"]["arguments"], str)
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
                count += 1
    assert count
    assert objects == texts


@pytest.mark.parametrize(("key", "values"), [("weight", {0, 1}), ("train", {True, False})])
def test_turns_with_a_defect_are_not_targets(
    export: Exports, con: duckdb.DuckDBPyConnection, key: str, values: set
) -> None:
    risky = {key for (key,) in rows(con, "select turn_key from quality.annotation_risk where defects_here > 0")}
    seen = set()
    for example in (
        example for of_file in exported.read(export("sample", "--targets", key)).values() for example in of_file
    ):
        for message, turn_keys in zip(example["messages"], example["source"]["turn_keys"], strict=True):
            if message["role"] == "assistant":
                assert bool(message[key]) == (not risky & set(turn_keys))
                seen.add(message[key])
            else:
                assert message.get(key) == (None if key == "weight" else False)
    assert seen == values


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_instructions_are_the_system_prompt_on_request(export: Exports, corpus_id: str) -> None:
    """Without them the example is the same."""
    plain, with_prompt = (
        exported.examples(export("sample", *options), corpus_id) for options in ((), ("--instructions",))
    )
    text = file_of(registry.load_corpus(corpus_id), chat.MESSAGES_SQL, chat.USUAL).read_text(encoding="utf-8")
    for before, after in zip(plain, with_prompt, strict=True):
        added = [message for message in after["messages"] if message not in before["messages"]]
        assert all(message["role"] == "system" and len(message["content"]) > 100 for message in added)
        assert len(added) == ("'instructions' as role" in text)
        assert [message for message in after["messages"] if message not in added] == before["messages"]


def test_longer_examples_are_left_out_and_counted(sample_folder: Path, tmp_path: Path) -> None:
    all_of_them = write(sample_folder, tmp_path / "all", Selection(), ChatOptions())
    short = write(sample_folder, tmp_path / "short", Selection(), ChatOptions(max_characters=3000))
    before, after = (sum(one.counts["examples"] for one in written) for written in (all_of_them, short))
    left_out = sum(one.counts["examples_too_long"] for one in short)
    assert 0 < after < before
    assert before - after == left_out
    lengths = [
        sum(
            len(json.dumps(example.get(key, ""), ensure_ascii=False, separators=(",", ":")))
            for key in ("messages", "tools")
        )
        for of_file in exported.read(tmp_path / "short").values()
        for example in of_file
    ]
    assert len(lengths) == after
    assert max(lengths) <= 3002  # two characters for the text of an absent list


REASONS = {
    r"dialogues? without a message for this form": "dialogues_without_message",
    r"without an answer\b": "examples_without_answer",
    "longer ones?": "examples_too_long",
}
"""Maps how the progress calls what is left out, as a pattern, to the name of its number."""


@pytest.mark.parametrize(("kind", "longest"), [("sample", 10**9), ("sample", 2000), ("sample", 5), ("awkward", 10**9)])
def test_progress_says_how_many_examples_are_left_out_and_why(request, tmp_path: Path, kind: str, longest: int) -> None:
    folder = request.getfixturevalue(f"{kind}_folder")
    command = ("export", "--form", "chat", "--to", tmp_path / "printed", "--warehouse", folder)
    printed = run_command(*command, "--max-characters", longest).stderr
    written = write(folder, tmp_path / "counted", Selection(), ChatOptions(max_characters=longest))
    for reason, count in REASONS.items():
        found = [int(number.replace(",", "")) for number in re.findall(rf"([\d,]+) {reason}.* left out", printed)]
        assert sorted(found) == sorted(one.counts[count] for one in written if one.counts[count]), reason
    keys = [
        {example["source"]["dialogue_key"] for example in of_file}
        for of_file in exported.read(tmp_path / "counted").values()
    ]
    left = sum(one.counts["dialogues"] for one in written) - sum(map(len, keys))
    without_message = sum(one.counts["dialogues_without_message"] for one in written)
    assert without_message <= left
    assert without_message or kind == "sample"


def test_selection_limits_the_export(sample_folder: Path, tmp_path: Path) -> None:
    selection = Selection(splits=("train",), sample=25, seed=3)
    write(sample_folder, tmp_path / "out", selection, ChatOptions())
    keys = {
        example["source"]["dialogue_key"] for of_file in exported.read(tmp_path / "out").values() for example in of_file
    }
    chosen = select_published(WarehousePaths(sample_folder), Settings(warehouse=sample_folder), selection)
    assert keys <= {dialogue.key for dialogue in chosen}
    assert len(keys) >= 20
    assert {path.name for path in (tmp_path / "out").rglob("*.jsonl")} == {"train.jsonl"}


def test_existing_file_is_overwritten_only_on_request(sample_folder: Path, tmp_path: Path) -> None:
    to = tmp_path / "out"
    command = ("export", "--form", "chat", "--to", to, "--warehouse", sample_folder, "--split", "test")
    command = (*command, "--corpora", ",".join(CORPORA[:2]))
    first = run_command(*command)
    assert (first.returncode, run_command(*command).returncode) == (0, 0)
    assert "examples in " in first.stdout
    assert all(f"{path.parent.name}/{path.name} " in first.stderr for path in to.rglob("*.jsonl"))
    written = snapshot(to)
    edited = next(iter(written))
    edited.write_text("mine", encoding="utf-8")
    refused = run_command(*command)
    assert (refused.returncode, refused.stdout) == (2, "")
    (line,) = [line for line in refused.stderr.splitlines() if line.startswith("error: ")]
    assert line == (
        f"error: {edited}: exists and differs from the exported file; nothing was written; "
        "--force overwrites existing files"
    )
    assert snapshot(to) == written | {edited: b"mine"}
    assert run_command(*command, "--force", "--quiet").stderr == ""
    assert snapshot(to) == written


def test_files_of_another_export_are_named(sample_folder: Path, tmp_path: Path) -> None:
    """They stay, but a reader of all files of the folder must know."""
    to, command = tmp_path / "out", ("export", "--form", "chat", "--corpora", CORPORA[0], "--warehouse", sample_folder)
    assert "notice" not in run_command(*command, "--to", to).stderr
    (to / "notes").mkdir()
    (to / "notes" / "mine.txt").write_text("mine")
    left = [path for path in to.glob("*/*.jsonl") if path.name != "test.jsonl"]
    again = run_command(*command, "--to", to, "--split", "test", "--force").stderr
    assert f"notice: {min(left)}" in again
    assert again.count("not written by this export, and not removed\n") == 1
    assert all(path.is_file() for path in left)


def test_killed_export_leaves_no_visible_file_and_the_next_one_removes_the_rest(
    sample_folder: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "dialogue_warehouse", "export", "--form", "chat", "--to", tmp_path / "out"]
    with subprocess.Popen([*map(str, command), "--warehouse", str(sample_folder), "--quiet"]) as process:
        while process.poll() is None and not list(tmp_path.glob("out/.*/*/*.jsonl")):
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    (left,) = (tmp_path / "out").iterdir()
    assert left.name.startswith(".")
    write(sample_folder, tmp_path / "out", Selection(splits=("test",)), ChatOptions())
    assert [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")] == []


def test_two_exports_do_not_write_into_one_folder_at_once(sample_folder: Path, tmp_path: Path) -> None:
    with files.alone_in(tmp_path), pytest.raises(InputError) as refused:
        write(sample_folder, tmp_path, Selection(splits=("test",)), ChatOptions())
    reported = f"{tmp_path}: another export writes there; wait until it has ended, or name another folder"
    assert (str(refused.value), list(tmp_path.iterdir())) == (reported, [])


@pytest.mark.parametrize("name", ['it\'s "here" {x} %20 *', "\udcff", "-\n"])
def test_folder_may_have_any_name(export: Exports, sample_folder: Path, tmp_path: Path, name: str) -> None:
    write(sample_folder, tmp_path / name, Selection(corpora=CORPORA[:1], splits=("test",)), ChatOptions())
    (path, *_) = sorted((tmp_path / name).glob("*/*.jsonl"))
    assert path.read_bytes() == (export("sample") / path.relative_to(tmp_path / name)).read_bytes()


@pytest.mark.parametrize("place", ["out", "out/below", "out/corpus"])
def test_file_in_place_of_a_folder_is_named_in_one_line(sample_folder: Path, tmp_path: Path, place: str) -> None:
    file = tmp_path / "out"
    if place == "out/corpus":
        file = tmp_path / "out" / CORPORA[0]
        file.parent.mkdir()
    file.write_text("mine", encoding="utf-8")
    to = tmp_path / "out" if place == "out/corpus" else tmp_path / place
    command = ("export", "--form", "chat", "--to", to, "--warehouse", sample_folder, "--quiet")
    ended = run_command(*command, "--corpora", CORPORA[0])
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(rf"error: {re.escape(str(tmp_path))}/out\S*: .+\n", ended.stderr)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]


@pytest.mark.parametrize("place", ["out", "out/below", "out/corpus"])
def test_broken_link_in_place_of_a_folder_is_named_in_one_line(sample_folder: Path, tmp_path: Path, place: str) -> None:
    link, to = tmp_path / "out", tmp_path / place
    if place == "out/corpus":
        link, to = tmp_path / "out" / CORPORA[0], tmp_path / "out"
        to.mkdir()
    link.symlink_to("nowhere")
    with pytest.raises(InputError) as refused:
        write(sample_folder, to, Selection(corpora=CORPORA[:1]), ChatOptions())
    assert str(refused.value) == f"{link}: is a broken link, but a folder is needed there; nothing was written"
    assert list(tmp_path.rglob("*")) == [tmp_path / "out", *([link] if link.parent == to else [])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-- part: messages\nselect nothing from fct_turns", "nothing"),
        ("-- part: messages\nselect 1 as", "syntax error"),
        ("-- part: tools\nselect 1", "no query for messages"),
    ],
)
def test_wrong_query_of_a_corpus_names_its_file_and_writes_nothing(
    sample_folder: Path, tmp_path: Path, with_messages_sql: Callable[[str, str], None], text: str, message: str
) -> None:
    """The files of the corpora before it are not written either."""
    corpus_id = CORPORA[-1]
    with_messages_sql(corpus_id, text)
    with pytest.raises(registry.CorpusError, match=rf"\A{corpus_id}/{chat.MESSAGES_SQL}: .*{message}") as refused:
        write(sample_folder, tmp_path / "out", Selection(corpora=(CORPORA[1], corpus_id)), ChatOptions())
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("source", ["awkward", "defective"])
def test_odd_releases_are_exported_in_a_valid_form(export: Exports, source: str) -> None:
    """Releases with repeated ids, empty dialogues, unknown labels and refused records; only schemas may find something."""
    for profile in chat.PROFILES:
        found = exported.read(export(source, "--profile", profile))
        assert {path.partition("/")[0] for path in found} == set(CORPORA)
        for example in (example for of_file in found.values() for example in of_file):
            problems = exported.problems(example, profile == "alternating")
            assert [one for one in problems if not exported.CAUSED_BY_DATA.search(one)] == [], example["id"]


def test_messages_of_a_corpus_have_a_second_reading() -> None:
    """One corpus has the usual messages, so that they are compared with its files too."""
    own = [corpus for corpus in CORPORA if (registry.corpus_folder(corpus) / chat.MESSAGES_SQL).is_file()]
    assert set(own) < set(fixtures.having("messages.py"))
