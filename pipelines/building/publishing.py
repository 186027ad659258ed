"""Publish a build: the scratch database becomes a build, and the build becomes the file that readers open.

A build works in the scratch folder. Only when everything has passed is its database renamed into `builds/`, and the
published pointer and file are replaced: a build that fails or is killed changes nothing that a reader sees. The
published file is a read-only copy of the build, so that either of the two can be repaired from the other
(`publication.mend`, which also finishes or undoes a publication that was killed between two steps). Where the tables of
a build are Parquet, there is one copy of those files, beside the database that describes them.
"""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from pathlib import Path

import duckdb
from msgspec import structs

from dialogue_warehouse.common import files
from dialogue_warehouse.common.database import connect
from dialogue_warehouse.errors import BuildError, InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import PARQUET_TABLES, Settings
from dialogue_warehouse.storage import builds, publication, retention, search_index
from dialogue_warehouse.storage.builds import UNEXPECTED, BuildManifest, describe_file, encode_manifest
from dialogue_warehouse.storage.checked import record_check
from pipelines.building import compacting, parquet_tables
from pipelines.building.session import Session
from pipelines.building.state import Build, clear_scratch


def publish(build: Build, paths: WarehousePaths, settings: Settings | None = None) -> Path:
    """Make the scratch database a build that every reader sees. Raises BuildError when it is not fit to be published.

    A note is written first that publication has begun, so that it can be finished or undone if this process is killed.
    A build exists from the moment its database does: all its other files are put there before.
    """
    settings = settings or Settings()
    refuse_unfit(paths.scratch_database, settings)
    whole_bytes = compacting.compact(build, paths, settings)
    paths.builds.mkdir(exist_ok=True)
    database, folder = paths.scratch_database, paths.scratch_tables(build.build_id)
    if build.tables == PARQUET_TABLES:
        database = paths.scratch_catalog(build.build_id)
        parquet_tables.write(paths.scratch_database, database, settings)
    for file in (database, *builds.files_below(folder)):
        files.flush(file)
        files.make_read_only(file)
    manifest = structs.replace(_manifest(build, database, folder, paths, settings), whole_bytes=whole_bytes)
    publication.write_pointer(paths.started_publication, build.build_id)
    files.write_atomically(paths.build_manifest(build.build_id), encode_manifest(manifest))
    _index(paths.scratch_database, paths.build_search(build.build_id), settings)
    if folder.is_dir():
        folder.rename(paths.build_tables(build.build_id))
    database.rename(paths.build_database(build.build_id))
    publication.publish(build.build_id, paths)
    paths.started_publication.unlink()
    record_check(paths)
    return paths.published


def _index(database: Path, to: Path, settings: Settings) -> None:
    """Write the search index of a build. Without the tables of this version there is none: readers make their own."""
    with contextlib.suppress(duckdb.CatalogException, duckdb.BinderException):
        search_index.write(database, to, settings)
        files.flush(to)


def end_early(session: Session) -> bool:
    """End a build that publishes nothing new: record its check of the source. Return False if it has ended already.

    It repeats the notices about files that are not read, and removes what a killed build has left.
    """
    if session.is_ended:
        return False
    session.is_ended = True
    for notice in (*tidy(session.paths, session.settings), *session.source.ignored_lines()):
        session.reporter.notice(notice)
    record_check(session.paths)
    return True


def tidy(paths: WarehousePaths, settings: Settings) -> list[str]:
    """Remove files that are no longer needed, and return a line if that is not possible; never raise for it."""
    try:
        retention.prune(paths, settings.builds_kept, settings.builds_kept_days)
        clear_scratch(paths)
    except OSError as error:
        return [f"{error.filename or paths.root}: is no longer needed, but cannot be removed: {error.strerror}"]
    except InputError as error:
        return [str(error)]
    return []


def _manifest(build: Build, database: Path, folder: Path, paths: WarehousePaths, settings: Settings) -> BuildManifest:
    """Return the manifest of a build with this database and the Parquet files, if any, of this folder."""
    return BuildManifest(
        build_id=build.build_id,
        number=1
        + max((retention.publication_number(paths, kept_id) for kept_id in retention.kept_builds(paths)), default=0),
        started_at=build.started_at.isoformat(),
        source=build.source,
        form=build.form,
        engine=build.engine,
        corpora=build.corpora,
        verified=build.verify,
        uncompared=_uncompared(build, paths) if build.verify else (),
        fingerprint=build.fingerprint,
        changed=build.changed,
        base_build_id=build.base_build_id,
        notices=tuple(itertools.chain.from_iterable(build.notices.values())),
        ignored=build.ignored,
        raw=build.raw,
        scales=build.scales,
        carried=build.fallbacks,
        verdicts=_verdicts(paths.scratch_database, settings),
        database=describe_file(database),
        tables={file.relative_to(folder).as_posix(): describe_file(file) for file in builds.files_below(folder)},
        definitions=build.definitions,
        built_bytes=paths.scratch_database.stat().st_size,
        files=tuple(replace(file, extras=[], quarantine=[]) for file in build.landed),
    )


def _uncompared(build: Build, paths: WarehousePaths) -> tuple[str, ...]:
    """Return the corpora that a run was not about, and that the published build has not compared either."""
    others = sorted(corpus_id for corpus_id, one in build.fallbacks.items() if not one.is_damaged)
    build_id = builds.pointed_build(paths)
    if not others or build_id is None:
        return ()
    published = builds.read_manifest(paths, build_id)
    return tuple(one for one in others if not published.verified or one in published.uncompared)


def _verdicts(database: Path, settings: Settings) -> dict[str, int]:
    """Count the claims of a build by verdict."""
    with connect(settings, database, read_only=True) as con:
        if not con.execute("from duckdb_tables() where table_name = 'claim_checks'").fetchall():
            return {}
        checks = con.sql("from quality.claim_checks")
        verdicts = dict(checks.aggregate("verdict, count(*)").order("all").fetchall())
        return verdicts | {UNEXPECTED: len(checks.filter("not is_as_recorded"))}


def refuse_unfit(database: Path, settings: Settings) -> None:
    """Raise BuildError when the database holds anything but tables of the published schemas."""
    with connect(settings, database, read_only=True) as con:
        schemas = con.execute("select distinct schema_name from duckdb_tables() where not temporary").fetchall()
        views = con.execute("select view_name from duckdb_views() where not internal").fetchall()
    strange = {schema for (schema,) in schemas} - set(builds.PUBLISHED_SCHEMAS)
    if strange or views or ("core",) not in schemas:
        raise BuildError(f"the built database has schemas {sorted(strange)} and views {views} that are not published")
