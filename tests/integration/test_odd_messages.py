"""Messages in any order, with any text and any name, become valid examples; a plain second reading expects each one.

A corpus gets a messages.sql that returns made-up messages, so that what no release has is tried too.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dialogue_warehouse.common.database import literal
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.sections import file_of
from dialogue_warehouse.exporting import chat, losses
from dialogue_warehouse.exporting.chat import ChatOptions
from dialogue_warehouse.lineage.restoring import open_core
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.selection import Selection, select_published
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from tests import exported, validators

CORPUS = registry.corpus_ids()[0]
TEXTS = ("Hi", "", " ", "a\nb", "\u2028", "\x85\x1c", "\x00", "\\", '"', "'", "é\U0001f600", "{% x %}", "</s>", "null")
NAMES = ("select", "", "a b", "a.b", "x" * 64, "x" * 65, "x" * 64 + "y", "é", "Ünï_cödé", "call\n", "1")
ARGUMENTS = (None, {}, {"a": "b"}, {"a": ["b", ""]}, {"": "\u2028"}, {"a b": "é"}, {"a": None})
"""Arguments of calls; None is NULL."""
ROLES = ("user", "assistant", "call", "system", "instructions", "other")


class Said(NamedTuple):
    """A row that the query of a corpus returns."""

    role: str
    content: str | None
    call_name: str | None
    arguments: dict[str, Any] | None


def made_up(number: int) -> list[Said]:
    """Return made-up messages of one example, the same ones for each number."""
    chance = random.Random(number)
    roles = chance.choices(ROLES, (6, 6, 5, 1, 1, 1), k=chance.randrange(9))
    return [
        Said(
            role,
            None if chance.random() < 0.05 else chance.choice(TEXTS),
            chance.choice(NAMES) if role == "call" else None,
            chance.choice(ARGUMENTS) if role == "call" else None,
        )
        for role in roles
    ]


EXAMPLES = {f"{number:03}": made_up(number) for number in range(400)}


def sql() -> str:
    """Return the messages.sql that returns the made-up messages, and every name as a tool."""
    said = [
        {"variant": name, "turn": turn, **row._asdict()}
        for name, rows in EXAMPLES.items()
        for turn, row in enumerate(rows)
    ]
    shape = '[{"variant": "varchar", "turn": "int", "role": "varchar", "content": "varchar", "call_name": "varchar", "arguments": "json"}]'
    properties = {name: {} for arguments in ARGUMENTS for name in arguments or ()}
    parameters = json.dumps({"type": "object", "properties": properties})
    tools = ", ".join(f"({place}, {literal(name)})" for place, name in enumerate((*NAMES, *NAMES)))
    return f"""-- part: messages
