"""Expectations of the warehouse: a suite for each corpus, from its claims.toml, and the suites of marts.toml.

This module only reads and checks the declarations. It does not import Great Expectations, so listing the suites does
not take five seconds. `expectations.validation` runs them.

A declaration has one of three forms: a type of Great Expectations and its `kwargs` (`rows` restricts it to the rows
with these values); `unexpected_rows`, plain DuckDB SQL that selects the rows that should not be there; or, for a claim
about a number, the `sql` that measures it and the value that is `expected`. `expectations.verdicts` decides the verdict
on a claim for a given release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import (
    CLAIMS,
    Check,
    Claim,
    DeclarationError,
    Defect,
    Entry,
    Severity,
    TableName,
    convert,
    label_of,
    read_array,
    read_claims,
    read_toml,
    refuse_duplicates,
)
from dialogue_warehouse.paths import CLONE

MARTS = CLONE / "expectations" / "marts.toml"

UNEXPECTED_ROWS = "expect_no_unexpected_rows"
"""This project's expectation type for SQL; `expectations.validation` defines it. Its only argument is the query."""

QUERY_ROWS = "expect_query_rows"
"""This project's expectation type for a query that returns these rows. Its arguments are the query and the rows."""

DEFECT = "defect:"
"""The prefix of the id of a defect's guard."""

OUTCOMES = ("passed", "warned", "failed")
"""The outcomes of an expectation; warned means failed as a warning."""

IGNORES_ROWS = frozenset({"expect_column_pair_values_to_be_in_set"})
"""Types whose row condition Great Expectations 1.24 accepts and leaves out of the query: they would judge all rows."""


@dataclass(frozen=True)
class Expectation:
    """One thing that must hold of one table."""

    expectation_id: str
    """Unique in its suite; for a claim, the claim's id."""
    claim_id: str | None
    table: str
    """`<schema>.<table>`."""
    type: str
    kwargs: dict[str, Any]
    severity: Severity
    """critical: the code of this project is wrong, and nothing is published; warning: the publication is wrong."""
    description: str
    """A sentence that says what must hold."""
    why: str
    """The reason that it holds and that it is checked in this form, and what the check does not cover."""


@dataclass(frozen=True)
class Suite:
    """Expectations that pass or fail together; never empty."""

    name: str
    expectations: tuple[Expectation, ...]


class _MartCheck(Check, forbid_unknown_fields=True, kw_only=True):
    """An entry of marts.toml; `{table}` in its SQL stands for each of its tables."""

    tables: Annotated[list[TableName], Meta(min_length=1)]


def load_corpus_suite(corpus_id: str, folder: Path | None = None) -> Suite:
    """Load the suite of a corpus: claims that can be checked, and guards of its defects. Raises DeclarationError."""
    place = f"{corpus_id}/{CLAIMS}"
    declared = read_claims(corpus_id, folder)
    expectations = [
        _claim_expectation(place, entry, claim) for claim, entry in declared.claims if not claim.not_checkable
    ]
    guards = [_guard(defect) for defect in declared.defects if defect.expected is not None]
    return _suite(corpus_id, place, (*expectations, *guards))


def load_marts_suites(path: Path = MARTS) -> tuple[Suite, ...]:
    """Load the suites over all corpora: each array of marts.toml is one. Raises DeclarationError."""
    document = read_toml(path, path.name)
    if not document:
        raise DeclarationError(f"{path.name}: no suite of expectations is declared")
    return tuple(_suite(name, path.name, _mart_expectations(path.name, entries)) for name, entries in document.items())


def load_suites(corpora: Iterable[str] | None = None) -> tuple[Suite, ...]:
    """Load the suites of these corpora (None: of all) and those of the marts; all names are different."""
    names = registry.corpus_ids() if corpora is None else tuple(corpora)
    suites = (*(load_corpus_suite(name) for name in names), *load_marts_suites())
    refuse_duplicates(MARTS.name, "suite", [suite.name for suite in suites])
    return suites


def _claim_expectation(place: str, entry: Entry, claim: Claim) -> Expectation:
    """Return the expectation of a claim.

    The query of a count must return the recorded rows, or else the expected ones. An invariant must not be broken, or
    must be broken by as many rows as recorded.
    """
    table = str(entry.table)
    if not claim.is_exact:
        return _expectation(place, entry, table, entry.id, entry.id)
    kwargs = {"query": claim.query, "rows": claim.recorded or claim.expected}
    return Expectation(entry.id, entry.id, table, QUERY_ROWS, kwargs, entry.severity, entry.description, entry.why)


def _guard(defect: Defect) -> Expectation:
    """Return the expectation that a defect has the known number of cases.

    Another number means that the publication has changed.
    """
    query = (
        f"select count(*) as cases from quality.violations "
        f"where rule_id = '{defect.rule_id}' and corpus_id = '{defect.corpus_id}'"
    )
    if defect.files:
        globs = [f"source_file_id glob '{defect.corpus_id}/{glob}'" for glob in defect.files]
        query += f" and ({' or '.join(globs)})"
    return Expectation(
        expectation_id=f"{DEFECT}{defect.rule_id}",
        claim_id=None,
        table="quality.violations",
        type=QUERY_ROWS,
        kwargs={"query": query, "rows": [[defect.expected]]},
        severity="warning",
        description=f"Known defect: {defect.title}",
        why=defect.why,
    )


def _mart_expectations(place: str, entries: Any) -> Iterator[Expectation]:
    for entry in read_array(place, {"": entries}, ""):
        check = convert(place, label_of(entry), entry, _MartCheck)
        for table in check.tables:
            name = table.partition(".")[2]
            identifier = check.id if len(check.tables) == 1 else f"{check.id}/{name}"
            yield _expectation(place, check, table, identifier, None)


def _expectation(place: str, check: Check, table: str, identifier: str, claim_id: str | None) -> Expectation:
    """Return the expectation that a declaration describes for one table."""
    where = f"{place} {check.id}"
    if (check.type is None) == (check.unexpected_rows is None):
        raise DeclarationError(f"{where}: needs either 'type' or 'unexpected_rows'")
    if check.unexpected_rows is not None:
        if check.kwargs or check.rows:
            raise DeclarationError(f"{where}: 'kwargs' and 'rows' belong to a 'type', not to 'unexpected_rows'")
        query = check.unexpected_rows.strip().replace("{table}", table)
        if table not in query:
            raise DeclarationError(f"{where}: 'unexpected_rows' does not read {table}")
        kind, kwargs = UNEXPECTED_ROWS, {"query": query}
    else:
        kind, kwargs = str(check.type), dict(check.kwargs)
        if "row_condition" in kwargs:
            raise DeclarationError(f"{where}: write 'rows' instead of a row_condition in 'kwargs'")
        if check.rows and kind in IGNORES_ROWS:
            raise DeclarationError(f"{where}: Great Expectations ignores 'rows' with {kind}; write 'unexpected_rows'")
        if check.rows:
            kwargs["row_condition"] = _row_condition(check.rows)
    return Expectation(identifier, claim_id, table, kind, kwargs, check.severity, check.description, check.why)


def _row_condition(rows: dict[str, str | list[str]]) -> dict[str, Any]:
    """Return Great Expectations' condition "these columns have these values", in the form in which it is stored."""
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
        raise DeclarationError(f"{place}: suite '{name}' is empty")
    refuse_duplicates(place, "id", [expectation.expectation_id for expectation in suite.expectations])
    return suite
