"""The verdict of each claim, from the files of a release that are in the warehouse and from what was measured.

A number is judged only on complete files: every file that it needs is there and has the publisher's checksum, and no
other file is beside them, or the release was generated at scale 1. On a part of a real release, a number that is
already too large refutes its claim. An invariant is judged on any files that are there. A claim that holds because no
row is there to test it is `vacuous`. Records that landing rejected count against the claim that they break.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

import duckdb

from dialogue_warehouse.common.database import identifier, literal
from dialogue_warehouse.common.text import JudgedOn, Verdict
from dialogue_warehouse.corpora.claims import Cell, Claim, Defect, Entry, Rows, exceeds, same_cell, same_rows
from dialogue_warehouse.corpora.suites import DEFECT
from dialogue_warehouse.errors import quoted

ABOUT_NULL = ("expect_column_values_to_be_null", "expect_column_values_to_not_be_null")
"""Types that judge NULL values; for all other types Great Expectations ignores NULLs."""


@dataclass(frozen=True)
class Basis:
    """The rows that a claim was compared with in one warehouse."""

    rows: int = 0
    """Number of rows that the claim is about, including rejected records that break it."""
    refused: int = 0
    """Number of records that landing rejected with an error that breaks the claim."""
    first_refused: str | None = None
    """File, error and path of the first rejected record."""


def rows_query(corpus_id: str, entry: Entry) -> str | None:
    """Return the SQL that counts the rows that a claim is about; None if it cannot be checked.

    That is the claim's own query, else one of the rows of its table that it reads.
    """
    if entry.not_checkable:
        return None
    if entry.tested:
        return f"select count(*) from {entry.tested}"
    conditions = [f"corpus_id = {literal(corpus_id)}"]
    for column, value in entry.rows.items():
        values = value if isinstance(value, list) else [value]
        if column != "corpus_id":
            conditions.append(f"{identifier(column)} in ({', '.join(map(literal, values))})")
    column = entry.kwargs.get("column")
    if column and entry.type not in ABOUT_NULL:
        conditions.append(f"{identifier(column)} is not null")
    return f"select count(*) from {entry.table} where {' and '.join(conditions)}"


def count_basis(
    con: duckdb.DuckDBPyConnection, claims: Iterable[Claim], queries: Mapping[str, str | None]
) -> dict[str, Basis]:
    """Return the basis of each claim; `queries` are those of `rows_query`. Both are by claim."""
    refusals = _refusals(con)
    counted: dict[str, int] = {}
    tested = {}
    for claim in claims:
        query = queries[claim.claim_id]
        if query is None:
            continue
        if query not in counted:
            counted[query] = con.execute(query).fetchall()[0][0]
        refused = _breaking(con, claim, refusals)
        tested[claim.claim_id] = Basis(counted[query] + len(refused), len(refused), refused[0] if refused else None)
    return tested


def _refusals(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Return the path and the error of each refused record, by corpus."""
    refusals: dict[str, list[str]] = {}
    for corpus_id, refusal in con.execute(
        """
        select
            corpus_id,
            substring(source_file_id, length(corpus_id) + 2) || ' ' || error
        from core.source_quarantine
        order by source_file_id, record_index
        """
    ).fetchall():
        refusals.setdefault(corpus_id, []).append(refusal)
    return refusals


def _breaking(con: duckdb.DuckDBPyConnection, claim: Claim, refusals: Mapping[str, list[str]]) -> list[str]:
    """Return the refusals that match the claim's regular expression; DuckDB matches them, as in all of its SQL."""
    found = refusals.get(claim.corpus_id)
    if claim.refused is None or not found:
        return []
    matching = "select list_filter(?::varchar[], lambda refusal: regexp_matches(refusal, ?))"
    return con.execute(matching, [found, claim.refused]).fetchall()[0][0]


DIFFERENCES_SHOWN = 5
ABOUT_BYTES = re.compile(r"\b(bytes|sha256)\b")
"""Columns about a file as it was read, which a compressed copy changes."""


