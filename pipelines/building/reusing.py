"""Reuse tables of the published build where the models, and all that they read, are unchanged.

The definition of a model is a hash of its SQL, its YAML, and the definitions or contents of its parents, down to the
sources and the landed files. The definition of a test is made in the same way. A model or test with the definition that
the published build recorded does not run again. If a table is made again and its rows are the same as before, the
models that read it are reused as well: a query that is rewritten, or a column that gets a description, makes one table.
Where anything else has changed (Python, macros, libraries, landed files), all definitions differ, and everything is
made.
"""

from __future__ import annotations

import contextlib
import graphlib
import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb

from dialogue_warehouse.common.database import connect, hashed, identifier, literal
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE, DBT_PROJECT, WarehousePaths
from dialogue_warehouse.settings import DUCKDB, DUCKDB_TABLES, Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.storage.builds import PUBLISHED_SCHEMAS, BuildManifest, Definitions
from pipelines.building import fingerprint
from pipelines.building.dbt import NodeResult
from pipelines.building.state import Build
from pipelines.ingestion.raw_layer import CATALOG_TABLES

OF_A_PARSE = ("created_at", "build_path", "compiled_path", "compiled", "compiled_code", "extra_ctes")
"""Keys of a node in dbt's manifest that are not part of its definition: when it was read, and the results of a run."""
NO_VACUUM = 0
"""Open a copy without vacuum, so that reused tables are not rewritten: that made the file of scale 1 an eighth
larger."""
ABOUT_THE_BUILT = frozenset({"api", "cli", "exporting", "lineage", "reading", "scoring", "site", "terminal"})
"""The folders of `dialogue_warehouse` whose code only uses built tables; it changes no row of a model."""
AUDIT = "audit"
"""The tag of the models that load what the audit wrote; every build makes these."""


class Project:
    """The models and tests of a parsed project that run before the audit: the content of each, and what it reads."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        """Read them from a manifest in the form in which dbt writes it."""
        nodes, parents, sources = written["nodes"], written["parent_map"], written["sources"]
        order = graphlib.TopologicalSorter({name: [one for one in parents[name] if one in nodes] for name in nodes})
        self.nodes: dict[str, dict[str, Any]] = {}
        """The nodes by unique id, each after everything that it reads."""
        self.parents: dict[str, list[str]] = {}
        for name in order.static_order():
            read = [one for one in parents[name] if one in nodes]
            if AUDIT not in nodes[name]["tags"] and all(one in self.nodes for one in read):
                self.nodes[name], self.parents[name] = nodes[name], read
        self.said = {
            name: _hash([_said(node), *(_said(sources[one]) for one in sorted(parents[name]) if one in sources)])
            for name, node in self.nodes.items()
        }

    def is_test(self, name: str) -> bool:
        """Return whether it is a test, singular or generic."""
        return self.nodes[name]["resource_type"] == "test"

    def is_published(self, name: str) -> bool:
        """Return whether it makes a table that readers see."""
        return not self.is_test(name) and self.nodes[name]["schema"] in PUBLISHED_SCHEMAS

    def is_ephemeral(self, name: str) -> bool:
        """Return whether it is a part of the models that read it, and makes nothing itself."""
        return self.nodes[name]["config"]["materialized"] == "ephemeral"

    def is_scratch(self, name: str) -> bool:
        """Return whether it makes a table that is thrown away."""
        return not (self.is_test(name) or self.is_ephemeral(name) or self.is_published(name))

    def table(self, name: str) -> str:
        """Return the table that a model makes, with its schema."""
        return f"{self.nodes[name]['schema']}.{self.nodes[name]['alias']}"

    def selector(self, names: Iterable[str]) -> str:
        """Return dbt's selector of these nodes and of no others."""
        return " ".join(f"fqn:{'.'.join(self.nodes[name]['fqn'])}" for name in sorted(names))

    def define(self, inputs: str, known: Definitions) -> Definitions:
        """Return the definition of everything.

        `known` has the definitions that are known already, with the contents that equal those of another definition.
        """
        digests: dict[str, str] = {}
        contents: dict[str, str] = {}
        for name, said in self.said.items():
            digests[name] = _hash([inputs, said, sorted(contents.get(one, digests[one]) for one in self.parents[name])])
            if known.digests.get(name) == digests[name] and name in known.contents:
                contents[name] = known.contents[name]
        return Definitions(digests, contents)

    def read_from_scratch(self, names: Iterable[str]) -> set[str]:
        """Return the scratch tables that these read, directly or through others."""
        found: set[str] = set()
        ahead = [parent for name in names for parent in self.parents[name]]
        while ahead:
            name = ahead.pop()
            if name not in found and not self.is_published(name):
                found.add(name)
                ahead += self.parents[name]
        return {name for name in found if self.is_scratch(name)}


