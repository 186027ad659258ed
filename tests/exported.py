"""Exported files, read back and judged without the project."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CALL_ID = re.compile(r"[a-zA-Z0-9]{9}")
"""The narrowest rule for the id of a call that a library has."""
KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id", "name"},
}

CAUSED_BY_DATA = re.compile(r"an unknown tool|is required$|is not a parameter$|is not one of")
"""Problems of a call that its tool does not declare so: the release has such calls."""

PART = re.compile(r"-\d{5}-of-\d{5}(?=\.)")
"""The number of a part of a split, in the name of its file."""

Example = dict[str, Any]


def read(folder: Path) -> dict[str, list[Example]]:
    """Return the examples of each file of an export, in order."""
    return {path.relative_to(folder).as_posix(): list(_examples(path)) for path in _files(folder)}


def read_splits(folder: Path) -> dict[str, list[Example]]:
    """Return the examples of each split of an export, in order; parts of a split are joined, as `datasets` does."""
    found: dict[str, list[Example]] = {}
    for path, of_file in read(folder).items():
        found.setdefault(PART.sub("", path), []).extend(of_file)
    return found


def _files(folder: Path) -> list[Path]:
    """Return the files with examples below a folder, in order."""
    return sorted(path for path in folder.rglob("*") if path.suffix in (".jsonl", ".parquet"))


def _examples(path: Path) -> Iterator[Example]:
    """Yield the examples of a file. Messages and tools of a Parquet file are JSON as text, or in lists of texts."""
    if path.suffix == ".jsonl":
        yield from map(json.loads, path.read_text(encoding="utf-8").split("\n")[:-1])
        return
    with duckdb.connect() as con:
        found = con.execute("select id, messages, tools, source from read_parquet(?)", [str(path)])
        for id_, messages, tools, source in found.fetchall():
            example = {"id": id_, "messages": _parsed(messages), "source": source}
            yield example if tools is None else example | {"tools": _parsed(tools)}


def _parsed(value: str | list[str]) -> Any:
    return json.loads(value) if isinstance(value, str) else [json.loads(each) for each in value]


def examples(folder: Path, corpus_id: str) -> list[Example]:
    """Return the examples of a corpus."""
    return [example for path in _files(folder / corpus_id) for example in _examples(path)]


def said(example: Example) -> Iterator[tuple]:
    """Return the messages of an example as the fixtures of a corpus have them: a call together with its result."""
    for position, message in enumerate(example["messages"]):
        for call in message.get("tool_calls", []):
            answer = example["messages"][position + 1]
            yield "call", call["function"]["name"], call["function"]["arguments"], answer["content"]
        if message["role"] != "tool" and "tool_calls" not in message:
            yield message["role"], message["content"]


def problems(example: Example, is_alternating: bool = False) -> list[str]:
    """Return what is wrong with the form of an example, whatever its content is."""
    messages, found = example["messages"], []
    for number, message in enumerate(messages):
        role = message["role"]
        if not set(message) - {"weight", "train"} <= KEYS[role] or not isinstance(message["content"], str):
            found.append(f"message {number}: keys")
        if role == "system" and number:
            found.append(f"message {number}: a system prompt is not the first message")
        if role == "tool" and not messages[number - 1].get("tool_calls"):
            found.append(f"message {number}: a result without a call")
        for call in message.get("tool_calls", []):
            found += [f"message {number}: {problem}" for problem in _problems_of_call(example, number, call)]
    ids = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    if len(ids) != len(set(ids)):
        found.append("two calls have one id")
    if len(example["source"]["turn_keys"]) != len(messages):
        found.append("turn_keys")
    return found + (_problems_of_order([message["role"] for message in messages]) if is_alternating else [])


def _problems_of_call(example: Example, number: int, call: dict[str, Any]) -> Iterator[str]:
    function, answers = call["function"], example["messages"][number + 1 : number + 2]
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in example.get("tools", [])}
    if set(call) != {"id", "type", "function"} or call["type"] != "function" or not CALL_ID.fullmatch(call["id"]):
        yield "a call of another form"
    if answers and (answers[0].get("tool_call_id"), answers[0].get("name")) != (call["id"], function["name"]):
        yield "a call without its result"
    if not NAME.fullmatch(function["name"]) or function["name"] not in tools:
        yield f"an unknown tool {function['name']}"
        return
    arguments = function["arguments"]
    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    yield from mismatches(arguments, tools[function["name"]])


def mismatches(value: Any, schema: dict[str, Any]) -> Iterator[str]:
    """Return what contradicts a JSON Schema, by the keywords that the tools use. Other keywords are an error."""
    unknown = set(schema) - {"type", "properties", "required", "items", "description", "enum", "default"}
    assert unknown == set(), unknown
    kinds = {"object": dict, "array": list, "string": str}
    if not isinstance(value, kinds[schema["type"]]):
        yield f"{value!r} is not of type {schema['type']}"
    elif isinstance(value, dict):
        yield from (f"'{name}' is required" for name in schema["required"] if name not in value)
        yield from (f"'{name}' is not a parameter" for name in value if name not in schema["properties"])
        for name in value.keys() & schema["properties"].keys():
            yield from mismatches(value[name], schema["properties"][name])
    elif isinstance(value, list):
        for item in value:
            yield from mismatches(item, schema["items"])
    elif "enum" in schema and value not in schema["enum"]:
        yield f"'{value}' is not one of {schema['enum']}"


def _problems_of_order(roles: list[str]) -> list[str]:
    """Return what breaks the rule that user and assistant take turns; a result is on the user's side."""
    sides = ["user" if role == "tool" else role for role in roles if role != "system"]
    expected = [("user", "assistant")[number % 2] for number in range(len(sides))]
    return [] if sides == expected and sides[-1:] == ["assistant"] else [f"order: {roles}"]
