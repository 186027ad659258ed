"""What landing refuses counts against the claims about the form of it, and claims say how many rows they are about.

The refusals are landing's own: each place of each file of the hand-written releases is made wrong in turn.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import Claim, load_claims, read_claims
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.storage.landed import Landed
from expectations.client import AuditProcess
from expectations.verdicts import Basis, count_basis, rows_query
from pipelines.ingestion.checking import RecordCheck
from tests import fixtures
from tests.unit import core_tables
from tests.unit.bench import Bench
from tests.unit.rooms import room

CORPORA = registry.corpus_ids()
WITH_REFUSALS = [claim for corpus_id in CORPORA for claim in load_claims(corpus_id) if claim.refused]
ITEMS = 6
"""Items of a list that are made wrong."""
WRONG = [{"wrong": [{}]}]
"""No value of any schema: neither the type of a scalar, nor of an item, nor of a member."""


def spoiled(document: Any) -> Iterator[Any]:
    """The document with a place of it taken out or made wrong, for each place; the document itself is the same after."""
    members: list[Any] = list(document) if isinstance(document, dict) else []
    members = list(range(min(ITEMS, len(document)))) if isinstance(document, list) else members
    for member in members:
        value = document[member]
        for wrong in (WRONG, None):
            document[member] = wrong
            yield None
        document[member] = value
        if isinstance(document, dict):
            kept = dict(document)
            del document[member]
            yield None
            document.clear()
            document.update(kept)
        else:
            document.append(copy.deepcopy(value))  # one item more than the record says elsewhere
            yield None
            document.pop()
        yield from spoiled(value)


@cache
def refusals(corpus_id: str) -> tuple[str, ...]:
    """Path and error of each record of the hand-written release that landing refuses when a place of it is wrong."""
    corpus, folder = registry.load_corpus(corpus_id), fixtures.release_of(corpus_id)
    found: dict[str, None] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        plain = path.relative_to(folder).as_posix()
        names = [(entity, name) for name in (plain, f"{plain}.gz") for entity in corpus.entities]
        entity, name = next((entity, name) for entity, name in names if re.fullmatch(entity.pattern, name))
        landed = Landed(corpus_id, entity.name, name, None, None, 0, "", "unlisted", 0, "")
        for text in spoiled_files(path):
            check = RecordCheck(entity, landed, None)
            try:
                check.run(text, None)
            except InputError:  # the file as a whole is refused: nothing is published of it
                continue
            found.update(dict.fromkeys(f"{name} {record['error']}" for record in check.quarantine))
    return tuple(found)


def spoiled_files(path: Path) -> Iterator[bytes]:
    """The contents of a file, each with another place made wrong."""
    content = path.read_bytes()
    if path.suffix == ".csv":
        yield from (content.replace(b",", b""), b"\n" + content, content + b"a,b,c\n")
        return
    document = json.loads(content)
    for _ in spoiled(document):
        yield json.dumps(document).encode()


def matching(claim: Claim) -> list[str]:
    found = "select list_filter(?::varchar[], lambda refusal: regexp_matches(refusal, ?))"
    return duckdb.execute(found, [list(refusals(claim.corpus_id)), claim.refused]).fetchall()[0][0]


@pytest.mark.parametrize("claim", WITH_REFUSALS, ids=lambda claim: claim.claim_id)
def test_a_claim_names_refusals_that_landing_gives_and_not_all_of_them(claim: Claim) -> None:
    """T3: an expression that no refusal matches would be a promise that nobody keeps."""
    found = matching(claim)
    assert found
    assert len(found) < len(refusals(claim.corpus_id))


@pytest.fixture(scope="module")
def refused(audit: AuditProcess, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """No row of any corpus, but a refused record that breaks each of the claims about a form."""
    bench = Bench(audit, tmp_path_factory.mktemp("refused"), CORPORA)
    with duckdb.connect(str(bench.database)) as connection:
        core_tables.create(connection)
        for corpus_id in CORPORA:
            core_tables.insert(connection, "dim_corpora", {"corpus_id": corpus_id})
            file = {"corpus_id": corpus_id, "path": "other.json", "verification": "unlisted"}
            core_tables.insert(connection, "dim_source_files", file)
        for claim in WITH_REFUSALS:
            path, _, error = matching(claim)[0].partition(" ")
            record = {"corpus_id": claim.corpus_id, "source_file_id": f"{claim.corpus_id}/{path}", "error": error}
            core_tables.insert(connection, "source_quarantine", record)
    return bench


def test_a_claim_whose_culprits_landing_quarantined_is_refuted(refused: Bench) -> None:
    """T3: S17, S15b, B02b, M11 and M09c were reproduced beside such records, and so was every other of this kind."""
    refused.run()
    with duckdb.connect() as connection:
        checks = connection.execute(
            f"select claim_id, verdict, is_as_recorded, rows_tested, explanation "
            f"from '{refused.folder}/claim_checks/results.parquet'"
        ).fetchall()
    found = {claim_id: rest for claim_id, *rest in checks}
    judged = {claim.claim_id for claim in WITH_REFUSALS if found[claim.claim_id][0] != "source_absent"}
    assert len(judged) > len(WITH_REFUSALS) / 2
    for claim_id in judged:
        verdict, is_as_recorded, rows_tested, explanation = found[claim_id]
        assert (verdict, is_as_recorded) == ("refuted", False), claim_id
        assert rows_tested > 0
        assert "records that landing refused break it" in explanation
    others = [claim_id for claim_id, (_, _, _, told) in found.items() if claim_id not in judged and "refused" in told]
    assert not [claim_id for claim_id in others if "records that landing refused" in found[claim_id][3]]


@pytest.mark.parametrize(
    ("changes", "query"),
    [
        ({}, "select count(*) from core.fct_turns where corpus_id = 'room' and \"source_speaker\" is not null"),
        (
            {"rows": '{ corpus_id = "room", role = ["user", "peer"], event_type = "it\'s" }', "kwargs": None},
            "select count(*) from core.fct_turns where corpus_id = 'room' and \"role\" in ('user', 'peer') "
            "and \"event_type\" in ('it''s')",
        ),
        (
            {"type": '"expect_column_values_to_be_null"'},
            "select count(*) from core.fct_turns where corpus_id = 'room'",
        ),
        ({"tested": '"core.fct_turns where false"'}, "select count(*) from core.fct_turns where false"),
        ({"type": None, "kwargs": None, "rows": None, "not_checkable": '"why"'}, None),
    ],
)
def test_rows_of_a_claim_are_those_that_it_reads(tmp_path: Path, changes: dict[str, Any], query: str | None) -> None:
    """T4: what is counted is what could have broken the claim."""
    ((_, entry),) = read_claims("room", room(tmp_path, changes)).claims
    assert rows_query("room", entry) == query


def test_rows_and_refusals_of_its_own_corpus_alone_are_counted(tmp_path: Path) -> None:
    ((claim, entry),) = read_claims("room", room(tmp_path, {"refused": '"speaker"'})).claims
    with duckdb.connect() as connection:
        core_tables.create(connection)
        for corpus_id in ("room", "room", "other"):
            core_tables.insert(connection, "fct_turns", {"corpus_id": corpus_id, "source_speaker": "A"})
        core_tables.insert(connection, "fct_turns", {"corpus_id": "room", "source_speaker": None})
        for corpus_id, error in (("room", "`speaker`"), ("room", "`text`"), ("other", "`speaker`")):
            record = {"corpus_id": corpus_id, "source_file_id": f"{corpus_id}/a.json", "error": error}
            core_tables.insert(connection, "source_quarantine", record)
        tested = count_basis(connection, [claim], {claim.claim_id: rows_query("room", entry)})
    assert tested == {claim.claim_id: Basis(rows=3, refused=1, first_refused="a.json `speaker`")}
