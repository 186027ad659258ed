"""Ledger of an audit: the claims that can be judged on this warehouse, their verdicts, and the Parquet of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from dialogue_warehouse.common.files import write_table
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import Claim, Defect, load_defects, read_claims
from dialogue_warehouse.corpora.suites import DEFECT
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage.builds import open_build
from expectations import verdicts
from expectations.verdicts import Basis, ClaimCheck, Measured, Release, count_basis, describe_rows, rows_query

if TYPE_CHECKING:
    from expectations.validation import Outcome

CLAIM_COLUMNS = {
    "claim_id": "varchar",
    "corpus_id": "varchar",
    "document": "varchar",
    "document_title": "varchar",
    "document_url": "varchar",
    "locator": "varchar",
    "quote": "varchar",
    "quotes_whom": "varchar",
    "is_recalled": "boolean",
    "kind": "varchar",
    "description": "varchar",
    "expected": "varchar",
    "recorded": "varchar",
    "recorded_reason": "varchar",
    "severity": "varchar",
    "query": "varchar",
    "tested_query": "varchar",
    "files": "varchar",
    "why": "varchar",
}
CHECK_COLUMNS = {
    "claim_id": "varchar",
    "corpus_id": "varchar",
    "observed": "varchar",
    "verdict": "varchar",
    "rows_tested": "bigint",
    "judged_on": "varchar",
    "is_as_recorded": "boolean",
    "explanation": "varchar",
}
RULE_COLUMNS = {
    "rule_id": "varchar",
    "corpus_id": "varchar",
    "observed_in_files": "integer",
    "is_guarded": "boolean",
}


@dataclass(frozen=True)
class Ledger:
    """The claims and known defects of the built corpora, and the files of their releases that are in the warehouse."""

    claims: tuple[Claim, ...]
    defects: tuple[Defect, ...]
    releases: Mapping[str, Release]
    tested_queries: Mapping[str, str | None]
    """By claim, the SQL that counts the rows that it is about."""
    tested: Mapping[str, Basis]
    """By claim that can be judged, the rows that it was compared with."""

    @property
    def skipped(self) -> set[str]:
        """The keys `<suite>/<expectation>` of expectations that cannot be judged."""
        return verdicts.expectations_to_skip(self.claims, self.defects, self.releases)

    @property
    def bounded(self) -> set[str]:
        """The keys `<suite>/<expectation>` of expectations whose rows are only a bound, because files are missing."""
        return {
            f"{claim.corpus_id}/{claim.claim_id}"
            for claim in self.claims
            if verdicts.is_bounded(claim, self.releases[claim.corpus_id])
        }

    @property
    def weakened(self) -> set[str]:
        """The keys `<suite>/<expectation>` of numbers that lack rejected records, which explain a difference."""
        return {
            f"{claim.corpus_id}/{claim.claim_id}"
            for claim in self.claims
            if self.releases[claim.corpus_id].has_refused(claim)
        }

    def checks(self, outcomes: Iterable[Outcome]) -> list[ClaimCheck]:
        """Return the verdict on each claim; the outcomes of expectations are matched by the claim's id."""
        by_claim = {outcome.expectation.claim_id: outcome for outcome in outcomes if outcome.expectation.claim_id}
        checks = []
        for claim in self.claims:
            outcome = by_claim.get(claim.claim_id)
            measured = Measured(outcome.success, outcome.observed, outcome.rows) if outcome else None
            tested = self.tested.get(claim.claim_id)
            checks.append(verdicts.check(claim, self.releases[claim.corpus_id], measured, tested))
        return checks


def open_ledger(database: Path, corpora: Sequence[str], scales: Mapping[str, float], settings: Settings) -> Ledger:
    """Return the ledger of a warehouse; `scales` has the scale of each generated corpus."""
    declared = {corpus_id: read_claims(corpus_id) for corpus_id in corpora}
    claims = tuple(claim for one in declared.values() for claim, _ in one.claims)
    queries = {
        claim.claim_id: rows_query(corpus_id, entry)
        for corpus_id, one in declared.items()
        for claim, entry in one.claims
    }
    with open_build(database, settings) as con:
        releases = _releases(con, corpora, scales)
        judged = [claim for claim in claims if not verdicts.unjudged(claim, releases[claim.corpus_id])]
        tested = count_basis(con, judged, queries)
    own = tuple(defect for one in declared.values() for defect in one.defects)
    return Ledger(claims, (*load_defects(None), *own), releases, queries, tested)


