"""Declared claims and known defects of the corpora, read from TOML and checked.

A claim about a number is the SQL that measures it and the expected number. A claim about every row is an expectation
type of Great Expectations, or SQL that selects the rows that break it. `recorded` is the true value where the claim is
known to be wrong. A wrong declaration is refused in one line with its file and entry.
"""

from __future__ import annotations

import functools
import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError

Text = Annotated[str, Meta(min_length=1, pattern=r"\S")]
_Record = TypeVar("_Record", bound=Struct)


class DeclarationError(InputError):
    """A declaration cannot be used; one line with file and entry."""


def read_toml(path: Path, place: str) -> dict[str, Any]:
    """Return the document of a TOML file; `place` names it in errors. Raises DeclarationError."""
    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DeclarationError(f"{place}: is missing") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeclarationError(f"{place}: {error}") from None


@functools.lru_cache
def _parsed(text: str) -> dict[str, Any]:
    """Parse TOML; the same text is parsed once, because suites, ledger and report each read every declaration."""
    return tomllib.loads(text)


def read_table(place: str, document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a table, empty if it is absent. Raises DeclarationError."""
    value = document.get(name, {})
    if not isinstance(value, dict):
        raise DeclarationError(f"{place}: '{name}' is not a table")
    return value


def read_array(place: str, document: dict[str, Any], name: str) -> list[Any]:
    """Return an array of tables, empty if it is absent. Raises DeclarationError."""
    entries = document.get(name, [])
    if not isinstance(entries, list):
        raise DeclarationError(f"{place}: '{name}' is not an array of tables")
    return entries


def label_of(entry: Any) -> str:
    """Return the name of an entry in errors."""
    return str(entry.get("id", "(no id)")) if isinstance(entry, dict) else "(no table)"


def convert(place: str, label: str, entry: Any, record: type[_Record]) -> _Record:
    """Convert an entry to a record of this type. Raises DeclarationError."""
    try:
        return msgspec.convert(entry, record)
    except msgspec.ValidationError as error:
        raise DeclarationError(f"{place} {label}: {error}") from None


def refuse_duplicates(place: str, noun: str, names: list[str]) -> None:
    """Raise DeclarationError when a name occurs twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DeclarationError(f"{place} {twice[0]}: {noun} occurs twice")


RuleKind = Literal["defect", "property"]
"""The kind of a rule: its cases are faults, or oddities that the publisher intended."""
ENOUGH_READ = 40
"""Number of cases of a defect that must be read before its precision is stated; all cases if there are fewer."""
ENOUGH_RIGHT = 0.95
"""Share of the cases of a defect that must be right in each of the two readings."""


@dataclass(frozen=True)
class Defect:
    """A known fault or oddity of a release, each case of which is a row of `quality.violations`."""

    rule_id: str
    kind: RuleKind
    corpus_id: str | None
    """None for a rule that applies to every corpus."""
    title: str
    description: str
    upstream: str | None
    """The thread where users reported it."""
    expected: int | None
    """The number of cases in the complete release."""
    files: tuple[str, ...]
    why: str
    cases_read: int | None
    """Number of cases that were read in the real files, with their context; None if none was."""
    cases_right: int | None
    """Number of these cases that are right in the first reading."""
    cases_right_again: int | None
    """The same in the second reading."""
    cases_agreed: int | None
    """Number of the cases that both readings judge alike."""


class _Precision(Struct, forbid_unknown_fields=True):
    """Number of cases of a defect that were read twice, those right in each reading, and those judged alike."""

    read: Annotated[int, Meta(ge=1)]
    right: tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)]]
    agreed: Annotated[int, Meta(ge=0)]


class _DefectEntry(Struct, forbid_unknown_fields=True, kw_only=True):
    """An entry of `[[defects]]`."""

    id: Text
    kind: RuleKind = "defect"
    title: Text
    description: Text
    why: Text
    upstream: Text | None = None
    expected: int | None = None
    files: list[Text] = []
    precision: _Precision | None = None


