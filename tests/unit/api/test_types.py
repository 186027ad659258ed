"""Types and signatures of the Python API: a type checker knows them, `help` shows them, the docstrings name each parameter."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.reading import descriptions
from tests import python_reference

SCRIPT = """
from collections.abc import Mapping
from typing import assert_type

import duckdb

import dialogue_warehouse as dw


def read(warehouse: dw.Warehouse) -> None:
    assert_type(warehouse.build_id, str)
    assert_type(warehouse.sql("select $n", n=1), duckdb.DuckDBPyRelation)
    assert_type(warehouse.tables(), dw.Tables)
    assert_type(warehouse.tables()[0], dw.TableSummary)
    assert_type(warehouse.describe("fct_turns").columns, tuple[dw.ColumnDescription, ...])
    assert_type(warehouse.claims(corpus="a", verdict="refuted"), duckdb.DuckDBPyRelation)
    assert_type(warehouse.refresh(), bool)
    assert_type(warehouse.export("chat", "folder", split=["train"]), list[dw.Exported])
    dialogues = warehouse.dialogues(corpus=("a", "b"), without_defects="here")
    assert_type(dialogues.keys, tuple[str, ...])
    assert_type(dialogues[0], dw.Dialogue)
    assert_type(dialogues[:10], dw.Dialogues)
    for dialogue in dialogues:
        assert_type(dialogue, dw.Dialogue)
        assert_type(dialogue.source, dw.Source)
        assert_type(dialogue.defects, tuple[dw.Violation, ...])
        for turn in dialogue.turns:
            assert_type(turn.text, str | None)
            assert_type(turn.acts, tuple[dw.Act, ...])
            for call in turn.calls:
                assert_type(call.parameters, Mapping[str, str | None])


with dw.open("warehouse", memory_limit="1GB") as opened:
    assert_type(opened, dw.Warehouse)
    read(opened)
"""
WRONG = (
    ('warehouse.claims(corpus="a", verdict="refuted")', 'warehouse.claims(verdict="wrong")'),
    ("warehouse.refresh()", "warehouse.refreshed()"),
    ('without_defects="here"', "without_defects=True"),
    ("assert_type(turn.text, str | None)", "turn.text = 'other'"),
    ("assert_type(call.parameters, Mapping[str, str | None])", "call.parameters['slot'] = 'other'"),
    ('memory_limit="1GB"', "memory=1"),
)
PUBLIC: list[Callable[..., object]] = [
    dw.open,
    *(method for name, method in vars(dw.Warehouse).items() if inspect.isfunction(method) and name[0] != "_"),
    *(method for name, method in vars(dw.Dialogue).items() if inspect.isfunction(method) and name[0] != "_"),
    dw.Dialogues.examples,
]


def checked(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Return what the type checker says about a script, with all its rules."""
    (folder / "script.py").write_text(script)
    command = [
        sys.executable,
        "-m",
        "ty",
        "check",
        "--error",
        "all",
        "--output-format",
        "concise",
        "--python",
        sys.prefix,
    ]
    return subprocess.run(
        [*command, "--extra-search-path", CLONE, "script.py"], cwd=folder, capture_output=True, text=True, check=False
    )


def test_script_of_a_user_passes_the_type_checker(tmp_path: Path) -> None:
    ended = checked(tmp_path, SCRIPT)
    assert (ended.returncode, ended.stdout) == (0, "All checks passed!\n")


def test_wrong_use_is_found_by_the_type_checker(tmp_path: Path) -> None:
    script = SCRIPT
    for right, wrong in WRONG:
        assert right in script
        script = script.replace(right, wrong)
    lines = {
        int(line.split(":")[1])
        for line in checked(tmp_path, script).stdout.splitlines()
        if line.startswith("script.py")
    }
    wanted = {number for number, line in enumerate(script.splitlines(), 1) if any(wrong in line for _, wrong in WRONG)}
    assert lines >= wanted
    assert len(wanted) == len(WRONG)


