"""Every claim notices an error in a source file: the embedded sample is edited, and the claim is judged again.

The errors are in the twins.py of each corpus's fixtures. One that changes a number is applied alone. Errors that break
rows of different claims are applied together, each to another record, because each claim must be broken by exactly as
many rows as its error says; one that does not do so in company is applied alone. A claim about a column that this
project computes has a statement instead, because no source file can break it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from functools import cache

import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import Claim, load_claims
from pipelines.ingestion.simulating import simulate
from tests import fixtures
from tests.contract.source_builds import Found, SourceBuilds, compile_models
from tests.fixtures.twins import Files, Twin, breaks

SCALE = 0.005
"""The scale of the releases: half of that of the embedded sample, which takes less time."""
CORPORA = registry.corpus_ids()
CLAIMS: dict[str, dict[str, Claim]] = {
    corpus_id: {claim.claim_id: claim for claim in load_claims(corpus_id) if not claim.not_checkable}
    for corpus_id in CORPORA
}
TWINS = {corpus_id: fixtures.twins(corpus_id) for corpus_id in CORPORA}
TOGETHER = 10
"""The largest number of errors that are applied together."""


def groups(twins: Mapping[str, Twin]) -> list[list[str]]:
    """Return the names of the errors that are applied together: they break rows of different claims."""
    found: list[list[str]] = []
    for name, twin in twins.items():
        fitting = [
            group
            for group in found
            if len(group) < TOGETHER
            and not any(twins[other].numbers or twins[other].rows.keys() & twin.rows.keys() for other in group)
        ]
        if fitting and not twin.numbers:
            fitting[0].append(name)
        else:
            found.append([name])
    return found


Together = Callable[[str], set[str]]
Builds = Callable[[str], tuple[SourceBuilds, dict[str, Found]]]


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """Return, for a corpus, builds of its generated release, and the verdicts on the unchanged release."""
    source, work = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("warehouses")
    models = compile_models(work / "dbt")

    @cache
    def of_corpus(corpus_id: str) -> tuple[SourceBuilds, dict[str, Found]]:
        simulate(source, SCALE, corpora=(corpus_id,))
        made = SourceBuilds(corpus_id, source, work / corpus_id, models)
        return made, made.verdicts(CLAIMS[corpus_id])

    return of_corpus


def unnoticed(
    claims: Mapping[str, Claim], before: Mapping[str, Found], after: Mapping[str, Found], rows: Mapping[str, int]
) -> dict[str, str]:
    """Return the claims whose verdict is not the one that an error must cause, each with the difference.

    `rows` has, by claim about every row, the number of further rows that must break it.
    """
    found = {}
    for claim_id, new in after.items():
        old = before[claim_id]
        if claims[claim_id].kind == "count" and new.check.observed == old.check.observed:
            found[claim_id] = f"still {old.check.observed}"
        elif claims[claim_id].kind == "invariant":
            further = (new.broken or 0) - (old.broken or 0)
            if further != rows[claim_id] or new.check.verdict != "refuted":
                found[claim_id] = f"{new.check.verdict}, {further} further rows, not {rows[claim_id]}"
    return found


@pytest.fixture(scope="module")
def together(builds: Builds) -> Together:
    """Return, for a corpus, the errors that all their claims notice when they are applied together with others."""

    @cache
    def of_corpus(corpus_id: str) -> set[str]:
        made, before = builds(corpus_id)
        twins, claims = TWINS[corpus_id], CLAIMS[corpus_id]
        left, found, more = dict(twins), set(), True
        while more:
            more = False
            for group in [group for group in groups(left) if len(group) > 1]:
                noticing = [claim_id for name in group for claim_id in twins[name].claims]
                with contextlib.suppress(LookupError, StopIteration):  # an error that does not fit another record
                    after = made.edited(noticing, *(twins[name].edit for name in group))
                    for name in group:
                        own = {claim_id: after[claim_id] for claim_id in twins[name].claims}
                        if not unnoticed(claims, before, own, twins[name].rows):
                            found.add(name)
                            del left[name]
                            more = True
        return found

    return of_corpus


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_every_claim_has_a_twin_and_every_twin_a_claim(corpus_id: str) -> None:
    assert fixtures.unmatched_claims(corpus_id) == []


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_only_claims_about_computed_columns_have_a_statement(corpus_id: str) -> None:
    stated = [CLAIMS[corpus_id][claim_id] for claim_id in fixtures.statements(corpus_id)]
    assert [claim.claim_id for claim in stated if claim.quotes_whom != "own_measurement"] == []


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_claims_that_hold_of_the_sample_have_no_row_that_breaks_them(builds: Builds, corpus_id: str) -> None:
    before = builds(corpus_id)[1]
    invariants = [claim for claim in CLAIMS[corpus_id].values() if claim.kind == "invariant" and not claim.recorded]
    assert [claim.claim_id for claim in invariants if before[claim.claim_id].broken] == []


@pytest.mark.parametrize(
    ("corpus_id", "name"),
    [pytest.param(corpus_id, name, id=f"{corpus_id}/{name}") for corpus_id in CORPORA for name in TWINS[corpus_id]],
)
def test_claims_notice_an_error_in_a_source_file(builds: Builds, together: Together, corpus_id: str, name: str) -> None:
    twin = TWINS[corpus_id][name]
    if name not in together(corpus_id):
        made, before = builds(corpus_id)
        after = made.edited(twin.claims, twin.edit)
        assert unnoticed(CLAIMS[corpus_id], before, after, twin.rows) == {}


@pytest.mark.parametrize(
    ("corpus_id", "claim_id"),
    [
        pytest.param(corpus_id, claim_id, id=f"{corpus_id}/{claim_id}")
        for corpus_id in CORPORA
        for claim_id in fixtures.statements(corpus_id)
    ],
)
def test_claim_about_a_computed_column_notices_a_wrong_row(builds: Builds, corpus_id: str, claim_id: str) -> None:
    made, before = builds(corpus_id)
    after = made.verdicts([claim_id], fixtures.statements(corpus_id)[claim_id])
    assert unnoticed(CLAIMS[corpus_id], before, after, {claim_id: 1}) == {}


def test_error_that_no_claim_notices_is_named(builds: Builds) -> None:
    @breaks()
    def nothing_is_wrong(files: Files) -> None:
        pass

    corpus_id = CORPORA[0]
    made, before = builds(corpus_id)
    chosen = [
        next(claim_id for claim_id, claim in CLAIMS[corpus_id].items() if claim.kind == kind)
        for kind in ("count", "invariant")
    ]
    after = made.edited(chosen, nothing_is_wrong.edit)
    assert set(unnoticed(CLAIMS[corpus_id], before, after, dict.fromkeys(chosen, 1))) == set(chosen)
