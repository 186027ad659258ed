"""What a build takes from the published one: tables whose models, and all that those read, are as they were.

The definition of a model is the hash of what its SQL and its YAML say and of what its parents come to, down to the
landed files; so is that of a test. What has the definition that the published build recorded is not run again. A table
that is made again and comes to the same rows counts as what it was, so that what reads it stays as well: a query that
is written anew, or a column that is described, makes one table. Where anything else has changed (Python, macros,
libraries, landed files) no definition is the same, and everything is made.
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

from dialogue_warehouse.common.database import connect, identifier, literal
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
"""What dbt's manifest says of a node beside its definition: when it was read, and what a run has made of it."""
NO_VACUUM = 0
"""How a copy is opened, so that nothing that stays is written again: that made the file of scale 1 an eighth larger."""
ABOUT_THE_BUILT = frozenset({"cli", "dashboard", "lineage", "reading", "site", "terminal"})
"""The folders of `dialogue_warehouse` that read, show or compare what is built; they change no row of a model."""
AUDIT = "audit"
"""The tag of the models that load what the audit wrote, which every build makes."""


class Project:
    """The models and tests of a parsed project that come before the audit: what each says, and what it reads."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        """Take them from a manifest in the form in which dbt writes it."""
        nodes, parents = written["nodes"], written["parent_map"]
        order = graphlib.TopologicalSorter({name: [one for one in parents[name] if one in nodes] for name in nodes})
        self.nodes: dict[str, dict[str, Any]] = {}
        """By unique id, each after everything that it reads."""
        self.parents: dict[str, list[str]] = {}
        for name in order.static_order():
            read = [one for one in parents[name] if one in nodes]
            if AUDIT not in nodes[name]["tags"] and all(one in self.nodes for one in read):
                self.nodes[name], self.parents[name] = nodes[name], read
        self.said = {
            name: _hash({key: value for key, value in node.items() if key not in OF_A_PARSE})
            for name, node in self.nodes.items()
        }

    def is_test(self, name: str) -> bool:
        """Whether it is a test, singular or generic."""
        return self.nodes[name]["resource_type"] == "test"

    def is_published(self, name: str) -> bool:
        """Whether it makes a table that readers see."""
        return not self.is_test(name) and self.nodes[name]["schema"] in PUBLISHED_SCHEMAS

    def is_ephemeral(self, name: str) -> bool:
        """Whether it is a part of the models that read it, and makes nothing."""
        return self.nodes[name]["config"]["materialized"] == "ephemeral"

    def is_scratch(self, name: str) -> bool:
        """Whether it makes a table that is thrown away."""
        return not (self.is_test(name) or self.is_ephemeral(name) or self.is_published(name))

    def table(self, name: str) -> str:
        """The table that a model makes, with its schema."""
        return f"{self.nodes[name]['schema']}.{self.nodes[name]['alias']}"

    def selector(self, names: Iterable[str]) -> str:
        """What selects these and nothing else, in the words of dbt."""
        return " ".join(f"fqn:{'.'.join(self.nodes[name]['fqn'])}" for name in sorted(names))

    def define(self, inputs: str, known: Definitions) -> Definitions:
        """The definition of everything; `known` says which are known to come to what another definition came to."""
        digests: dict[str, str] = {}
        contents: dict[str, str] = {}
        for name, said in self.said.items():
            digests[name] = _hash([inputs, said, sorted(contents.get(one, digests[one]) for one in self.parents[name])])
            if known.digests.get(name) == digests[name] and name in known.contents:
                contents[name] = known.contents[name]
        return Definitions(digests, contents)

    def read_from_scratch(self, names: Iterable[str]) -> set[str]:
        """The scratch tables that these read, and those that they read in turn."""
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
        """Compare the definitions with those of the published build, None where nothing can be taken from it."""
        self.project, self.inputs, self.base = project, inputs, base
        before = base.definitions if base else Definitions()
        self.before = before
        self.known = Definitions(dict(before.digests), dict(before.contents))
        self.now = project.define(inputs, self.known)

    def left(self) -> set[str]:
        """The tests and the models of published tables that are to be run: their definition is not known."""
        project, known = self.project, self.known.digests
        return {
            name
            for name, digest in self.now.digests.items()
            if known.get(name) != digest and (project.is_test(name) or project.is_published(name))
        }

    def ready(self) -> set[str]:
        """Those of them that read no published table that is to be made."""
        left = self.left()
        waiting: set[str] = set()
        for name, parents in self.project.parents.items():
            if any(one in waiting or (one in left and self.project.is_published(one)) for one in parents):
                waiting.add(name)
        return left - waiting

    def reused(self) -> list[str]:
        """The published tables whose rows are those of the published build."""
        now, before, project = self.now, self.before, self.project
        return sorted(
            project.table(name)
            for name, digest in now.digests.items()
            if project.is_published(name) and now.contents.get(name, digest) == before.content(name)
        )

    def note(self, names: Iterable[str], same: Collection[str]) -> None:
        """Note that these have been run, and that some of them have come to the same rows as before."""
        for name in names:
            self.known.digests[name] = self.now.digests[name]
            self.known.contents.pop(name, None)
        for name in same:
            self.known.contents[name] = self.before.contents.get(name, self.before.digests[name])
        self.now = self.project.define(self.inputs, self.known)


def plan(written: Mapping[str, Any], build: Build, paths: WarehousePaths, settings: Settings) -> Reuse:
    """What of a build that has landed everything is to be run; everything under `--force`, and where it is no table."""
    project, inputs = Project(written), _inputs(build, paths)
    is_whole = settings.force or (build.engine, build.tables) != (DUCKDB, DUCKDB_TABLES)
    reuse = Reuse(project, inputs, None if is_whole else _base(paths))
    return reuse if reuse.reused() else Reuse(project, inputs, None)


def _base(paths: WarehousePaths) -> BuildManifest | None:
    """The published build, where its tables can be copied."""
    with contextlib.suppress(InputError):
        build_id, database = builds.published_build(paths)
        manifest = builds.read_manifest(paths, build_id)
        if manifest.database and not manifest.tables and builds.is_as_published(database, manifest.database):
            return manifest
    return None


def _inputs(build: Build, paths: WarehousePaths) -> str:
    """The hash of what models read, other than models: landed files by their names, which tell their content, and code.

    Of our own files that is the Python of the pipelines that can change a row, and of the project all but models and
    tests.
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
    """Make and test what has changed, in a copy of the published build; what was run, and what was taken from there.

    `make` runs what a selector names. First is what reads nothing that is to be made; the rest only where that has come
    to something else. Ends with the first failure. The results are in an order in which each follows what it reads.
    """
    _copy(reuse, paths, settings)
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
    return _with_reused(reuse, ran)


