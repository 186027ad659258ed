"""Fingerprint of a build: one hash of all that decides its content; comparison with the published build."""

from __future__ import annotations

import concurrent.futures
import hashlib
import importlib.metadata
from collections.abc import Callable, Iterable
from pathlib import Path

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.storage import builds
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
    return fingerprint(
        build, [(file.source_file_id, file.sha256, file.verification, file.found_as or "") for file in build.landed]
    )


def unchanged(source: Source) -> str | None:
    """Return the published build if building again would give the same content, else None. Reads every file once.

    A build in which a damaged corpus fell back is never up to date, even if its files are the same: building again
    reports the damage.
    """
    settings, paths = source.settings, source.paths
    build_id = builds.pointed_build(paths)
    if build_id is None or builds.damage(paths, build_id):
        return None
    try:
        manifest = builds.read_manifest(paths, build_id)
    except InputError:
        return None
    if settings.verify and not manifest.verified:
        return None
    if any(one.is_damaged for one in manifest.carried.values()):
        return None
    try:
        return build_id if manifest.fingerprint == of_source(source) else None
    except InputError:  # a file that cannot be read: landing reports it
        return None


def rolled_back(source: Source) -> bool:
    """Tell if building now would give the build that was rolled back. Reads every file once."""
    pointer = builds.read_pointer(source.paths)
    return pointer is not None and pointer.rolled_back != "" and pointer.rolled_back == of_source(source)


def of_source(source: Source) -> str:
    """Return the fingerprint that a build of this source would have now. Reads every file once."""
    tasks = [
        (release.corpus, release.folder, path, release.found_as.get(path))
        for release in source.releases()
        for _, path in release.files
    ]
    with concurrent.futures.ThreadPoolExecutor(source.settings.processes) as pool:
        identities = pool.map(lambda task: landing.identify(*task), tasks)
        files = [
            (f"{corpus.corpus_id}/{path}", *identity, found_as or "")
            for (corpus, _, path, found_as), identity in zip(tasks, identities, strict=True)
        ]
    return fingerprint(new_build(source.settings, ""), files)


def code_version() -> str:
    """Return the version of the package."""
    return importlib.metadata.version("dialogue-warehouse")


def code_files() -> Iterable[Path]:
    """Yield the files that decide the result of a build."""
    suffixes = {".py", ".sql", ".yml", ".toml", ".md", ".html", ".css", ".js"}
    for folder in ("dialogue_warehouse", "pipelines", "expectations", "dbt_project"):
        found = (path for path in (CLONE / folder).rglob("*") if path.suffix in suffixes and path.is_file())
        yield from sorted(path for path in found if "target" not in path.parts)