def test_types_are_marked_as_part_of_the_package() -> None:
    assert (CLONE / "dialogue_warehouse" / "py.typed").is_file()


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.__qualname__)
def test_docstring_and_signature_have_every_parameter(public: Callable[..., object]) -> None:
    signature = inspect.signature(public)
    described = inspect.getdoc(public) or ""
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    assert all(one.annotation is not inspect.Parameter.empty for one in parameters)
    assert signature.return_annotation is not inspect.Signature.empty
    if len(parameters) > 1:
        assert all(one.name in described.partition("Parameters\n")[2] for one in parameters)


@pytest.mark.parametrize("name", [name for name in dw.__all__ if isinstance(getattr(dw, name), type)])
def test_every_field_is_described_by_itself_or_by_its_column(name: str) -> None:
    described = {
        field: text or python_reference.description_of(name, field)
        for field, (_, text) in python_reference.fields_of(getattr(dw, name)).items()
    }
    assert [field for field, text in described.items() if not text] == []
    declared = python_reference.FIELDS.get(name, {})
    assert {*declared.get("columns", {}), *declared.get("texts", {})} <= described.keys()


def never_none(name: str) -> set[str]:
    """Return the fields of a class that cannot be None although their column can be NULL; a tuple is empty then."""
    required = {
        f"{table}.{column['name']}"
        for table, model in descriptions.models().items()
        for column in model["columns"]
        if {"type": "not_null"} in column.get("constraints", [])
    }
    fields = python_reference.fields_of(getattr(dw, name))
    return {
        f"{name}.{field}"
        for field, column in python_reference.columns_of(name).items()
        if column not in required and not re.search(r"\bNone\b|^tuple\b", fields[field][0])
    }


def test_field_can_be_none_if_its_column_can_be_null() -> None:
    """Each corpus has a title, which its source.toml must have."""
    names = [name for name in python_reference.FIELDS if python_reference.fields_of(getattr(dw, name))]
    assert {field for name in names for field in never_none(name)} == {"Dialogue.corpus"}


def test_classes_of_the_list_of_fields_are_public() -> None:
    assert python_reference.FIELDS.keys() <= set(dw.__all__)


def test_types_that_a_public_signature_or_field_names_are_public() -> None:
    kinds = [kind for kind in (getattr(dw, name) for name in dw.__all__) if isinstance(kind, type)]
    texts = [kind for public in kinds for kind, _ in python_reference.fields_of(public).values()]
    texts += [str(inspect.signature(public)) for public in PUBLIC]
    named = {word for text in texts for word in re.findall(r"\b[A-Z][A-Za-z]+\b", text)}
    others = {"None", "True", "False", "Any", "Iterable", "Iterator", "Literal", "Mapping", "Path", "DuckDBPyRelation"}
    assert named - others - set(dw.__all__) == set()


def test_help_about_a_dialogue_describes_its_fields_and_those_of_its_parts() -> None:
    section = (inspect.getdoc(dw.Dialogue) or "").partition("Attributes\n----------\n")[2]
    described = re.findall(r"\w+", " ".join(re.findall(r"^\S.*$", section, re.M)))
    assert sorted(described) == sorted(python_reference.fields_of(dw.Dialogue))
    parts = {field for name in python_reference.GROUPS["Parts of a dialogue"] for field in fields_named(name)}
    words = set(re.findall(r"`(\w+)`", section))
    values = {
        "train",
        "validation",
        "test",
        "spoken",
        "written",
        "fill_form",
        "follow_guideline",
        "user",
        "system",
        "peer",
    }
    values |= {"unknown", "utterance", "action", "selection", "other", "added", "changed", "carried", "dropped"}
    values |= {"exact", "interrupted", "shortened", "broken"}
    assert words - values <= parts | set(described)
    assert values <= words


def fields_named(name: str) -> set[str]:
    return set(python_reference.fields_of(getattr(dw, name)))


def test_help_shows_the_signatures() -> None:
    assert pydoc.plain(pydoc.render_doc(dw.open)).startswith("Python Library Documentation: function open in module")
    text = pydoc.plain(pydoc.render_doc(dw.Warehouse))
    assert "Literal['reproduced', " in text or 'Literal["reproduced", ' in text
    assert "dialogues(" in text and "without_leaks: 'bool' = False" in text
    module = pydoc.plain(pydoc.render_doc(dw))
    assert "class Warehouse" in module and "PUBLIC" not in module and "open" in module