select batch.dialogue_key, said.variant, said.turn as turn_index, null as place, null as turn_key, said.role,
said.content, said.call_name, nullif(said.arguments, 'null'::json) as arguments
from (select min(dialogue_key) as dialogue_key from batch) as batch
cross join (select unnest(from_json({literal(json.dumps(said))}, '{shape}'), max_depth := 2)) as said
-- part: tools
select batch.dialogue_key, position, name, null as description, {literal(parameters)}::json as parameters
from batch cross join (values {tools}) as tools (position, name)
"""


def name_of(name: str) -> str:
    """Return the name of the tool in the export."""
    if exported.NAME.fullmatch(name):
        return name
    valid = "".join(letter if exported.NAME.fullmatch(letter) else "_" for letter in name)
    return f"{valid[:55]}_{hashlib.md5(name.encode()).hexdigest()[:8]}"


PROMPTS = ("system", "instructions")


def in_order(rows: list[Said]) -> tuple[list[str], list[Said]]:
    """Return the system prompts, which are before everything else, and the messages."""
    there = [row for row in rows if row.content is not None and row.role != "other"]
    return [row.content for row in there if row.role in PROMPTS], [row for row in there if row.role not in PROMPTS]


def kept(said: list[Said]) -> list[Said]:
    """Return what the profile `alternating` keeps, up to the last message of the assistant."""
    begin = next((place for place, row in enumerate(said) if row.role == "user"), len(said))
    found = []
    for place, row in enumerate(said):
        later = [each.role for each in said[place + 1 :] if each.role != "call"]
        is_unanswered = row.role == "call" and later[:1] == ["user"]
        if place >= begin and not is_unanswered:
            found.append(row)
    while found and found[-1].role == "user":
        found.pop()
    return found


def joined(said: list[Said]) -> Iterator[list[Said]]:
    """Return the rows of each message: consecutive ones of a side, up to a call."""
    message: list[Said] = []
    for row in said:
        if message and (message[-1].role == "call" or (message[-1].role == "user") != (row.role == "user")):
            yield message
            message = []
        message.append(row)
    if message:
        yield message


def expected(rows: list[Said], profile: str) -> list[tuple]:
    """Return the messages that an example must have; empty if it must be left out."""
    prompts, said = in_order(rows)
    messages = list(joined(kept(said))) if profile == "alternating" else [[row] for row in said]
    found: list[tuple] = [("system", "\n\n".join(filter(None, prompts)))] if prompts else []
    for message in messages:
        text = "\n".join(row.content for row in message if row.role != "call" and row.content)
        if message[-1].role == "call":
            found.append(("assistant", text, name_of(message[-1].call_name), message[-1].arguments or {}))
            found.append(("tool", message[-1].content))
        else:
            found.append((message[-1].role, text))
    if profile == "alternating" and found and found[-1][0] == "tool":
        found.pop()
    return found if any(role == "assistant" for role, *_ in found) else []


def messages_of(example: exported.Example) -> list[tuple]:
    """Return the messages of an exported example in the same form."""
    return [
        (message["role"], message["content"], *(list(call["function"].values()) if call else ()))
        for message in example["messages"]
        for call in message.get("tool_calls", [None])
    ]


@pytest.fixture(params=chat.PROFILES)
def written(
    request: pytest.FixtureRequest,
    sample_folder: Path,
    tmp_path: Path,
    with_messages_sql: Callable[[str, str], None],
) -> tuple[str, Path]:
    """Return a profile, and the folder with the file of the made-up messages."""
    with_messages_sql(CORPUS, sql())
    paths = WarehousePaths(sample_folder)
    dialogues = select_published(paths, Settings(warehouse=sample_folder), Selection((CORPUS,), sample=1))
    folder = tmp_path / "out"
    folder.mkdir()
    with open_core(builds.published_build(paths)[1], Settings()) as con:
        con.execute(losses.EXPORTED)
        options = ChatOptions(request.param, instructions=True)
        corpus = registry.load_corpus(CORPUS)
        chat.write(con, corpus, dialogues, folder / "x.jsonl", options, lambda text: None)
    return request.param, folder


def test_made_up_messages_are_written_as_a_second_reading_expects(written: tuple[str, Path]) -> None:
    profile, folder = written
    with (folder / "x.jsonl").open(encoding="utf-8") as lines:
        found = {example["id"][-3:]: example for example in map(json.loads, lines)}
    wanted = {name: expected(rows, profile) for name, rows in EXAMPLES.items()}
    assert {name: messages_of(example) for name, example in found.items()} == {k: v for k, v in wanted.items() if v}
    assert len(found) > 150
    tools = {tool["function"]["name"] for example in found.values() for tool in example["tools"]}
    assert tools == {name_of(name) for name in NAMES}
    assert len(tools) == len(NAMES) == len(next(iter(found.values()))["tools"])


def test_made_up_messages_are_accepted_by_the_libraries(written: tuple[str, Path]) -> None:
    """An alternating example by all of them; a faithful one has at least the types of a request."""
    profile, folder = written
    report = validators.run("check_chat.py", folder)[str(folder)]
    always = ("types of openai", "schemas of tools", "arguments of calls")
    accepting = [name for name in report if (profile == "alternating" and name != "mistral v3") or name in always]
    assert {name: report[name] for name in accepting} == {name: [] for name in accepting}


REPEATED = {
    "a value of a slot": (
        "dim_slots",
        "select * replace (list_concat(possible_values, possible_values) as possible_values) from core.dim_slots",
    ),
    "a service of a dialogue": (
        "dim_dialogue_services",
        "from core.dim_dialogue_services union all from core.dim_dialogue_services",
    ),
}


@pytest.mark.parametrize("what", REPEATED)
def test_what_a_release_lists_twice_is_once_in_the_tools(
    sample_folder: Path, tmp_path: Path, with_messages_sql: Callable[[str, str], None], what: str
) -> None:
    paths = WarehousePaths(sample_folder)
    dialogues = select_published(paths, Settings(warehouse=sample_folder), Selection(splits=("test",)))
    table, rows = REPEATED[what]
    sqls = {name: file_of(registry.load_corpus(name), chat.MESSAGES_SQL, chat.USUAL) for name in registry.corpus_ids()}
    (corpus_id,) = (name for name, path in sqls.items() if table in path.read_text(encoding="utf-8"))
    of_corpus = [dialogue for dialogue in dialogues if dialogue.corpus_id == corpus_id]
    file = tmp_path / "written.jsonl"

    def write() -> bytes:
        con.execute(losses.EXPORTED)
        chat.write(con, registry.load_corpus(corpus_id), of_corpus, file, ChatOptions(), lambda text: None)
        return file.read_bytes()

    with open_core(builds.published_build(paths)[1], Settings()) as con:
        once = write()
        con.execute(f"create table memory.twice as {rows}")
        text = sqls[corpus_id].read_text(encoding="utf-8")
        with_messages_sql(corpus_id, text.replace(f" {table} as ", " memory.twice as "))
        assert write() == once
    assert b'"enum"' in once