def _with_reused(reuse: Reuse, ran: dict[str, NodeResult]) -> list[NodeResult]:
    """What was run, and a result for all that was not and need not be."""
    assert reuse.base is not None
    project, results = reuse.project, []
    missing = {name for name in reuse.left() if name not in ran or not ran[name].is_passed}
    for name, node in project.nodes.items():
        if any(parent in missing for parent in project.parents[name]):
            missing.add(name)
        if name in ran:
            results.append(ran[name])
        elif name not in missing and not project.is_ephemeral(name):
            is_test, reused_from = project.is_test(name), reuse.base.build_id
            results.append(NodeResult(name, node["name"], is_test, True, 0.0, 0, "", "", reused_from=reused_from))
    return results


def _copy(reuse: Reuse, paths: WarehousePaths, settings: Settings) -> None:
    """Begin the scratch database as a copy of the published build, without what is to be made first."""
    assert reuse.base is not None
    project = reuse.project
    stays = {project.table(name) for name in project.nodes if project.is_published(name)}
    stays -= {project.table(name) for name in reuse.ready() if project.is_published(name)}
    shutil.copyfile(paths.build_database(reuse.base.build_id), paths.scratch_database)
    with connect(settings, paths.scratch_database, max_vacuum_tasks=NO_VACUUM) as con:
        there = con.execute("select schema_name, table_name from duckdb_tables() where not temporary").fetchall()
        for schema, table in there:
            if f"{schema}.{table}" not in stays:
                con.execute(f"drop table {identifier(schema)}.{identifier(table)}")


def _same_rows(reuse: Reuse, names: Iterable[str], paths: WarehousePaths, settings: Settings) -> set[str]:
    """Those of the published tables among these that have the columns and the rows of the published build."""
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
    """The columns of a table with their types, and 128 bits of hashes of its rows, whatever their order."""
    columns = con.execute(f"select column_name, column_type from (describe {table})").fetchall()
    listed = ", ".join(identifier(column) for column, _ in columns)
    hashes = f"count(*), sum(hash({listed})), sum(hash(1, {listed}))"
    return [*columns, *con.execute(f"select {hashes} from {table}").fetchall()]


def _hash(said: object) -> str:
    """A hash of what can be written as JSON."""
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()[:32]