def read_defects(place: str, corpus_id: str | None, entries: list[Any]) -> tuple[Defect, ...]:
    """Convert a list of known defects and check them; `place` names its file. Raises DeclarationError."""
    read = [convert(place, label_of(entry), entry, _DefectEntry) for entry in entries]
    for entry in read:
        if problem := _precision_problem(entry):
            raise DeclarationError(f"{place} {entry.id}: {problem}")
    refuse_duplicates(place, "id", [entry.id for entry in read])
    return tuple(
        Defect(
            rule_id=entry.id,
            kind=entry.kind,
            corpus_id=corpus_id,
            title=entry.title,
            description=entry.description,
            upstream=entry.upstream,
            expected=entry.expected,
            files=tuple(entry.files),
            why=entry.why,
            cases_read=entry.precision.read if entry.precision else None,
            cases_right=entry.precision.right[0] if entry.precision else None,
            cases_right_again=entry.precision.right[1] if entry.precision else None,
            cases_agreed=entry.precision.agreed if entry.precision else None,
        )
        for entry in read
    )


def _precision_problem(defect: _DefectEntry) -> str | None:
    if defect.precision is None:
        return None
    read, (first, second), agreed = defect.precision.read, defect.precision.right, defect.precision.agreed
    if defect.kind == "property":
        return "'precision' is only for defects: every case of a property is right by definition"
    if max(first, second) > read:
        return f"'precision' has {max(first, second)} right cases of {read}"
    if not abs(first + second - read) <= agreed <= read - abs(first - second) or (agreed - first - second - read) % 2:
        return f"'precision' cannot have {agreed} agreed cases of {read} with {first} and {second} right ones"
    if min(first, second) < ENOUGH_RIGHT * read:
        return f"'precision' is below {ENOUGH_RIGHT:.0%}: improve the rule, or give it the kind property"
    needed = min(ENOUGH_READ, defect.expected or 1)
    return f"'precision' needs {needed} cases read, not {read}" if read < needed else None


CLAIMS = "claims.toml"
DEFECTS = Path(__file__).with_name("defects.toml")
OF_THE_SOURCE = re.compile(r"\bcore\.source_(extras|quarantine)\b")
"""Tables of what the types do not declare: a new release may have rows there, and the models are right."""
Severity = Literal["critical", "warning"]
Voice = Literal["publisher", "paper", "other_project", "own_measurement"]
"""The author of the words that a claim quotes."""
Cell = int | float | str | None
Rows = list[list[Cell]]
"""A measured table: rows of labels and numbers; a single number is one row of one cell."""


@dataclass(frozen=True)
class Claim:
    """A statement about a corpus, its source, and how it is compared with the data."""

    claim_id: str
    corpus_id: str
    quote: str
    document: str
    document_title: str
    document_url: str | None
    locator: str
    quotes_whom: Voice
    kind: Literal["count", "invariant"]
    severity: Severity
    description: str
    why: str
    expected: Rows | None
    """The document's value; for an invariant, no row that breaks it; None if it cannot be checked."""
    recorded: Rows | None
    """The known value of the complete release, if it differs from the document's."""
    recorded_reason: str | None
    query: str | None
    """The SQL that measures it; None if Great Expectations measures it, or if it is not measured."""
    refused: str | None
    """A regular expression: a refused record whose path and error match it breaks the claim, in spite of the tables."""
    files: tuple[str, ...]
    """Globs over the paths of the release that it needs; empty means all."""
    is_recalled: bool
    """True if the quote is from memory, because the document was not available."""
    real_only: str | None
    """The reason that a generated release cannot show it."""
    not_checkable: str | None
    """The reason that it cannot be checked at all."""
    is_bound: bool = False
    """True if a part of the release cannot exceed the value of the whole, so that a part can refute the claim."""

    @property
    def is_exact(self) -> bool:
        """True if it is compared with a number that only the complete release has."""
        return self.kind == "count" or self.recorded is not None


TableName = Annotated[str, Meta(pattern=r"^[a-z_]+\.[a-z_0-9]+\Z")]