@dataclass(frozen=True)
class Release:
    """The files of a corpus's release that are in the warehouse."""

    corpus_id: str
    verifications: Mapping[str, str] = field(default_factory=dict)
    """`verified`, `mismatch`, `unlisted` or `simulated`, by path."""
    listed: frozenset[str] = frozenset()
    """The data files of the complete release."""
    scale: float | None = None
    """The scale of a generated release; None for a real one."""
    compressed: frozenset[str] = frozenset()
    """The files that were read from a compressed copy, which the publisher has not made."""
    refused: frozenset[str] = frozenset()
    """The files of which landing rejected a record, so that it is not in the tables."""

    @property
    def judged_on(self) -> JudgedOn:
        """The origin of the files: published or generated."""
        return "published" if self.scale is None else "generated"

    def has(self, files: Iterable[str]) -> bool:
        """Return whether any file is there that matches these globs; without globs, any file."""
        return bool(_matching(self.verifications, files))

    def lacks(self, files: Iterable[str]) -> str | None:
        """Return why these files are not the complete, published ones; None when they are."""
        if self.scale is not None:
            return None if self.scale == 1 else f"generated at scale {self.scale:g}, not at scale 1"
        needed = sorted(_matching(self.listed, files))
        missing = [path for path in needed if path not in self.verifications]
        if missing or not needed:
            first = f", such as {missing[0]}" if missing else ""
            return f"{len(missing)} of {len(needed)} files are missing{first}"
        changed = [path for path in needed if self.verifications[path] != "verified"]
        if changed:
            return f"{changed[0]} does not have the known checksum"
        added = sorted(set(_matching(self.verifications, files)) - self.listed)
        return f"{added[0]} is not a file of the release" if added else None

    def has_refused(self, claim: Claim) -> bool:
        """Return whether a claim's number lacks rejected records, so that it can differ from the publisher's."""
        return claim.is_exact and bool(_matching(self.refused, claim.files))


@dataclass(frozen=True)
class ClaimCheck:
    """The verdict on a claim: the row of `quality.claim_checks`."""

    claim_id: str
    corpus_id: str
    observed: str | None
    verdict: Verdict
    rows_tested: int | None
    """Number of rows that it is about; None where nothing was judged."""
    judged_on: JudgedOn
    is_as_recorded: bool | None
    """True if the result is the one that the ledger records; None where nothing was judged."""
    explanation: str


def _matching(paths: Iterable[str], globs: Iterable[str]) -> list[str]:
    globs = tuple(globs)
    return [path for path in paths if not globs or any(fnmatchcase(path, glob) for glob in globs)]


def unjudged(claim: Claim, release: Release) -> tuple[Verdict, str] | None:
    """Return the verdict on a claim that cannot be judged on this release, and the reason; None for one that can."""
    if claim.not_checkable:
        return "not_checkable", claim.not_checkable
    if claim.real_only and release.scale is not None:
        return "not_checkable", f"cannot be checked on a generated release: {claim.real_only}"
    if not release.has(claim.files):
        return "source_absent", "the files that the claim is about are missing"
    lacking = release.lacks(claim.files) if claim.is_exact else None
    compressed = sorted(_matching(release.compressed, claim.files))
    if compressed and claim.is_exact and ABOUT_BYTES.search(str(claim.query)):
        return "source_absent", f"{compressed[0]} is compressed, so its size and checksum are not the publisher's"
    return ("source_absent", lacking) if lacking and not is_bounded(claim, release) else None


def is_bounded(claim: Claim, release: Release) -> bool:
    """Return whether this part of a real release can refute a claim, but cannot show that it holds."""
    return claim.is_bound and release.scale is None and release.lacks(claim.files) is not None


def is_guarded(defect: Defect, release: Release) -> bool:
    """Return whether a defect's cases can be counted on this release. A generated release has other cases."""
    return release.scale is None and release.lacks(defect.files) is None


def expectations_to_skip(
    claims: Iterable[Claim], defects: Iterable[Defect], releases: Mapping[str, Release]
) -> set[str]:
    """Return the keys `<suite>/<expectation>` of expectations that cannot be judged on these releases."""
    skipped = {f"{claim.corpus_id}/{claim.claim_id}" for claim in claims if unjudged(claim, releases[claim.corpus_id])}
    return skipped | {
        f"{defect.corpus_id}/{DEFECT}{defect.rule_id}"
        for defect in defects
        if defect.corpus_id and not is_guarded(defect, releases[defect.corpus_id])
    }


@dataclass(frozen=True)
class Measured:
    """The result of the expectation of a claim."""

    success: bool
    observed: str
    rows: Rows | None = None
    """The rows that its query returned."""


