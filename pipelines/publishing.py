"""Build, audit, publish: the life of one build, from the lock it holds to the link that readers open.

A build works in the scratch folder. Only when everything has passed is its database renamed into `builds/` and the
published link and pointer replaced, each in one step: a build that fails or is killed changes nothing that a reader
sees. The steps that call this are the assets of `pipelines.assets`.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import shutil
from collections.abc import Generator, Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from pipelines import landing, registry, releases, simulating
from pipelines.errors import CheckError, InputError
from pipelines.landing import Landed
from pipelines.paths import CLONE, WarehousePaths
from pipelines.reporting import Reporter
from pipelines.settings import Settings

EMBEDDED_SAMPLE = "embedded sample"
LIBRARIES = ("dbt-core", "dbt-duckdb", "duckdb", "great-expectations", "msgspec")
"""What computes the content of a build."""
PUBLISHED_SCHEMAS = {"core", "analytics", "quality"}

BUILDS_SCHEMA = pa.schema(
    [
        ("build_id", pa.string()),
        ("started_at", pa.timestamp("us")),
        ("finished_at", pa.timestamp("us")),
        ("source", pa.string()),
        ("fingerprint", pa.string()),
        ("code_version", pa.string()),
        ("corpora", pa.string()),
        ("dialogue_count", pa.int32()),
        ("turn_count", pa.int32()),
        ("action_count", pa.int32()),
        ("slot_count", pa.int32()),
        ("violation_count", pa.int32()),
    ]
)
"""The row of `quality.builds`."""


class BuildError(CheckError):
    """A check failed, or the build could not be made; nothing was published."""


@dataclass(frozen=True)
class Build:
    """The running build: what its steps tell each other, kept as JSON in the scratch folder."""

    build_id: str
    run_id: str
    started_at: datetime
    source: str
    corpora: tuple[str, ...]
    strict: bool = False
    verify: bool = False
    fingerprint: str = ""
    landed: tuple[Landed, ...] = ()
    raw: dict[str, list[str]] = field(default_factory=dict)
    form: str = "release"
    scales: dict[str, float] = field(default_factory=dict)
    """The scales of the corpora whose release was generated."""

    def save(self, paths: WarehousePaths) -> Build:
        """Write the state, all of it or nothing."""
        landing.write_atomically(paths.scratch_state, msgspec.json.encode(self))
        return self


def begin(settings: Settings, run_id: str, reporter: Reporter) -> Build:
    """The build of this run: the one that another step has begun, or a new one in an emptied scratch folder.

    A new build without a source generates the embedded sample afresh, so that it always fits the code.
    """
    paths = WarehousePaths(settings.warehouse)
    with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError):
        build = current(paths)
        if build.run_id == run_id:
            return build
    _clear_scratch(paths)
    if settings.source is None:
        with reporter.stage("simulate", "sample") as stage:
            written = simulating.simulate(paths.sample, simulating.SAMPLE_SCALE)
            stage.detail = f"{len(written):,} files of all releases, generated"
    return _new_build(settings, run_id).save(paths)


def _new_build(settings: Settings, run_id: str) -> Build:
    started = datetime.now(UTC)
    return Build(
        build_id=started.strftime("%Y%m%dT%H%M%S%fZ"),
        run_id=run_id,
        started_at=started,
        source=str(settings.source or EMBEDDED_SAMPLE),
        corpora=tuple(corpus.corpus_id for corpus in registry.load_corpora(settings.only)),
        strict=settings.strict,
        verify=settings.verify,
        form=settings.form,
    )


def current(paths: WarehousePaths) -> Build:
    """The state of the running build."""
    return msgspec.json.decode(paths.scratch_state.read_bytes(), type=Build)


def add_landed(
    build: Build, paths: WarehousePaths, landed: list[Landed], raw: dict[str, list[str]], scale: dict[str, float]
) -> Build:
    """Note what a corpus landed, and at which scale its release was generated."""
    return replace(build, landed=(*build.landed, *landed), raw=build.raw | raw, scales=build.scales | scale).save(paths)


@contextlib.contextmanager
def exclusive(paths: WarehousePaths) -> Generator[None]:
    """Hold the warehouse's lock. Raises BuildError when another build holds it."""
    paths.root.mkdir(parents=True, exist_ok=True)
    with paths.lock.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError(f"{paths.root}: another build is running") from None
        yield