class Check(Struct, forbid_unknown_fields=True, kw_only=True):
    """The common fields of a claim and of an expectation of the marts."""

    id: Text
    severity: Severity
    description: Text
    why: Text
    type: Text | None = None
    kwargs: dict[str, Any] = {}
    rows: dict[str, str | list[str]] = {}
    unexpected_rows: Text | None = None


class _Recorded(Struct, forbid_unknown_fields=True):
    """The known true value, where a document has another one."""

    value: Cell | Rows
    reason: Text


class Entry(Check, forbid_unknown_fields=True, kw_only=True):
    """An entry of `[[claims]]`."""

    table: TableName | None = None
    quote: Text
    document: Text
    locator: Text
    quotes_whom: Voice | None = None
    kind: Literal["count", "invariant"]
    expected: Cell | Rows = None
    sql: Text | None = None
    tested: Text | None = None
    refused: Text | None = None
    files: list[Text] = []
    recorded: _Recorded | None = None
    is_recalled: bool = False
    real_only: Text | None = None
    not_checkable: Text | None = None
    is_bound: bool = False


class _Document(Struct, forbid_unknown_fields=True):
    """An entry of `[documents]`: the document that a claim refers to."""

    title: Text
    quotes_whom: Voice
    """The author of the words that its claims quote, unless a claim names another one."""
    url: Text | None = None


def load_claims(corpus_id: str, folder: Path | None = None) -> tuple[Claim, ...]:
    """Read the claims of a corpus. Raises DeclarationError."""
    return tuple(claim for claim, _ in read_claims(corpus_id, folder).claims)


def load_defects(corpus_id: str | None, folder: Path | None = None) -> tuple[Defect, ...]:
    """Read the known defects of a corpus, or for None those that any corpus may have. Raises DeclarationError."""
    if corpus_id is not None:
        return read_claims(corpus_id, folder).defects
    return read_defects(DEFECTS.name, None, read_array(DEFECTS.name, read_toml(DEFECTS, DEFECTS.name), "defects"))


class DeclaredClaims(NamedTuple):
    """The content of a claims.toml."""

    claims: tuple[tuple[Claim, Entry], ...]
    """Each claim, and the entry that it was read from."""
    defects: tuple[Defect, ...]


def read_claims(corpus_id: str, folder: Path | None = None) -> DeclaredClaims:
    """Read and check the claims and defects of a corpus. Raises DeclarationError."""
    place = f"{corpus_id}/{CLAIMS}"
    document = read_toml((folder or registry.corpus_folder(corpus_id)) / CLAIMS, place)
    unknown = sorted(document.keys() - {"documents", "claims", "defects"})
    if unknown:
        raise DeclarationError(f"{place}: unknown key '{unknown[0]}'")
    documents = {
        name: convert(place, f"document {name}", entry, _Document)
        for name, entry in read_table(place, document, "documents").items()
    }
    entries = [convert(place, label_of(entry), entry, Entry) for entry in read_array(place, document, "claims")]
    for entry in entries:
        if entry.document not in documents:
            raise DeclarationError(f"{place} {entry.id}: document '{entry.document}' is not listed under [documents]")
        if problem := _problem(entry):
            raise DeclarationError(f"{place} {entry.id}: {problem}")
    refuse_duplicates(place, "id", [entry.id for entry in entries])
    claims = tuple((_claim(corpus_id, documents[entry.document], entry), entry) for entry in entries)
    return DeclaredClaims(claims, read_defects(place, corpus_id, read_array(place, document, "defects")))


