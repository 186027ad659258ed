"""Fingerprint of a build: one hash of all that decides its content; comparison with the published build.

A build that would repeat the published one, or the one that was rolled back, publishes nothing: it would remove an
older build from disk and bring nothing new. Each way to start a build therefore compares before it lands, after it has
landed, and before it publishes (a corpus may have fallen back to its published files meanwhile).
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import importlib.metadata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE, DBT_PROJECT, WarehousePaths
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.storage.builds import BuildManifest
from dialogue_warehouse.storage.landed import Fallback, Landed
from pipelines.building.session import Session
from pipelines.building.state import Build, new_build
from pipelines.ingestion import landing

LIBRARIES = (
    *("dbt-adapters", "dbt-core", "dbt-duckdb", "duckdb", "duckdb-engine", "great-expectations", "jinja2", "msgspec"),
    "pyarrow",
)
"""The libraries that compute the content of a build."""


def fingerprint(build: Build, files: Iterable[tuple[str, ...]]) -> str:
    """Return a hash of everything that decides the content of a build.

    That is each file's id, SHA-256, verification and path at the source (`files`), the code with its schemas, models
    and claims, the libraries that compute, and the settings of the build.
    """
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{' '.join(file)}\n".encode())
    add_code(digest.update, code_files())
    digest.update(f"{build.source} {build.form} {build.tables} {build.strict} {','.join(build.corpora)}".encode())
    return digest.hexdigest()


def add_code(update: Callable[[bytes], None], files: Iterable[Path]) -> None:
    """Add these files, and the versions of the libraries that compute, to a hash."""
    for path in files:
        update(f"{path.relative_to(CLONE)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    for library in LIBRARIES:
        update(f"{library} {importlib.metadata.version(library)}\n".encode())


def fingerprint_landed(build: Build) -> str:
    """Return the fingerprint of a build that has landed its files."""
    return fingerprint(build, map(_identity, build.landed))


def _identity(file: Landed) -> tuple[str, ...]:
    return file.source_file_id, file.sha256, file.verification, file.found_as or ""


def unchanged(source: Source) -> str | None:
    """Return the published build if building again would give the same content, else None. Reads every file once.

    A build in which a damaged corpus fell back is never up to date for a run that reads this corpus, even if its files
    are the same: landing looks at the damage again.
    """
    manifest = _published(source.paths, source.settings)
    if manifest is None:
        return None
    damaged = _damaged(manifest.carried).keys()
    if damaged & set(source.settings.refresh or damaged):
        return None
    try:
        return manifest.build_id if manifest.fingerprint == of_source(source) else None
    except InputError:  # a file that cannot be read: landing reports it
        return None


def _published(paths: WarehousePaths, settings: Settings) -> BuildManifest | None:
    """Return the manifest of the published build; None if it is damaged, or not verified as the settings request."""
    build_id = builds.pointed_build(paths)
    if build_id is None or builds.damage(paths, build_id):
        return None
    try:
        manifest = builds.read_manifest(paths, build_id)
    except InputError:
        return None
    uncompared = set(manifest.uncompared)
    is_verified = manifest.verified and not uncompared & set(settings.refresh or uncompared)
    return manifest if is_verified or not settings.verify else None


def rolled_back(source: Source) -> bool:
    """Return whether building now would give the build that was rolled back. Reads every file once."""
    pointer = builds.read_pointer(source.paths)
    return pointer is not None and pointer.rolled_back != "" and pointer.rolled_back == of_source(source)


ROLLED_BACK = "nothing has changed since the build that was rolled back"


def nothing_new(source: Source) -> str:
    """Return why a build of this source would publish nothing new; "" if it would. Reads every file once.

    A source that cannot be read is left to the build, which reports it.
    """
    if source.settings.force:
        return ""
    try:
        if (build_id := unchanged(source)) is not None:
            return _unchanged(build_id)
        return ROLLED_BACK if rolled_back(source) else ""
    except InputError:
        return ""


def compare(session: Session) -> str:
    """Return why this build would publish nothing new; "" if it would. The source is compared once."""
    if not session.is_compared:
        session.is_compared, session.nothing_new = True, nothing_new(session.source)
    return session.nothing_new


def compare_landed(build: Build, session: Session) -> str:
    """Return why a build that has landed would publish nothing new: the same rows, and the same corpora fell back."""
    if session.settings.force:
        return ""
    manifest, pointer = _published(session.paths, session.settings), builds.read_pointer(session.paths)
    if (
        manifest
        and build.fingerprint == manifest.fingerprint
        and _damaged(build.fallbacks) == _damaged(manifest.carried)
    ):
        session.nothing_new = _unchanged(manifest.build_id)
    elif pointer is not None and pointer.rolled_back == build.fingerprint:
        session.nothing_new = ROLLED_BACK
    return session.nothing_new


def _damaged(fallbacks: Mapping[str, Fallback]) -> dict[str, Fallback]:
    return {corpus_id: one for corpus_id, one in fallbacks.items() if one.is_damaged}


def _unchanged(build_id: str) -> str:
    return f"nothing has changed since build {build_id}"


def of_source(source: Source) -> str:
    """Return the fingerprint that a build of this source would have now. Reads every file once.

    Where only some corpora are read again (`refresh`), the others have their files of the published build.
    """
    releases, kept = list(source.releases()), []
    if refresh := source.settings.refresh:
        published = _published(source.paths, replace(source.settings, verify=False))
        releases = [release for release in releases if release.corpus.corpus_id in refresh]
        kept = [file for file in published.files if file.corpus_id not in refresh] if published else []
    tasks = [
        (release.corpus, release.folder, path, release.found_as.get(path))
        for release in releases
        for _, path in release.files
    ]
    with concurrent.futures.ThreadPoolExecutor(source.settings.processes) as pool:
        identities = pool.map(lambda task: landing.identify(*task), tasks)
        files = [
            (f"{corpus.corpus_id}/{path}", *identity, found_as or "")
            for (corpus, _, path, found_as), identity in zip(tasks, identities, strict=True)
        ]
    return fingerprint(new_build(source.settings, ""), [*files, *map(_identity, kept)])


def code_version() -> str:
    """Return the version of the package."""
    return importlib.metadata.version("dialogue-warehouse")


def code_files() -> Iterable[Path]:
    """Yield the files that decide the result of a build."""
    suffixes = {".py", ".sql", ".yml", ".toml", ".md", ".html", ".css", ".js"}
    for folder in ("dialogue_warehouse", "pipelines", "expectations", "dbt_project"):
        found = (path for path in (CLONE / folder).rglob("*") if path.suffix in suffixes and path.is_file())
        yield from sorted(path for path in found if not path.is_relative_to(DBT_PROJECT / "target"))