def check(claim: Claim, release: Release, measured: Measured | None, tested: Basis | None) -> ClaimCheck:
    """Return the verdict on a claim, from what was measured and on how many rows."""
    early = unjudged(claim, release)
    if early:
        verdict, explanation = early
        return ClaimCheck(claim.claim_id, claim.corpus_id, None, verdict, None, release.judged_on, None, explanation)
    assert measured is not None
    assert tested is not None
    lacking = release.lacks(claim.files) if is_bounded(claim, release) else None
    if lacking and not tested.refused and not exceeds(measured.rows or [], claim.expected):
        return ClaimCheck(
            claim.claim_id, claim.corpus_id, None, "source_absent", None, release.judged_on, None, lacking
        )
    verdict, is_as_recorded, explanation = _judge_part(claim, measured, lacking) if lacking else _judge(claim, measured)
    if not is_as_recorded and release.has_refused(claim):
        explanation += "; rejected records of its files are not counted"
    if tested.refused:
        verdict, is_as_recorded = "refuted", False
        refused = f"rejected records that break the claim: {tested.refused}, the first: {quoted(tested.first_refused)}"
        explanation = refused if measured.success else f"{explanation}; {refused}"
    elif verdict == "reproduced" and not tested.rows:
        verdict, is_as_recorded, explanation = "vacuous", None, "the build has no rows to test the claim on"
    return ClaimCheck(
        claim_id=claim.claim_id,
        corpus_id=claim.corpus_id,
        observed=describe_rows(measured.rows) if measured.rows is not None else measured.observed,
        verdict=verdict,
        rows_tested=tested.rows,
        judged_on=release.judged_on,
        is_as_recorded=is_as_recorded,
        explanation=explanation,
    )


def _judge(claim: Claim, measured: Measured) -> tuple[Verdict, bool | None, str]:
    """Return the verdict, whether it is as recorded, and why, from the landed rows alone."""
    if not claim.is_exact:
        if measured.success:
            return "reproduced", True, "nothing contradicts the claim"
        return "refuted", False, f"contradicted: {measured.observed}"
    rows = measured.rows
    holds = rows is not None and same_rows(rows, claim.expected)
    verdict: Verdict = "reproduced" if holds else "refuted"
    if claim.recorded is None:
        explanation = "as documented" if holds else f"differs from the document: {differences(claim.expected, rows)}"
    elif measured.success:
        explanation = f"differs from the document, as recorded: {claim.recorded_reason}"
    else:
        explanation = f"differs from the record: {differences(claim.recorded, rows)}; recorded: {claim.recorded_reason}"
    return verdict, measured.success, explanation


def _judge_part(claim: Claim, measured: Measured, lacking: str) -> tuple[Verdict, bool | None, str]:
    """Return the same for files that exceed the document's number, or have refused records.

    `lacking` says why they are not the complete release.
    """
    excess = f"more than the document says, in files that are not the complete release ({lacking})"
    if claim.recorded is None:
        return "refuted", False, excess
    agrees = "as recorded" if measured.success else "and more than is recorded"
    return "refuted", measured.success, f"{excess}, {agrees}: {claim.recorded_reason}"


def plain(value: Any) -> Cell:
    """Return a value of DuckDB as a cell."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if value is None or isinstance(value, int | float | str) else str(value)


def differences(expected: Rows | None, observed: Rows | None) -> str:
    """Describe the first places where two measured tables differ."""
    if not expected or not observed or len(expected) != len(observed):
        return f"expected {describe_rows(expected or [])}, observed {describe_rows(observed or [])}"
    texts = []
    for left, right in zip(expected, observed, strict=True):
        label = f"{left[0]}: " if len(left) > 1 and isinstance(left[0], str) else ""
        if len(left) != len(right):
            texts.append(f"{label}expected {len(left)} cells, observed {len(right)}")
        texts += [f"{label}{b} instead of {a}" for a, b in zip(left, right, strict=False) if not same_cell(a, b)]
    more = f" and {len(texts) - DIFFERENCES_SHOWN} more" if len(texts) > DIFFERENCES_SHOWN else ""
    return "; ".join(texts[:DIFFERENCES_SHOWN]) + more


def describe_rows(rows: Rows) -> str:
    """Write a measured table as text: a single cell as a table of results shows it, else JSON."""
    if len(rows) == 1 and len(rows[0]) == 1:
        cell = rows[0][0]
        return cell if isinstance(cell, str) else "NULL" if cell is None else json.dumps(cell)
    return json.dumps(rows, ensure_ascii=False)
