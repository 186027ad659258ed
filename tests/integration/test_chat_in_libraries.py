"""Exported chat messages are opened by the libraries that read them; what a library refuses is known and explained.

The libraries are in a separate environment (`make validators`). Where it is missing, the tests are skipped; in CI they
fail.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.exporting import chat
from dialogue_warehouse.paths import CLONE
from tests import exported, templates_page, validators
from tests.conftest import REAL_CORPORA, rows
from tests.integration.conftest import Exports

SOURCES = ("sample", "awkward", "defective", "real")
OLD_MISTRAL = "mistral v3"
MISTRAL = (OLD_MISTRAL, "mistral v7", "mistral v11", "mistral v13", "mistral v15")
LACKING = ("missing_required_slot", "incomplete_friend")
"""The rules that find what a call lacks: a required slot, or an attribute that the selected friend does not have."""

MARKED = ("--arguments", "string", "--targets", "weight", "--instructions")
"""Options that change how an example is written, and not what a library refuses."""

Refused = Callable[[str, str, str], list[tuple[str, str]]]


@pytest.fixture(scope="module")
def folders(export: Exports) -> dict[tuple[str, str], Path]:
    """Return the exports by source and profile; the real files only where they are available."""
    validators.python()
    there = [source for source in SOURCES if source != "real" or REAL_CORPORA.is_dir()]
    plain = {(source, profile): export(source, "--profile", profile) for source in there for profile in chat.PROFILES}
    return plain | {("sample", "marked"): export("sample", "--profile", "alternating", *MARKED)}


@pytest.fixture(scope="module")
def refused(folders: dict[tuple[str, str], Path]) -> Refused:
    """Return a function that returns what a check refuses of a source with a profile: ids and reasons."""
    report = validators.run("check_chat.py", *folders.values())

    def refused(source: str, profile: str, check: str) -> list[tuple[str, str]]:
        if (source, profile) not in folders:
            pytest.skip(f"no real data: {REAL_CORPORA} is not there")
        return [(key, reason) for key, reason in report[str(folders[source, profile])][check]]

    return refused


def examples(folder: Path) -> dict[str, exported.Example]:
    """Return all examples of an export by id."""
    return {example["id"]: example for of_file in exported.read(folder).values() for example in of_file}


@pytest.mark.parametrize("profile", chat.PROFILES)
@pytest.mark.parametrize("source", SOURCES)
def test_every_example_has_the_types_of_a_request(refused: Refused, source: str, profile: str) -> None:
    assert refused(source, profile, "types of openai") == []
    assert refused(source, profile, "schemas of tools") == []


@pytest.mark.parametrize("source", SOURCES)
def test_schemas_refuse_exactly_the_calls_that_lack_something(
    refused: Refused, request: pytest.FixtureRequest, source: str
) -> None:
    """As many calls of each dialogue as the rules find; all 137 files of SGD have 18 of them."""
    found = refused(source, "faithful", "arguments of calls")
    with duckdb.connect(str(request.getfixturevalue(f"{source}_folder") / "dialogues.duckdb"), read_only=True) as con:
        known = rows(
            con,
            "select dialogue_key, count(distinct row_key) from quality.violations"
            f" where rule_id = '{LACKING[0]}' group by all",
        )
        lacking = rows(con, f"select distinct dialogue_key from quality.violations where rule_id in {LACKING}")
    calls = Counter(key.partition("/variant/")[0] for key, _ in found)
    assert all(reason.endswith("is a required property") for _, reason in found)
    assert {key: calls[key] for key, _ in known} == dict(known)
    assert calls.keys() <= {key for (key,) in lacking}
    assert sorted(found) == sorted(refused(source, "alternating", "arguments of calls"))


def ends_with_the_assistant(example: exported.Example) -> bool:
    return example["messages"][-1]["role"] == "assistant" and len(example["messages"]) > 1


def is_text_or_call(message: dict[str, Any]) -> bool:
    """Return whether an assistant's message is a text or a call, and not both or neither."""
    return message["role"] != "assistant" or bool(message["content"]) != ("tool_calls" in message)


@pytest.mark.parametrize("profile", chat.PROFILES)
@pytest.mark.parametrize("source", SOURCES)
def test_mistral_refuses_what_does_not_end_with_the_assistant(
    refused: Refused, folders: dict[tuple[str, str], Path], source: str, profile: str
) -> None:
    """Every alternating example ends with the assistant. The oldest version also refuses text and call in one message."""
    found = {version: {key for key, _ in refused(source, profile, version)} for version in MISTRAL}
    of_source = examples(folders[source, profile])
    unended = {key for key, example in of_source.items() if not ends_with_the_assistant(example)}
    mixed = {key for key, example in of_source.items() if not all(map(is_text_or_call, example["messages"]))}
    assert found == {version: unended | (mixed if version == OLD_MISTRAL else set()) for version in MISTRAL}
    assert (unended == set()) == (profile == "alternating")


@pytest.mark.parametrize("source", SOURCES)
def test_llama_factory_skips_no_alternating_example(refused: Refused, source: str) -> None:
    assert refused(source, "alternating", "order of LLaMA-Factory") == []
    assert refused(source, "faithful", "order of LLaMA-Factory")


