"""Read exported chat messages with the libraries that are made for them, and print what each one refuses.

`python check_chat.py FOLDER...` prints a JSON object: for each folder and check the refused examples, `[id, reason]`.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from pydantic import TypeAdapter

MESSAGES = TypeAdapter(list[ChatCompletionMessageParam])
TOOLS = TypeAdapter(list[ChatCompletionFunctionToolParam])
WITHOUT_TOOLS = ("v1", "v2")
"""Versions of Mistral's tokenizers for models that know no tools."""


class Example:
    """A line of an exported file."""

    def __init__(self, line: str):
        value = json.loads(line)
        self.id: str = value["id"]
        self.messages: list[dict[str, Any]] = value["messages"]
        self.tools: list[dict[str, Any]] = value.get("tools", [])

    @cached_property
    def calls(self) -> list[dict[str, Any]]:
        """The called functions."""
        return [call["function"] for message in self.messages for call in message.get("tool_calls", [])]

    @cached_property
    def messages_with_text(self) -> list[dict[str, Any]]:
        """The messages with the arguments of a call as text, which the types of requests have."""
        messages = copy.deepcopy(self.messages) if self.calls else self.messages
        for message in messages:
            for call in message.get("tool_calls", []):
                if not isinstance(call["function"]["arguments"], str):
                    call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
        return messages

    @cached_property
    def request(self) -> ChatCompletionRequest:
        """The messages as a request to a model of Mistral."""
        return ChatCompletionRequest.from_openai(self.messages_with_text)


def types_of_openai(example: Example) -> None:
    """Check messages and tools by the types of requests."""
    read(MESSAGES.validate_python(example.messages_with_text, strict=True))
    read(TOOLS.validate_python(example.tools, strict=True))


def read(value: Any) -> None:
    """Read a value whole: pydantic checks the items of an `Iterable` only when they are read."""
    if isinstance(value, dict):
        for each in value.values():
            read(each)
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for each in value:
            read(each)


def schemas_of_tools(example: Example) -> Iterator[str]:
    """Check that the parameters of each tool are a JSON Schema, and that no name and no allowed value is there twice."""
    names = [tool["function"]["name"] for tool in example.tools]
    if len(names) != len(set(names)):
        yield "two tools have one name"
    for tool in example.tools:
        parameters = tool["function"]["parameters"]
        validator_of(json.dumps(parameters))
        allowed = [each.get("enum", []) for each in parameters.get("properties", {}).values()]
        if any(len(values) != len(set(values)) for values in allowed):
            yield f"{tool['function']['name']} allows one value twice"


@cache
def validator_of(schema: str) -> jsonschema.Draft202012Validator:
    """Return the validator of a JSON Schema, which refuses a name that is not a property, too."""
    parameters = json.loads(schema)
    for kind in (jsonschema.Draft7Validator, jsonschema.Draft202012Validator):
        kind.check_schema(parameters)
    return jsonschema.Draft202012Validator(parameters | {"additionalProperties": False})


def arguments_of_calls(example: Example) -> Iterator[str]:
    """Check the arguments of each call by the schema of its tool; a wrong call is one problem."""
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in example.tools}
    for call in example.calls:
        if call["name"] not in tools:
            yield f"{call['name']} is not a tool"
            continue
        arguments = json.loads(call["arguments"]) if isinstance(call["arguments"], str) else call["arguments"]
        errors = validator_of(json.dumps(tools[call["name"]])).iter_errors(arguments)
        if found := sorted(error.message for error in errors):
            yield "; ".join(found)


def mistral(version: TokenizerVersion) -> Callable[[Example], None]:
    """Return the check of requests for fine-tuning, for the models with a version of Mistral's tokenizers.

    Equal tools are checked once, because that takes most of the time.
    """
    validator = get_validator(version, ValidationMode.finetuning)

    @cache
    def check_tools(tools: str) -> None:
        user_and_assistant = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi"}]
        validator.validate_request(ChatCompletionRequest.from_openai(user_and_assistant, json.loads(tools)))

    def check(example: Example) -> None:
        check_tools(json.dumps(example.tools))
        validator.validate_request(example.request)

    return check


def order_of_llama_factory(example: Example) -> Iterator[str]:
    """Check the rule of LLaMA-Factory, which skips other examples silently.

    Consecutive results are one message, and results at the end are none. After the system prompt, messages at odd
    places are of the user or results, those at even places are of the assistant, and their number is even.
    """
    roles = [message["role"] for message in example.messages]
    said = roles[1:] if roles[0] == "system" else roles
    sides = [role for before, role in pairwise(["system", *said]) if (before, role) != ("tool", "tool")]
    while sides and sides[-1] == "tool":
        sides.pop()
    expected = (("user", "tool"), ("assistant",))
    if len(sides) % 2 or any(role not in expected[place % 2] for place, role in enumerate(sides)):
        yield f"order: {', '.join(roles)}"


CHECKS: dict[str, Callable[[Example], Iterable[str] | None]] = {
    "types of openai": types_of_openai,
    "schemas of tools": schemas_of_tools,
    "arguments of calls": arguments_of_calls,
    **{f"mistral {each.value}": mistral(each) for each in TokenizerVersion if each.value not in WITHOUT_TOOLS},
    "order of LLaMA-Factory": order_of_llama_factory,
}
REFUSALS = (ValueError, KeyError, jsonschema.SchemaError, MistralCommonException)


def problems(check: Callable[[Example], Iterable[str] | None], example: Example) -> Iterator[str]:
    """Return the problems that a check finds, or the first line of its error."""
    try:
        yield from check(example) or ()
    except REFUSALS as error:
        yield str(error).partition("\n")[0]


def report(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the refused examples of each check."""
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in CHECKS}
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            example = Example(line)
            for name, check in CHECKS.items():
                found[name] += [(example.id, problem) for problem in problems(check, example)]
    return found


if __name__ == "__main__":
    print(json.dumps({folder: report(Path(folder)) for folder in sys.argv[1:]}))
