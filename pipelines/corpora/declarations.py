"""Declarations in TOML, read and checked: what is wrong with one is told in a line with its file and entry."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from pipelines.errors import InputError

Text = Annotated[str, Meta(min_length=1)]
_Record = TypeVar("_Record", bound=Struct)


class DeclarationError(InputError):
    """A declaration cannot be used; one line with file and entry."""


def read_toml(path: Path, place: str) -> dict[str, Any]:
    """The document of a TOML file; `place` names it in errors. Raises DeclarationError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DeclarationError(f"{place}: is missing") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeclarationError(f"{place}: {error}") from None


def read_table(place: str, document: dict[str, Any], name: str) -> dict[str, Any]:
    """A table, empty where there is none. Raises DeclarationError."""
    value = document.get(name, {})
    if not isinstance(value, dict):
        raise DeclarationError(f"{place}: '{name}' is no table")
    return value


def read_array(place: str, document: dict[str, Any], name: str) -> list[Any]:
    """An array of tables, empty where there is none. Raises DeclarationError."""
    entries = document.get(name, [])
    if not isinstance(entries, list):
        raise DeclarationError(f"{place}: '{name}' is no array of tables")
    return entries


def label_of(entry: Any) -> str:
    """What an entry is called in errors."""
    return str(entry.get("id", "(no id)")) if isinstance(entry, dict) else "(no table)"


def convert(place: str, label: str, entry: Any, record: type[_Record]) -> _Record:
    """An entry as a record of this type. Raises DeclarationError."""
    try:
        return msgspec.convert(entry, record)
    except msgspec.ValidationError as error:
        raise DeclarationError(f"{place} {label}: {error}") from None


def refuse_duplicates(place: str, noun: str, names: list[str]) -> None:
    """Raise DeclarationError when a name occurs twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DeclarationError(f"{place} {twice[0]}: {noun} occurs twice")