class Reuse:
    """The models and tests of a build that must run; the tables of all others are reused."""

    def __init__(self, project: Project, inputs: str, base: BuildManifest | None) -> None:
        """Compare the definitions with those of the published build; None if nothing of it can be reused."""
        self.project, self.inputs, self.base = project, inputs, base
        before = base.definitions if base else Definitions()
        self.before = before
        self.known = Definitions(dict(before.digests), dict(before.contents))
        self.now = project.define(inputs, self.known)

    def left(self) -> set[str]:
        """Return the tests and the models of published tables that must run, because their definition is not known."""
        project, known = self.project, self.known.digests
        return {
            name
            for name, digest in self.now.digests.items()
            if known.get(name) != digest and (project.is_test(name) or project.is_published(name))
        }

    def ready(self) -> set[str]:
        """Return those that must run and read no published table that must be made first."""
        left = self.left()
        waiting: set[str] = set()
        for name, parents in self.project.parents.items():
            if any(one in waiting or (one in left and self.project.is_published(one)) for one in parents):
                waiting.add(name)
        return left - waiting

    def reused(self) -> list[str]:
        """Return the published tables whose rows are those of the published build."""
        now, before, project = self.now, self.before, self.project
        return sorted(
            project.table(name)
            for name, digest in now.digests.items()
            if project.is_published(name) and now.contents.get(name, digest) == before.content(name)
        )

    def note(self, names: Iterable[str], same: Collection[str]) -> None:
        """Record that these nodes have run, and that those in `same` have the same rows as before."""
        for name in names:
            self.known.digests[name] = self.now.digests[name]
            self.known.contents.pop(name, None)
        for name in same:
            self.known.contents[name] = self.before.contents.get(name, self.before.digests[name])
        self.now = self.project.define(self.inputs, self.known)


