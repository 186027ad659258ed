"""Verdicts on claims about one corpus's release, by the steps of a build that lead to them, and only these.

The steps are the build's own: its landing, the SQL of its models as dbt compiles it, its expectations and its verdicts.
They run without Dagster, and only for the tables that the claims read, so that a release costs a fraction of a second.
The release is judged as if it were the publisher's and complete, because on any other release no number is judged.
"""

from __future__ import annotations

import functools
import importlib
import json
import re
import sys
import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from unittest import mock

import duckdb

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import Claim, Entry, read_claims
from dialogue_warehouse.corpora.suites import load_corpus_suite
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.finding import find_release
from dialogue_warehouse.settings import Settings
from expectations.ledger import Ledger
from expectations.verdicts import ClaimCheck, Release, count_basis, rows_query
from pipelines.building import dbt
from pipelines.ingestion import raw_layer
from pipelines.ingestion.lander import Lander
from tests.dbt_runs import run_dbt
from tests.fixtures.twins import Edit, Files

if TYPE_CHECKING:
    from expectations import validation

SETTINGS = Settings(threads=1, processes=1)
ALWAYS = {"dim_source_files", "source_quarantine"}
"""Tables of core that the verdicts read."""


@dataclass(frozen=True)
class Model:
    """A table of core or of staging, with its SQL."""

    name: str
    relation: str
    query: str
    needs: frozenset[str]
    """The tables that the SQL reads."""


def compile_models(folder: Path) -> dict[str, Model]:
    """Return the tables of core and those that they need, by name, each after those that it needs."""
    paths = WarehousePaths(folder)
    selected = ("--select", "+path:models/marts/core,resource_type:model")
    nodes = {of.node.unique_id: of.node for of in run_dbt(dbt.parse(paths), paths, "compile", *selected)}
    models: dict[str, Model] = {}
    while len(models) < len(nodes):
        for node in nodes.values():
            parents = [nodes[parent] for parent in node.depends_on.nodes if parent in nodes]
            if node.name not in models and all(parent.name in models for parent in parents):
                needs = {name for parent in parents for name in (parent.name, *models[parent.name].needs)}
                models[node.name] = Model(node.name, node.relation_name, node.compiled_code, frozenset(needs))
    return {name: model for name, model in models.items() if model.relation}  # the others are a part of these


@dataclass(frozen=True)
class Found:
    """The verdict on a claim, and the number of rows that break an invariant."""

    check: ClaimCheck
    broken: int | None


class SourceBuilds:
    """Builds of one corpus's release in a folder, one after the other."""

    def __init__(self, corpus_id: str, source: Path, folder: Path, models: dict[str, Model]) -> None:
        """Read the release at `source/<corpus_id>`, and work in `folder`."""
        self._corpus, self._source, self._models = registry.load_corpus(corpus_id), source, models
        self._paths = WarehousePaths(folder)
        self._claims = {claim.claim_id: (claim, entry) for claim, entry in read_claims(corpus_id).claims}
        self._suite = load_corpus_suite(corpus_id)
        for corpus in registry.load_corpora():
            raw_layer.link_raw(corpus, [], self._paths)

    def edited(self, claim_ids: Collection[str], *edits: Edit) -> dict[str, Found]:
        """Return the verdicts on these claims after edits of the release, which are undone afterwards.

        The second edit finds the second record of each file as the first one, and so on.
        """
        folder = self._source / self._corpus.corpus_id
        files = Files(folder)
        for place, edit in enumerate(edits):
            files.begin_at(place)
            edit(files)
        files.begin_at(0)
        kept = {path: (folder / path).read_bytes() for path in files if (folder / path).exists()}
        try:
            files.write()
            return self.verdicts(claim_ids)
        finally:
            for path in files:
                (folder / path).unlink(missing_ok=True)
            for path, data in kept.items():
                (folder / path).write_bytes(data)

    def verdicts(self, claim_ids: Collection[str], statement: str = "") -> dict[str, Found]:
        """Land the release, make the tables that these claims read, run a statement, and return their verdicts."""
        chosen = [self._claims[claim_id] for claim_id in claim_ids]
        self._land()
        database = self._paths.scratch_database
        database.unlink(missing_ok=True)
        with duckdb.connect(str(database), config={"threads": 1}) as con:
            self._build(con, set().union(ALWAYS, *(_tables(claim, entry) for claim, entry in chosen)))
            con.execute(statement or "select 1")
            ledger = self._ledger(con, chosen)
        kept = tuple(each for each in self._suite.expectations if each.claim_id in claim_ids)
        outcomes = _validation().validate(database, [replace(self._suite, expectations=kept)], {}, {"threads": "1"})
        checks = {check.claim_id: check for check in ledger.checks(outcomes)}
        figures = {outcome.expectation.claim_id: outcome for outcome in outcomes}
        return {
            claim.claim_id: Found(
                checks[claim.claim_id], _broken(claim, checks[claim.claim_id], figures[claim.claim_id])
            )
            for claim, _ in chosen
        }

    def _land(self) -> None:
        release = find_release(self._corpus, self._source)
        with Lander(self._paths.raw, SETTINGS) as lander:
            landed = lander.land(release)
        raw_layer.link_raw(self._corpus, landed, self._paths)
        raw_layer.write_catalog([self._corpus], landed, self._paths, SETTINGS)

    def _build(self, con: duckdb.DuckDBPyConnection, wanted: Iterable[str]) -> None:
        """Make these tables of core in a new database."""
        needed = {name for one in wanted for name in (one, *self._models[one].needs)}
        con.execute(f"set file_search_path = '{self._paths.scratch}'")
        con.execute("attach ':memory:' as staging")
        for model in self._models.values():
            if model.name in needed:
                con.execute(f"create schema if not exists {model.relation.rpartition('.')[0]}")
                con.execute(f"create table {model.relation} as ({model.query}\n)")

    def _ledger(self, con: duckdb.DuckDBPyConnection, chosen: Collection[tuple[Claim, Entry]]) -> Ledger:
        claims = tuple(claim for claim, _ in chosen)
        corpus_id = self._corpus.corpus_id
        queries = {claim.claim_id: rows_query(corpus_id, entry) for claim, entry in chosen}
        paths = frozenset(file.path for file in self._corpus.files if not file.is_documentation)
        release = Release(corpus_id, dict.fromkeys(paths, "verified"), paths)
        return Ledger(claims, (), {corpus_id: release}, queries, count_basis(con, claims, queries))


def _tables(claim: Claim, entry: Entry) -> set[str]:
    """Return the tables of core that a claim reads."""
    return set(re.findall(r"\bcore\.(\w+)", f"{claim.query} {entry.table} {entry.tested}"))


@functools.cache
def _validation() -> ModuleType:
    """Import the module that imports Great Expectations, which takes seconds.

    pyspark, if it is installed, ends a process whose main module has no file, such as a process of `pytest -n`.
    """
    main = sys.modules["__main__"]
    with mock.patch.object(main, "__file__", __file__, create=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that Great Expectations imports if they are there
        return importlib.import_module("expectations.validation")


def _broken(claim: Claim, check: ClaimCheck, outcome: validation.Outcome) -> int | None:
    """Return the number of rows and rejected records that break an invariant; None for a number."""
    if claim.kind == "count":
        return None
    refused = re.search(r"rejected records that break the claim: (\d+)", check.explanation)
    rows = outcome.rows[0][0] if outcome.rows else json.loads(outcome.observed).get("unexpected", 0)
    return rows + (int(refused[1]) if refused else 0)