def test_other_options_change_nothing_that_is_refused(refused: Refused, folders: dict[tuple[str, str], Path]) -> None:
    marked, plain = (examples(folders["sample", profile]) for profile in ("marked", "alternating"))
    assert marked.keys() == plain.keys()
    assert marked != plain
    for check in ("types of openai", "schemas of tools", "arguments of calls", *MISTRAL, "order of LLaMA-Factory"):
        assert refused("sample", "marked", check) == refused("sample", "alternating", check)


def first(example: exported.Example, role: str) -> dict[str, Any]:
    return next(message for message in example["messages"] if message["role"] == role)


def first_call(example: exported.Example) -> dict[str, Any]:
    return next(message for message in example["messages"] if "tool_calls" in message)["tool_calls"][0]


BROKEN: dict[str, tuple[str, Callable[[exported.Example], object]]] = {
    "a role that no request has": ("types of openai", lambda example: first(example, "user").update(role="person")),
    "a user without a text": ("types of openai", lambda example: first(example, "user").update(content=None)),
    "a call without an id": ("types of openai", lambda example: first_call(example).pop("id")),
    "a tool without a name": ("types of openai", lambda example: example["tools"][0]["function"].pop("name")),
    "a type that JSON Schema lacks": (
        "schemas of tools",
        lambda example: example["tools"][0]["function"]["parameters"].update(type="dictionary"),
    ),
    "a tool twice": ("schemas of tools", lambda example: example["tools"].append(example["tools"][0])),
    "an argument of another type": (
        "arguments of calls",
        lambda example: first_call(example)["function"]["arguments"].update(
            dict.fromkeys(first_call(example)["function"]["arguments"], 1)
        ),
    ),
    "an unknown argument": (
        "arguments of calls",
        lambda example: first_call(example)["function"]["arguments"].update(other="x"),
    ),
    "an unknown tool": ("arguments of calls", lambda example: first_call(example)["function"].update(name="other")),
    **{
        f"a name with a blank, {version}": (
            version,
            lambda example: first_call(example)["function"].update(name="a name"),
        )
        for version in MISTRAL
    },
    "a call id of another form": (OLD_MISTRAL, lambda example: first_call(example).update(id="call-1")),
    "an assistant who begins": ("order of LLaMA-Factory", lambda example: example["messages"].pop(0)),
    "a user who ends": (
        "order of LLaMA-Factory",
        lambda example: example["messages"].append({"role": "user", "content": "Hi"}),
    ),
}


def test_broken_example_is_refused(folders: dict[tuple[str, str], Path], tmp_path: Path) -> None:
    """Each change is refused by its check, which accepts the example without the change."""
    of_sample = examples(folders["sample", "alternating"]).values()
    whole = next(
        each
        for each in of_sample
        if each["messages"][0]["role"] == "user" and any("tool_calls" in message for message in each["messages"])
        if all(map(is_text_or_call, each["messages"]))
        if all(call["function"]["arguments"] for m in each["messages"] for call in m.get("tool_calls", []))
    )
    changed = [whole | {"id": "whole"}]
    for name, (_, change) in BROKEN.items():
        example = copy.deepcopy(whole) | {"id": name}
        change(example)
        changed.append(example)
    (tmp_path / "x.jsonl").write_text("".join(f"{json.dumps(example)}\n" for example in changed), encoding="utf-8")
    report = validators.run("check_chat.py", tmp_path)[str(tmp_path)]
    found = {check: {key for key, _ in of_check} for check, of_check in report.items()}
    assert {name for name, (check, _) in BROKEN.items() if name not in found[check]} == set()
    assert all("whole" not in keys for keys in found.values())
    assert found.keys() == {check for check, _ in BROKEN.values()}


@pytest.fixture(scope="module")
def rendered(folders: dict[tuple[str, str], Path]) -> dict[str, templates_page.Template]:
    """Return what each chat template refuses or loses of all exports."""
    named = {
        profile: ",".join(str(folder) for (_, of_folder), folder in folders.items() if of_folder == profile)
        for profile in chat.PROFILES
    }
    return validators.run("render_templates.py", *(f"{name}={given}" for name, given in named.items()))


def test_table_of_templates_says_what_each_one_needs(rendered: dict[str, templates_page.Template]) -> None:
    """If a template changes, `python -m tests.templates_page WAREHOUSE` writes the table."""
    text = templates_page.PAGE.read_text(encoding="utf-8")
    assert templates_page.rewrite(text, rendered) == text
    assert len(rendered) > 40
    version = re.search(r"^trl==(\d+\.\d+)", (CLONE / "requirements-validators.lock").read_text(encoding="utf-8"), re.M)
    assert version and f"chat templates of TRL {version[1]}." in text
    other = {**rendered, "llama3_1": rendered["qwen3"]}
    assert templates_page.rewrite(text, other) != text


def test_templates_that_know_tools_render_objects_whole(rendered: dict[str, templates_page.Template]) -> None:
    """The usual form of an export is right for most of them, and no template loses a text of a faithful example."""
    faithful = {name: template["faithful"] for name, template in rendered.items()}
    whole = {name for name, forms in faithful.items() if forms["object"]["calls"] == ["whole"]}
    with_strings = {name for name, forms in faithful.items() if forms["string"]["calls"] == ["whole"]}
    assert len(whole) > 3 * len(with_strings) > 0
    assert with_strings < whole
    lost = {
        name for name, forms in faithful.items() if any("lost: text" in found for found in forms["object"].values())
    }
    assert all(templates_page.needs(rendered[name])[0] == "-" for name in lost)