def _said(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the project says of a node or a source."""
    return {key: value for key, value in node.items() if key not in OF_A_PARSE}


def plan(written: Mapping[str, Any], build: Build, paths: WarehousePaths, settings: Settings) -> Reuse:
    """Plan what must run in a build that has landed everything.

    Everything runs under `--force`, and in a build whose engine is not DuckDB or whose tables are not in a DuckDB
    file.
    """
    project, inputs = Project(written), _inputs(build, paths)
    is_whole = settings.force or (build.engine, build.tables) != (DUCKDB, DUCKDB_TABLES)
    reuse = Reuse(project, inputs, None if is_whole else _base(paths))
    return reuse if reuse.reused() else Reuse(project, inputs, None)


def _base(paths: WarehousePaths) -> BuildManifest | None:
    """Return the manifest of the published build, if its tables can be copied."""
    with contextlib.suppress(InputError):
        build_id, database = builds.published_build(paths)
        manifest = builds.read_manifest(paths, build_id)
        if manifest.database and not manifest.tables and builds.is_as_published(database, manifest.database):
            return manifest
    return None


def _inputs(build: Build, paths: WarehousePaths) -> str:
    """Return the hash of all that models read besides models: landed files, by their names, and code.

    The name of a landed file identifies its content. The code is the Python files that can change a row, and the files
    of the dbt project other than models and tests.
    """
    digest = hashlib.sha256(json.dumps(build.raw, sort_keys=True).encode())
    for name in CATALOG_TABLES:
        for file in sorted((paths.scratch_raw / name).iterdir()):
            digest.update(file.read_bytes())
    fingerprint.add_code(digest.update, (path for path in fingerprint.code_files() if _is_read_by_all(path)))
    return digest.hexdigest()[:32]


def _is_read_by_all(path: Path) -> bool:
    folder, *below = path.relative_to(CLONE).parts
    if folder == DBT_PROJECT.name:
        return below[0] not in ("models", "tests")
    is_code = path.suffix == ".py" and folder in ("dialogue_warehouse", "pipelines")
    return is_code and not (folder == "dialogue_warehouse" and below[0] in ABOUT_THE_BUILT)


def run(
    reuse: Reuse, paths: WarehousePaths, settings: Settings, make: Callable[[str], list[NodeResult]]
) -> list[NodeResult]:
    """Make and test what has changed, in a copy of the published build, and return all results.

    The results include those of reused nodes; each node follows what it reads. `make` runs the nodes that a selector
    names. Nodes that read no table to be made run first; the rest run only where the content of those tables has
    changed. Stops at the first failure.
    """
    rows = _copy(reuse, paths, settings)
    project, scratch = reuse.project, set()
    ran: dict[str, NodeResult] = {}
    chosen = reuse.ready()
    while chosen:
        read = project.read_from_scratch(chosen) - scratch
        results = make(project.selector(chosen | read))
        ran |= {result.unique_id: result for result in results}
        if not all(result.is_passed for result in results):
            break
        scratch |= read
        tables = {name for name in chosen if project.is_published(name)}
        same = _same_rows(reuse, tables, paths, settings) if reuse.left() - chosen else set()
        reuse.note(chosen, same)
        chosen = reuse.ready() if same == tables else reuse.left()
    return _with_reused(reuse, ran, rows)


def _with_reused(reuse: Reuse, ran: dict[str, NodeResult], rows: Mapping[str, int]) -> list[NodeResult]:
    """Return the results of the nodes that ran, and a result for each that did not need to, with its rows."""
    assert reuse.base is not None
    project, results = reuse.project, []
    missing = {name for name in reuse.left() if name not in ran or not ran[name].is_passed}
    for name, node in project.nodes.items():
        if any(parent in missing for parent in project.parents[name]):
            missing.add(name)
        if name in ran:
            results.append(ran[name])
        elif name not in missing and not project.is_ephemeral(name):
            is_test, made_by = project.is_test(name), reuse.base.build_id
            counted = None if is_test else rows.get(project.table(name))
            result = NodeResult(name, node["name"], is_test, True, 0.0, 0, "", "", reused_from=made_by, rows=counted)
            results.append(result)
    return results


def _copy(reuse: Reuse, paths: WarehousePaths, settings: Settings) -> dict[str, int]:
    """Begin the scratch database as a copy of the published build, without the tables that are made first.

    Return the number of rows of each table that is there. DuckDB's estimate is exact for tables that only got rows.
    """
    assert reuse.base is not None
    project = reuse.project
    stays = {project.table(name) for name in project.nodes if project.is_published(name)}
    stays -= {project.table(name) for name in reuse.ready() if project.is_published(name)}
    shutil.copyfile(paths.build_database(reuse.base.build_id), paths.scratch_database)
    with connect(settings, paths.scratch_database, max_vacuum_tasks=NO_VACUUM) as con:
        there = con.execute(
            "select schema_name, table_name, estimated_size from duckdb_tables() where not temporary"
        ).fetchall()
        for schema, table, _ in there:
            if f"{schema}.{table}" not in stays:
                con.execute(f"drop table {identifier(schema)}.{identifier(table)}")
    return {f"{schema}.{table}": rows for schema, table, rows in there}


def _same_rows(reuse: Reuse, names: Iterable[str], paths: WarehousePaths, settings: Settings) -> set[str]:
    """Return those of the published tables that have the columns and the rows of the published build."""
    assert reuse.base is not None
    project, same = reuse.project, set()
    with connect(settings, paths.scratch_database, read_only=True) as con:
        con.execute(f"attach {literal(str(paths.build_database(reuse.base.build_id)))} as published (read_only)")
        for name in names:
            if project.is_published(name) and name in reuse.before.digests:
                sides = [_content(con, f"{database}.{project.table(name)}") for database in ("dialogues", "published")]
                if sides[0] == sides[1]:
                    same.add(name)
    return same


def _content(con: duckdb.DuckDBPyConnection, table: str) -> list[tuple[Any, ...]]:
    """Return the columns of a table with their types, and 128 bits of hashes of its rows, in any order."""
    columns = con.execute(f"select column_name, column_type from (describe {table})").fetchall()
    listed = hashed(dict(columns))
    hashes = f"count(*), sum(hash({listed})), sum(hash(1, {listed}))"
    return [*columns, *con.execute(f"select {hashes} from {table}").fetchall()]


def _hash(said: object) -> str:
    """Return a hash of a value that can be written as JSON."""
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()[:32]
