"""What is expected of the warehouse: a suite a corpus, from its claims.toml, and the suites of marts.toml.

Reads and checks the declarations, nothing more: Great Expectations is not imported here, so that whoever lists the
suites does not wait five seconds for it. `expectations.validation` runs them.

A declaration says what holds either with a type of Great Expectations and its `kwargs` (`rows` narrows it to the rows
with these values) or with `unexpected_rows`, plain DuckDB SQL that selects the rows which should not be there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from pipelines import registry

MARTS = Path(__file__).with_name("marts.toml")
CLAIMS = "claims.toml"

UNEXPECTED_ROWS = "expect_no_unexpected_rows"
"""Our own expectation type, for SQL; `expectations.validation` defines it. Its only argument is the query."""

IGNORES_ROWS = frozenset({"expect_column_pair_values_to_be_in_set"})
"""Types whose row condition Great Expectations 1.24 accepts and leaves out of the query: they would judge all rows."""

Severity = Literal["critical", "warning"]


class SuiteError(ValueError):
    """A declaration cannot be used; one line with file and claim."""


@dataclass(frozen=True)
class Expectation:
    """One thing that must hold of one table."""

    expectation_id: str
    """Unique in its suite; of a claim, the claim's id."""
    claim_id: str | None
    table: str
    """`<schema>.<table>`."""
    type: str
    kwargs: dict[str, Any]
    severity: Severity
    """critical: we are wrong, nothing is published; warning: the publication is."""
    description: str
    """What must hold, in a sentence."""
    why: str
    """Why it does, why it is checked in this form, and what it is not."""


@dataclass(frozen=True)
class Claim:
    """A statement about a corpus, and where it stands."""

    claim_id: str
    corpus_id: str
    quote: str
    document: str
    locator: str
    kind: Literal["count", "invariant"]


@dataclass(frozen=True)
class Suite:
    """Expectations that pass or fail together; never empty."""

    name: str
    expectations: tuple[Expectation, ...]


Text = Annotated[str, Meta(min_length=1)]
TableName = Annotated[str, Meta(pattern=r"^[a-z_]+\.[a-z_0-9]+$")]


class _Check(Struct, forbid_unknown_fields=True, kw_only=True):
    """What a claim and an expectation of the marts have in common."""

    id: Text
    severity: Severity
    description: Text
    why: Text
    type: Text | None = None
    kwargs: dict[str, Any] = {}
    rows: dict[str, str | list[str]] = {}
    unexpected_rows: Text | None = None


class _Claim(_Check, forbid_unknown_fields=True, kw_only=True):
    """An entry of `[[claims]]`."""

    table: TableName
    quote: Text
    document: Text
    locator: Text
    kind: Literal["count", "invariant"]


class _MartCheck(_Check, forbid_unknown_fields=True, kw_only=True):
    """An entry of marts.toml; `{table}` in its SQL stands for each of its tables."""

    tables: Annotated[list[TableName], Meta(min_length=1)]


class _Document(Struct, forbid_unknown_fields=True):
    """An entry of `[documents]`: what a claim's `document` refers to."""

    title: Text
    url: Text | None = None


_Record = TypeVar("_Record", bound=Struct)


def load_claims(corpus_id: str, folder: Path | None = None) -> tuple[Claim, ...]:
    """The claims of a room, as its documents make them."""
    return tuple(
        Claim(claim.id, corpus_id, claim.quote, claim.document, claim.locator, claim.kind)
        for claim in _read_claims(corpus_id, folder or registry.room_folder(corpus_id))
    )


def load_corpus_suite(corpus_id: str, folder: Path | None = None) -> Suite:
    """The suite of a room; it has the corpus's name. Raises SuiteError."""
    place = f"{corpus_id}/{CLAIMS}"
    return _suite(
        corpus_id,
        place,
        (
            _expectation(place, claim, claim.table, claim.id, claim.id)
            for claim in _read_claims(corpus_id, folder or registry.room_folder(corpus_id))
        ),
    )


def load_marts_suites(path: Path = MARTS) -> tuple[Suite, ...]:
    """The suites over all corpora: each array of marts.toml is one. Raises SuiteError."""
    document = _read_toml(path, path.name)
    if not document:
        raise SuiteError(f"{path.name}: has no suite")
    return tuple(_suite(name, path.name, _mart_expectations(path.name, entries)) for name, entries in document.items())