def fingerprint(build: Build, files: Iterable[tuple[str, str, str]]) -> str:
    """Hash of all that decides what a build comes to.

    That is each file's id, SHA-256 and verification (`files`), the code with its schemas, models and claims, the
    libraries that compute, and the settings of the build.
    """
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{' '.join(file)}\n".encode())
    for path in _code_files():
        digest.update(f"{path.relative_to(CLONE)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    for library in LIBRARIES:
        digest.update(f"{library} {importlib.metadata.version(library)}\n".encode())
    digest.update(f"{build.source} {build.form} {build.strict} {','.join(build.corpora)}".encode())
    return digest.hexdigest()


def fingerprint_landed(build: Build) -> str:
    """The fingerprint of a build that has landed its files."""
    return fingerprint(build, [(file.source_file_id, file.sha256, file.verification) for file in build.landed])


def unchanged(settings: Settings) -> str | None:
    """The published build, when building again would come to the same; None otherwise. Reads every file once."""
    paths = WarehousePaths(settings.warehouse)
    build_id = paths.published_build()
    if build_id is None or not (paths.published.exists() and paths.build_database(build_id).exists()):
        return None
    with contextlib.suppress(FileNotFoundError):
        manifest = json.loads(paths.build_manifest(build_id).read_text(encoding="utf-8"))
        if settings.verify and not manifest.get("verified"):
            return None
        found = [releases.find(corpus, settings, paths) for corpus in registry.load_corpora(settings.only)]
        tasks = [(release.corpus, release.folder, path) for release in found for _, path in release.files]
        with concurrent.futures.ThreadPoolExecutor(settings.processes) as pool:
            identities = pool.map(lambda task: landing.identify(*task), tasks)
            files = [
                (f"{corpus.corpus_id}/{path}", *identity)
                for (corpus, _, path), identity in zip(tasks, identities, strict=True)
            ]
        if manifest.get("fingerprint") == fingerprint(_new_build(settings, ""), files):
            return build_id
    return None


def code_version() -> str:
    """The version of the package."""
    return importlib.metadata.version("dialogue-warehouse")


def prepare_audit(build: Build, paths: WarehousePaths) -> None:
    """Write the row of this build and carry over the history of the published one, as Parquet for dbt to load."""
    for name in ("builds", "expectation_results"):
        folder = paths.scratch_audit / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "history.parquet").unlink(missing_ok=True)
    counted = {"dialogue_count": "core.dim_dialogues", "turn_count": "core.fct_turns"}
    counted |= {"action_count": "core.fct_actions", "slot_count": "core.fct_slots"}
    counted |= {"violation_count": "quality.violations"}
    with duckdb.connect(str(paths.scratch_database), read_only=True) as con:
        counts = {name: con.sql(f"from {table}").count("*").fetchall()[0][0] for name, table in counted.items()}
    row = {
        "build_id": build.build_id,
        "started_at": build.started_at.replace(tzinfo=None),
        "finished_at": datetime.now(UTC).replace(tzinfo=None),
        "source": build.source,
        "fingerprint": build.fingerprint,
        "code_version": code_version(),
        "corpora": ",".join(build.corpora),
    }
    releases.write_table([row | counts], BUILDS_SCHEMA, paths.scratch_audit / "builds" / "results.parquet")
    published = paths.published_database()
    if published and published.exists():
        with duckdb.connect(str(published), read_only=True) as con:
            for name in ("builds", "expectation_results"):
                target = paths.scratch_audit / name / "history.parquet"
                con.execute(f"copy quality.{name} to '{str(target).replace(chr(39), chr(39) * 2)}' (format parquet)")