def _problem(claim: Entry) -> str | None:
    """Return what is wrong with the combination of a claim's keys; None if nothing is."""
    measures = [name for name in ("type", "unexpected_rows", "sql") if getattr(claim, name) is not None]
    if claim.not_checkable:
        measures += [name for name in ("tested", "refused") if getattr(claim, name) is not None]
        return f"is not checkable, but has '{measures[0]}'" if measures else None
    if claim.table is None:
        return "needs a 'table'"
    if claim.kind == "count":
        return _problem_of_count(claim, measures)
    if claim.is_bound:
        return "'is_bound' is only for counts: a part of a release can always refute an invariant"
    if len(measures) != 1 or claim.sql:
        return "needs either 'type' or 'unexpected_rows'"
    if claim.expected is not None:
        return "'expected' is only for counts"
    if claim.recorded and not (claim.unexpected_rows and isinstance(claim.recorded.value, int)):
        return "'recorded' of an invariant is the number of rows that 'unexpected_rows' returns: write both"
    if claim.severity == "critical" and OF_THE_SOURCE.search(str(claim.unexpected_rows)):
        return "reads unknown keys or refused records, which only the publisher can add: its severity is 'warning'"
    return None


def _problem_of_count(claim: Entry, measures: list[str]) -> str | None:
    if measures != ["sql"] or claim.expected is None:
        return "a count needs 'sql' and 'expected', and no other measurement"
    if isinstance(claim.expected, str) and claim.expected.isdecimal():
        return f"'expected' is the text '{claim.expected}': write the number without quotes"
    values = (claim.expected, claim.recorded.value if claim.recorded else None)
    if claim.is_bound and any(len(rows) > len(set(map(_labels, rows))) for rows in map(_rows, values) if rows):
        return "'is_bound' needs rows with different texts: a bound is found by the texts of its row"
    return None if str(claim.table) in str(claim.sql) else f"'sql' does not read {claim.table}"


def _claim(corpus_id: str, document: _Document, entry: Entry) -> Claim:
    query = entry.sql
    if entry.unexpected_rows:
        query = f"select count(*) as unexpected from ({entry.unexpected_rows.strip()})"
    is_invariant = entry.kind == "invariant" and not entry.not_checkable
    return Claim(
        claim_id=entry.id,
        corpus_id=corpus_id,
        quote=entry.quote,
        document=entry.document,
        document_title=document.title,
        document_url=document.url,
        locator=entry.locator,
        quotes_whom=entry.quotes_whom or document.quotes_whom,
        kind=entry.kind,
        severity=entry.severity,
        description=entry.description,
        why=entry.why,
        expected=[[0]] if is_invariant else _rows(entry.expected),
        recorded=_rows(entry.recorded.value) if entry.recorded else None,
        recorded_reason=entry.recorded.reason if entry.recorded else None,
        query=query and query.strip(),
        refused=entry.refused,
        files=tuple(entry.files),
        is_recalled=entry.is_recalled,
        real_only=entry.real_only,
        not_checkable=entry.not_checkable,
        is_bound=entry.is_bound or (is_invariant and entry.recorded is not None),
    )


def _rows(value: Cell | Rows) -> Rows | None:
    if value is None:
        return None
    return value if isinstance(value, list) else [[value]]


def same_rows(observed: Rows, expected: Rows | None) -> bool:
    """Return whether two measured tables are equal, row by row and cell by cell; 1 and 1.0 are the same number."""
    return (
        expected is not None
        and len(observed) == len(expected)
        and all(
            len(left) == len(right) and all(map(same_cell, left, right))
            for left, right in zip(observed, expected, strict=True)
        )
    )


def exceeds(observed: Rows, bound: Rows | None) -> bool:
    """Return whether a measured table has a row without a bound, or a larger number than the bound with its labels."""
    limits = {_labels(row): _numbers(row) for row in bound or []}
    for row in observed:
        limit = limits.get(_labels(row))
        if limit is None or any(number > most for number, most in zip(_numbers(row), limit, strict=True)):
            return True
    return False


def _labels(row: list[Cell]) -> tuple[Any, ...]:
    return tuple(... if isinstance(cell, int | float) else cell for cell in row)


def _numbers(row: list[Cell]) -> tuple[int | float, ...]:
    return tuple(cell for cell in row if isinstance(cell, int | float))


def same_cell(left: Cell, right: Cell) -> bool:
    """Compare two measured cells; 1 and 1.0 are the same number."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right