def load_suites(corpora: Iterable[str] | None = None) -> tuple[Suite, ...]:
    """The suites of these corpora (None: of every room) and those of the marts, under different names."""
    names = registry.corpus_ids() if corpora is None else tuple(corpora)
    suites = (*(load_corpus_suite(name) for name in names), *load_marts_suites())
    _refuse_duplicates(MARTS.name, "suite", [suite.name for suite in suites])
    return suites


def _read_claims(corpus_id: str, folder: Path) -> list[_Claim]:
    place = f"{corpus_id}/{CLAIMS}"
    document = _read_toml(folder / CLAIMS, place)
    unknown = sorted(document.keys() - {"documents", "claims"})
    if unknown:
        raise SuiteError(f"{place}: unknown key '{unknown[0]}'")
    documents = _table(place, document.get("documents", {}), "documents")
    for name, entry in documents.items():
        _convert(place, f"document {name}", entry, _Document)
    claims = [_convert(place, _label(entry), entry, _Claim) for entry in _array(place, document, "claims")]
    for claim in claims:
        if claim.document not in documents:
            raise SuiteError(f"{place} {claim.id}: document '{claim.document}' is not listed under [documents]")
    return claims


def _mart_expectations(place: str, entries: Any) -> Iterator[Expectation]:
    for entry in _array(place, {"": entries}, ""):
        check = _convert(place, _label(entry), entry, _MartCheck)
        for table in check.tables:
            name = table.partition(".")[2]
            identifier = check.id if len(check.tables) == 1 else f"{check.id}/{name}"
            yield _expectation(place, check, table, identifier, None)


def _expectation(place: str, check: _Check, table: str, identifier: str, claim_id: str | None) -> Expectation:
    """The expectation that a declaration describes for one table."""
    where = f"{place} {check.id}"
    if (check.type is None) == (check.unexpected_rows is None):
        raise SuiteError(f"{where}: needs either 'type' or 'unexpected_rows'")
    if check.unexpected_rows is not None:
        if check.kwargs or check.rows:
            raise SuiteError(f"{where}: 'kwargs' and 'rows' belong to a 'type', not to 'unexpected_rows'")
        query = check.unexpected_rows.strip().replace("{table}", table)
        if table not in query:
            raise SuiteError(f"{where}: 'unexpected_rows' does not read {table}")
        kind, kwargs = UNEXPECTED_ROWS, {"query": query}
    else:
        kind, kwargs = str(check.type), dict(check.kwargs)
        if "row_condition" in kwargs:
            raise SuiteError(f"{where}: write 'rows' instead of a row_condition in 'kwargs'")
        if check.rows and kind in IGNORES_ROWS:
            raise SuiteError(f"{where}: Great Expectations ignores 'rows' with {kind}; write 'unexpected_rows'")
        if check.rows:
            kwargs["row_condition"] = _row_condition(check.rows)
    return Expectation(identifier, claim_id, table, kind, kwargs, check.severity, check.description, check.why)


def _row_condition(rows: dict[str, str | list[str]]) -> dict[str, Any]:
    """Great Expectations' condition "these columns have these values", in the form in which it is stored."""
    conditions = [
        {
            "type": "comparison",
            "column": {"name": column},
            "operator": "IN" if isinstance(value, list) else "==",
            "parameter": value,
        }
        for column, value in rows.items()
    ]
    return conditions[0] if len(conditions) == 1 else {"type": "and", "conditions": conditions}


def _suite(name: str, place: str, expectations: Iterable[Expectation]) -> Suite:
    suite = Suite(name, tuple(expectations))
    if not suite.expectations:
        raise SuiteError(f"{place}: suite '{name}' is empty")
    _refuse_duplicates(place, "id", [expectation.expectation_id for expectation in suite.expectations])
    return suite


def _refuse_duplicates(place: str, noun: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SuiteError(f"{place} {twice[0]}: {noun} occurs twice")


def _read_toml(path: Path, place: str) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SuiteError(f"{place}: is missing") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SuiteError(f"{place}: {error}") from None


def _table(place: str, value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SuiteError(f"{place}: '{name}' is no table")
    return value


def _array(place: str, document: dict[str, Any], name: str) -> list[Any]:
    entries = document.get(name, [])
    if not isinstance(entries, list):
        raise SuiteError(f"{place}: '{name}' is no array of tables")
    return entries


def _label(entry: Any) -> str:
    return str(entry.get("id", "(no id)")) if isinstance(entry, dict) else "(no table)"


def _convert(place: str, label: str, entry: Any, record: type[_Record]) -> _Record:
    try:
        return msgspec.convert(entry, record)
    except msgspec.ValidationError as error:
        raise SuiteError(f"{place} {label}: {error}") from None