def publish(build: Build, paths: WarehousePaths, builds_kept: int) -> Path:
    """Make the scratch database a build that every reader sees. Raises BuildError when it is not fit to be seen."""
    refuse_unfit(paths.scratch_database)
    paths.builds.mkdir(exist_ok=True)
    with paths.scratch_database.open("rb") as database:
        os.fsync(database.fileno())
    manifest: dict[str, Any] = {
        "build_id": build.build_id,
        "source": build.source,
        "form": build.form,
        "verified": build.verify,
        "corpora": build.corpora,
        "raw": build.raw,
    }
    manifest |= {"started_at": build.started_at.isoformat(), "fingerprint": build.fingerprint}
    manifest |= {"files": [asdict(file) | {"extras": [], "quarantine": []} for file in build.landed]}
    landing.write_atomically(paths.build_manifest(build.build_id), json.dumps(manifest, indent=1).encode())
    paths.scratch_database.rename(paths.build_database(build.build_id))
    show(build.build_id, paths)
    prune(paths, builds_kept)
    _clear_scratch(paths)
    return paths.published


def show(build_id: str, paths: WarehousePaths) -> None:
    """Make a kept build the published one: the pointer first, then the link, each replaced in one step."""
    landing.write_atomically(paths.pointer, json.dumps({"build_id": build_id}).encode())
    temporary = paths.published.with_name(f"{paths.published.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(paths.build_database(build_id), temporary)
    except OSError:  # a file system without hard links
        shutil.copyfile(paths.build_database(build_id), temporary)
    temporary.replace(paths.published)


def source_of(build_id: str, paths: WarehousePaths) -> Path:
    """The folder of the releases that a build was made from. Raises InputError when its manifest is gone."""
    try:
        manifest = json.loads(paths.build_manifest(build_id).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{paths.build_manifest(build_id)}: not there, name the source with --source") from error
    return paths.sample if manifest["source"] == EMBEDDED_SAMPLE else Path(manifest["source"])


def kept_builds(paths: WarehousePaths) -> list[str]:
    """The ids of the builds on disk, oldest first."""
    return sorted(path.stem for path in paths.builds.glob("*.duckdb"))


def prune(paths: WarehousePaths, builds_kept: int) -> None:
    """Delete the oldest builds beyond `builds_kept`, never the published one, and raw files that no build names."""
    published = paths.published_build()
    for build_id in kept_builds(paths)[:-builds_kept]:
        if build_id != published:
            paths.build_database(build_id).unlink()
            paths.build_manifest(build_id).unlink(missing_ok=True)
            paths.build_restorations(build_id).unlink(missing_ok=True)
    named: set[Path] = set()
    for build_id in kept_builds(paths):
        with contextlib.suppress(FileNotFoundError):
            raw = json.loads(paths.build_manifest(build_id).read_text(encoding="utf-8"))["raw"]
            named |= {paths.root / file for files in raw.values() for file in files}
    for parquet in paths.raw.rglob("*.parquet"):
        if parquet not in named:
            parquet.unlink()
            parquet.with_suffix(".json").unlink(missing_ok=True)


def refuse_unfit(database: Path) -> None:
    """Raise BuildError when the database holds anything but tables of the published schemas."""
    with duckdb.connect(str(database), read_only=True) as con:
        tables = con.execute("select distinct schema_name from duckdb_tables() where not temporary").fetchall()
        views = con.execute("select view_name from duckdb_views() where not internal").fetchall()
    strange = {schema for (schema,) in tables} - PUBLISHED_SCHEMAS
    if strange or views or ("core",) not in tables:
        raise BuildError(f"the built database has schemas {sorted(strange)} and views {views} that are not published")


def _clear_scratch(paths: WarehousePaths) -> None:
    """Throw away what a build worked in; dbt's target stays, it makes the next parse fast."""
    paths.scratch.mkdir(parents=True, exist_ok=True)
    for path in paths.scratch.iterdir():
        if path == paths.dbt_target:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _code_files() -> Iterable[Path]:
    """The files that decide what a build does."""
    suffixes = {".py", ".sql", ".yml", ".toml", ".md"}
    for folder in ("pipelines", "expectations", "dbt_project"):
        found = (path for path in (CLONE / folder).rglob("*") if path.suffix in suffixes and path.is_file())
        yield from sorted(path for path in found if "target" not in path.parts)
