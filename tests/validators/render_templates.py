"""Render exported chat messages with every chat template of TRL, and print what each template refuses or loses.

`python render_templates.py NAME=FOLDER,FOLDER...` prints a JSON object: the outcomes by template, name, form of the
arguments, and kind of example. Torch is not needed.

In a dialogue the same text occurs several times, for example the value of an argument in an utterance. Therefore each
text is replaced by a different one, so that a lost text is noticed.
"""

from __future__ import annotations

import copy
import json
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
import trl
from transformers.utils.chat_template_utils import render_jinja_template

Example = dict[str, Any]

TEMPLATES = {path.stem: path for path in (Path(trl.__file__).parent / "chat_templates").glob("*.jinja")}
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
ARGUMENTS = ("object", "string")
CALLS, TEXT_AND_CALL, TOOLS, TEXTS, NO_USER = "calls", "text and call", "tools", "texts", "no user"


def calls_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the functions that a message calls."""
    return [call["function"] for call in message.get("tool_calls", [])]


def kind(example: Example) -> str:
    """Return what an example has, or has not, that some templates do not expect."""
    if all(message["role"] != "user" for message in example["messages"]):
        return NO_USER
    if any(calls_of(message) and message["content"] for message in example["messages"]):
        return TEXT_AND_CALL
    if any(calls_of(message) for message in example["messages"]):
        return CALLS
    return TOOLS if example.get("tools") else TEXTS


def features(example: Example) -> set[tuple]:
    """Return what can matter to a template: the order of roles, empty texts, the kinds of values of arguments."""
    messages = example["messages"]
    roles = [message["role"] for message in messages]
    values = [type(value).__name__ for m in messages for call in calls_of(m) for value in call["arguments"].values()]
    empty = [f"empty {message['role']}" for message in messages if not message["content"] and not calls_of(message)]
    said = messages[roles[0] == "system" :]
    found = {
        ("first", said[0]["role"], bool(calls_of(said[0]))),
        ("system", roles[0] == "system"),
        ("last", roles[-1]),
        *pairwise(roles),
        *((each,) for each in (*values, *empty)),
    }
    return {(kind(example), *each) for each in found}


def chosen(folders: list[Path]) -> list[Example]:
    """Return examples that have all features of all examples: each has one that those before it lack."""
    seen: set[tuple] = set()
    found = []
    for path in (path for folder in folders for path in sorted(folder.rglob("*.jsonl"))):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            example = json.loads(line)
            if new := features(example) - seen:
                seen |= new
                found.append(example)
    return found


def with_other_texts(example: Example) -> tuple[Example, dict[str, list[str]]]:
    """Return the example with a different text at each place, and these texts by what they are."""
    example = copy.deepcopy(example)
    texts: dict[str, list[str]] = {"text": [], "text of a call": [], "argument": [], "result": []}

    def text(part: str) -> str:
        texts[part].append(f"{part.replace(' ', '-')}-{len(texts[part])}-")
        return texts[part][-1]

    for message in example["messages"]:
        if message["content"]:
            is_result = message["role"] == "tool"
            message["content"] = text("result" if is_result else "text of a call" if calls_of(message) else "text")
        for call in calls_of(message):
            call["arguments"] = {
                name: [text("argument") for _ in value] if isinstance(value, list) else text("argument")
                for name, value in call["arguments"].items()
            }
    return example, texts


def render(template: str, example: Example) -> str:
    """Return the text that a template makes of an example."""
    rendered = render_jinja_template(
        [example["messages"]], tools=example.get("tools") or None, chat_template=template, **TOKENS
    )
    return (rendered[0] if isinstance(rendered, tuple) else rendered)[0]


def outcomes(template: str, example: Example, arguments: str) -> Iterator[str]:
    """Return what is wrong with the rendered example: the error, or the parts that are lost."""
    as_exported = example
    example, texts = with_other_texts(example)
    calls = [call for message in example["messages"] for call in calls_of(message)]
    names = Counter(call["name"] for call in calls)
    quoted_twice = [json.dumps(json.dumps(call["arguments"]))[1:-1] for call in calls if call["arguments"]]
    of_python = [str(call["arguments"]) for call in calls if call["arguments"]]
    if arguments == "string":
        for call in calls:
            call["arguments"] = json.dumps(call["arguments"])
    try:
        if arguments == ARGUMENTS[0]:
            render(template, as_exported)
        rendered = render(template, example)
        if is_same_if_the_user_begins(template, example, rendered):
            yield "wrong: the first message is the user's"
    except (jinja2.TemplateError, TypeError) as error:
        yield f"refused: {error}"
        return
    yield from (f"lost: {part}" for part, each in texts.items() if any(text not in rendered for text in each))
    tools = {tool["function"]["name"] for tool in example.get("tools", [])}
    if any(name not in rendered for name in tools - names.keys()):
        yield "lost: tool"
    if any(rendered.count(name) < times for name, times in names.items()):
        yield "lost: name of a call"
    if any(text in rendered for text in quoted_twice):
        yield "wrong: the arguments are quoted twice"
    if any(text in rendered for text in of_python):
        yield "wrong: the arguments are not JSON"


def is_same_if_the_user_begins(template: str, example: Example, rendered: str) -> bool:
    """Return whether a template takes the first message of the assistant for one of the user."""
    first = next(place for place, message in enumerate(example["messages"]) if message["role"] != "system")
    message = example["messages"][first]
    if message["role"] != "assistant" or calls_of(message):
        return False
    other = copy.copy(example) | {"messages": [*example["messages"]]}
    other["messages"][first] = message | {"role": "user"}
    return render(template, other) == rendered


def report(named: dict[str, list[Path]]) -> dict[str, Any]:
    """Return the outcomes by template, name of the folders, form of the arguments, and kind of example."""
    examples = {name: chosen(folders) for name, folders in named.items()}
    found: dict[str, Any] = {}
    for name, path in sorted(TEMPLATES.items()):
        template = path.read_text(encoding="utf-8")
        found[name] = {
            folders: {arguments: outcomes_by_kind(template, of_folders, arguments) for arguments in ARGUMENTS}
            for folders, of_folders in examples.items()
        }
    return found


def outcomes_by_kind(template: str, examples: list[Example], arguments: str) -> dict[str, list[str]]:
    """Return the outcomes for each kind of example; `whole` if nothing is wrong."""
    found: dict[str, set[str]] = {}
    for example in examples:
        if arguments == ARGUMENTS[0] or any(map(calls_of, example["messages"])):
            found.setdefault(kind(example), set()).update([*outcomes(template, example, arguments)] or ["whole"])
    return {name: sorted(each) for name, each in found.items()}


if __name__ == "__main__":
    given = (argument.partition("=") for argument in sys.argv[1:])
    print(json.dumps(report({name: [*map(Path, folders.split(","))] for name, _, folders in given})))