def _releases(
    con: duckdb.DuckDBPyConnection, corpora: Sequence[str], scales: Mapping[str, float]
) -> dict[str, Release]:
    """Return the files of each corpus's release that are in an open warehouse."""
    files = con.execute("select corpus_id, path, verification, sha256 from core.dim_source_files").fetchall()
    refused = con.execute(
        "select distinct corpus_id, substring(source_file_id, length(corpus_id) + 2) from core.source_quarantine"
    ).fetchall()
    return {
        corpus_id: _release(
            corpus_id,
            {path: (verification, sha256) for of, path, verification, sha256 in files if of == corpus_id},
            frozenset(path for of, path in refused if of == corpus_id),
            scales.get(corpus_id),
        )
        for corpus_id in corpora
    }


def _release(
    corpus_id: str, found: Mapping[str, tuple[str, str]], refused: frozenset[str], scale: float | None
) -> Release:
    """Return a release; `found` has the verification and the SHA-256 of each file that was read."""
    listed = {file.path: file for file in registry.load_corpus(corpus_id).files if not file.is_documentation}
    compressed = frozenset(
        path
        for path, (verification, sha256) in found.items()
        if verification == "verified" and path in listed and listed[path].sha256 not in (None, sha256)
    )
    verifications = {path: verification for path, (verification, _) in found.items()}
    return Release(corpus_id, verifications, frozenset(listed), scale, compressed, refused)


def write(
    folder: Path, ledger: Ledger, checks: Iterable[ClaimCheck], outcomes: Iterable[Outcome], settings: Settings
) -> None:
    """Write claims, verdicts and rules, each in a folder; `outcomes` have the numbers of the guards."""
    guarded = {f"{outcome.suite}/{outcome.expectation.expectation_id}": outcome.rows for outcome in outcomes}
    claims = [
        asdict(claim)
        | {
            "expected": claim.expected and describe_rows(claim.expected),
            "recorded": claim.recorded and describe_rows(claim.recorded),
            "files": ", ".join(claim.files) or None,
            "tested_query": ledger.tested_queries[claim.claim_id],
        }
        for claim in ledger.claims
    ]
    rules = [
        {
            "rule_id": defect.rule_id,
            "corpus_id": defect.corpus_id,
            "observed_in_files": (guarded.get(f"{defect.corpus_id}/{DEFECT}{defect.rule_id}") or [[None]])[0][0],
            "is_guarded": is_guarded(defect, ledger.releases),
        }
        for defect in ledger.defects
    ]
    write_table(folder / "claims" / "results.parquet", CLAIM_COLUMNS, claims, settings)
    write_table(
        folder / "claim_checks" / "results.parquet", CHECK_COLUMNS, [asdict(check) for check in checks], settings
    )
    write_table(folder / "violation_rules" / "results.parquet", RULE_COLUMNS, rules, settings)


def is_guarded(defect: Defect, releases: Mapping[str, Release]) -> bool:
    """Return whether the number of a defect's cases is compared with the known one in this audit."""
    if defect.corpus_id is None or defect.expected is None:
        return False
    return verdicts.is_guarded(defect, releases[defect.corpus_id])


def tally(checks: Iterable[ClaimCheck]) -> dict[str, dict[str, int]]:
    """Count by corpus the claims of each verdict, and the refuted ones that are recorded as such."""
    counts: dict[str, Counter[str]] = {}
    for check in checks:
        count = counts.setdefault(check.corpus_id, Counter())
        count[check.verdict] += 1
        count["refuted_as_recorded"] += check.verdict == "refuted" and bool(check.is_as_recorded)
    return {corpus_id: dict(count) for corpus_id, count in counts.items()}
