"""The state of a warehouse folder: the builds on disk, and the files of the releases at the source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dialogue_warehouse.common.text import command, readable_size, visible
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.errors import InputError, counted
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases import finding
from dialogue_warehouse.releases.source_tree import ENTRIES, FILES, NO_CORPUS, Ignored, describe
from dialogue_warehouse.settings import DUCKDB, RELEASE_FORM, SPARK, Settings
from dialogue_warehouse.storage import builds, health
from dialogue_warehouse.storage.builds import UNEXPECTED
from dialogue_warehouse.storage.checked import last_check
from dialogue_warehouse.storage.health import Attempt, Problem
from dialogue_warehouse.storage.landed import Cause
from dialogue_warehouse.storage.retention import kept_builds
from dialogue_warehouse.terminal.printing import make_console

DISPLAYED_MISSING = 5
"""Maximum number of missing files of a corpus that the status names."""
DISPLAYED_DAMAGED = 5
"""Maximum number of files of the published build that the status names because they changed since publishing."""


FORMAT = 1
"""Number of the form of `status --json`. It changes only if a field is removed, or means something else."""


@dataclass(frozen=True)
class BuildStatus:
    """One build on disk. Fields from a manifest that cannot be read are None."""

    build_id: str
    number: int | None
    """Number of its publication in the warehouse, from 1."""
    is_published: bool
    is_pinned: bool
    verdicts: dict[str, int]
    """Number of claims by verdict; `unexpected` counts those whose verdict or number is not the recorded one."""
    fallbacks: tuple[str, ...]
    """The corpora that fell back to an earlier build, one line each."""
    built_at: str | None
    source: str | None
    form: str
    engine: str
    """The engine that landed the files and ran the models."""
    database_bytes: int
    """Size of its database and of the Parquet files of its tables, in bytes."""
    raw_bytes: int
    """Size in bytes of the raw Parquet that it was made from. Builds of the same files share it."""
    ignored: dict[str, tuple[Ignored, ...]]
    """Files at its source that were not read, by corpus. NO_CORPUS has the files that belong to no corpus."""


@dataclass(frozen=True)
class MissingFile:
    """A file of a release that is missing at the source."""

    path: str
    url: str
    put_at: str


@dataclass(frozen=True)
class CorpusStatus:
    """A corpus of the published build."""

    corpus_id: str
    is_generated: bool
    """True if its release was generated, so that no dialogue is one of the publisher's."""
    is_stale: bool
    """True if it fell back to its published files because its source was damaged or absent."""
    stale_since: str | None
    """The time of the first build in which it fell back; None if it is not stale, or another version built it."""
    cause: Cause | None
    """The kind of reason that its files are those of an earlier build; None if they are not."""
    reason: str | None
    """The same reason in words; for a damaged corpus the error."""
    files_of: str | None
    """The earlier build that landed its files; None if the published build landed them."""


@dataclass(frozen=True)
class ReleaseStatus:
    """The files of a corpus's release at the source; documentation files are not counted."""

    corpus_id: str
    present: int
    listed: int
    missing: tuple[MissingFile, ...]
    ignored: tuple[Ignored, ...]
    """Files in its folder that are not read."""
    expected: tuple[str, ...]
    """Examples of the paths that are read."""
    found_as: dict[str, str]
    """Path at the source by path in the release, for files with another name there."""


@dataclass(frozen=True)
class Status:
    """The content of a warehouse folder, and the files that a build could use."""

    format: int
    """FORMAT."""
    warehouse: str
    problems: tuple[Problem, ...]
    """The problems of the warehouse; the command exits with 1 if there are any."""
    published_build: str | None
    builds: tuple[BuildStatus, ...]
    """The builds on disk, the last published one first."""
    corpora: tuple[CorpusStatus, ...]
    """The corpora of the published build."""
    last_attempt: Attempt | None
    """The last attempt to build; None if there was none."""
    last_check: str | None
    """The time of the last finished check of the source: a build, or a finding that nothing has changed."""
    database_bytes: int
    raw_bytes: int
    """Size in bytes of all landed Parquet, also of builds that were removed."""
    source: str | None
    """The source that is searched: that of the settings, else that of the published build. None stands for the embedded
    sample, which cannot lack any file."""
    releases: tuple[ReleaseStatus, ...]
    """The files of the releases at the source; empty for the embedded sample."""
    damaged: tuple[str, ...]
    """The published file, and files of the published build, that are missing or changed since publishing."""
    ignored: tuple[Ignored, ...]
    """Entries of the source that belong to no corpus."""
    expected: tuple[str, ...]
    """The folders of the source that are read."""
    is_fetchable: bool
    """True if `fetch` can download the missing files: the publishers' own files, not a republication."""


def read_status(paths: WarehousePaths, settings: Settings) -> Status:
    """Read the kept builds, newest first, and how complete each corpus is at the source.

    Raises InputError if the published build is missing.
    """
    published = builds.published_build(paths)[0] if paths.pointer.exists() else None
    kept = tuple(_build_status(paths, build_id, published) for build_id in reversed(kept_builds(paths)))
    looked_at = _looked_at(settings, next((build for build in kept if build.is_published), None))
    source = looked_at.source
    corpora = registry.load_corpora(settings.only) if source else ()
    checked = last_check(paths)
    damaged = tuple(str(file) for file in health.damage_of(paths, published)) if published else ()
    return Status(
        format=FORMAT,
        warehouse=str(paths.root),
        problems=(*health.find_problems(paths), *_damage(paths, damaged)),
        published_build=published,
        builds=kept,
        corpora=_corpora_status(paths, published),
        last_attempt=health.last_attempt(paths),
        last_check=checked.isoformat(timespec="seconds") if checked else None,
        database_bytes=sum(build.database_bytes for build in kept),
        raw_bytes=builds.total_size(paths.raw.rglob("*.parquet")),
        source=str(source) if source else None,
        releases=tuple(_release_status(corpus, looked_at, paths) for corpus in corpora),
        damaged=damaged,
        ignored=finding.find_foreign(looked_at, paths) if source and source.is_dir() else (),
        expected=tuple(finding.expected_folders(looked_at)),
        is_fetchable=looked_at.form == RELEASE_FORM,
    )


def _damage(paths: WarehousePaths, damaged: tuple[str, ...]) -> Iterator[Problem]:
    """Yield a problem if files of the published build are damaged; the printed status names each of them."""
    if damaged:
        more = f" and {counted(len(damaged) - 1, 'more file')}" if damaged[1:] else ""
        build = command("build", warehouse=paths.root)
        yield Problem("damaged_build", f"the published build is damaged: {damaged[0]}{more}; `{build}` repairs it")


def _corpora_status(paths: WarehousePaths, published: str | None) -> tuple[CorpusStatus, ...]:
    """Return the corpora of the published build; none if its manifest cannot be read."""
    try:
        manifest = builds.read_manifest(paths, published) if published else None
    except InputError:
        return ()
    found = []
    for corpus_id in manifest.corpora if manifest else ():
        fallback = manifest.carried.get(corpus_id) if manifest else None
        is_stale = fallback is not None and fallback.is_damaged
        since = fallback.since or None if fallback and is_stale else None
        why = (fallback.cause, fallback.reason, fallback.build_id) if fallback else (None, None, None)
        is_generated = manifest is not None and manifest.scales.get(corpus_id) is not None
        found.append(CorpusStatus(corpus_id, is_generated, is_stale, since, *why))
    return tuple(found)


def _looked_at(settings: Settings, published: BuildStatus | None) -> Settings:
    """Return settings with the source and form to search: those given, else those of the published build."""
    if settings.source is not None or published is None or published.source in (None, builds.EMBEDDED_SAMPLE):
        return settings
    return replace(settings, source=Path(published.source), form=published.form)


def _build_status(paths: WarehousePaths, build_id: str, published: str | None) -> BuildStatus:
    try:
        manifest = builds.read_manifest(paths, build_id)
    except InputError:
        manifest = None
    files = {paths.root / file for named in manifest.raw.values() for file in named} if manifest else set()
    return BuildStatus(
        build_id=build_id,
        number=manifest.number if manifest else None,
        is_published=build_id == published,
        is_pinned=bool(manifest and manifest.is_pinned),
        verdicts=manifest.verdicts if manifest else {},
        fallbacks=tuple(
            fallback.describe(corpus_id) for corpus_id, fallback in (manifest.carried if manifest else {}).items()
        ),
        built_at=manifest.started_at if manifest else None,
        source=manifest.source if manifest else None,
        form=manifest.form if manifest else RELEASE_FORM,
        engine=manifest.engine if manifest else DUCKDB,
        database_bytes=builds.size_of(paths, build_id),
        raw_bytes=builds.total_size(files),
        ignored=manifest.ignored if manifest else {},
    )


def _release_status(corpus: Corpus, settings: Settings, paths: WarehousePaths) -> ReleaseStatus:
    release = finding.find(corpus, settings, paths)
    missing = tuple(MissingFile(file.path, file.url, str(release.folder / file.path)) for file in release.missing)
    present = release.listed - len(missing)
    return ReleaseStatus(
        corpus.corpus_id,
        present,
        release.listed,
        missing,
        release.ignored,
        release.expected,
        dict(release.found_as),
    )


def places(corpora: Iterable[Corpus]) -> list[str]:
    """List the origin and the target of each release: a line for the files below one URL, and for each other file."""
    lines = []
    for corpus in corpora:
        below: dict[str, list[str]] = {}
        for file in corpus.files:
            if not file.is_documentation:
                below.setdefault(file.url.removesuffix(file.path), []).append(file.path)
        urls = {file.url for file in corpus.files}
        for base, paths in sorted(below.items()):
            name = f"{corpus.corpus_id} ({counted(len(paths), 'file')}, license: {corpus.license})"
            source, path = (base, paths[0]) if base in urls else (f"{base}<path>", "<path>")
            lines.append(f"{name}: {source} to FOLDER/{corpus.corpus_id}/{path}")
    return lines


def print_status(found: Status, console: Console | None = None, only: tuple[str, ...] = ()) -> None:
    """Print the state of a warehouse folder; `only` limits the releases to download to these corpora."""
    console = console or make_console()
    console.print(Text(f"warehouse  {visible(found.warehouse)}"), soft_wrap=True)
    if found.published_build is None:
        build = command("build", warehouse=Path(found.warehouse))
        console.print(f"published  nothing yet: run `{build}`", soft_wrap=True)
    else:
        published = next((build for build in found.builds if build.is_published), None)
        source = published.source if published and published.source else "an unknown source"
        console.print(f"published  build {found.published_build}, made from {visible(source)}", soft_wrap=True)
    if found.builds:
        console.print(_builds_grid(found.builds))
    for build in found.builds:
        for line in build.fallbacks if build.is_published else ():
            console.print(Text(f"fallback   {visible(line)}"), soft_wrap=True)
    for file in found.damaged[:DISPLAYED_DAMAGED]:
        what = "has changed since publishing" if Path(file).exists() else "is missing"
        console.print(f"damaged    {visible(file)} {what}: the next build repairs it", soft_wrap=True)
    if len(found.damaged) > DISPLAYED_DAMAGED:
        more = counted(len(found.damaged) - DISPLAYED_DAMAGED, "more file")
        console.print(f"damaged    and {more}", soft_wrap=True)
    console.print(f"on disk    {readable_size(found.database_bytes)} databases, {readable_size(found.raw_bytes)} raw")
    if found.last_check is not None:
        console.print(f"checked    {found.last_check}: the last finished check of the source")
    for line in _sample_lines(Path(found.warehouse), only) if found.source is None else _source_lines(found):
        console.print(Text(visible(line)), soft_wrap=True)
    for problem in found.problems:
        console.print(Text(f"problem    {visible(problem.text)}"), soft_wrap=True)


def _builds_grid(builds: Iterable[BuildStatus]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD)
    grid.add_column("build", no_wrap=True)
    grid.add_column("built at")
    grid.add_column("source")
    grid.add_column("claims", justify="right", no_wrap=True)
    grid.add_column("database", justify="right", no_wrap=True)
    grid.add_column("raw", justify="right", no_wrap=True)
    for build in builds:
        grid.add_row(
            Text(f"{build.build_id}{_marks(build)}"),
            Text((build.built_at or "?")[: len("2026-01-01T00:00:00")].replace("T", " ")),
            Text(visible(build.source or "?")),
            Text(_claims(build.verdicts)),
            readable_size(build.database_bytes),
            readable_size(build.raw_bytes),
        )
    return grid


def _claims(verdicts: Mapping[str, int]) -> str:
    """Return the number of judged claims, and of those with an unexpected verdict."""
    judged = sum(count for verdict, count in verdicts.items() if verdict in ("reproduced", "refuted"))
    unexpected = f"\n{verdicts[UNEXPECTED]:,} unexpected" if verdicts.get(UNEXPECTED) else ""
    return f"{judged:,}{unexpected}" if verdicts else "?"


def _marks(build: BuildStatus) -> str:
    states = (("published", build.is_published), ("pinned", build.is_pinned), ("on Spark", build.engine == SPARK))
    marks = [name for name, is_so in states if is_so]
    return f"\n({', '.join(marks)})" if marks else ""


def _sample_lines(warehouse: Path, only: tuple[str, ...]) -> Iterator[str]:
    yield "source     the embedded sample, which the build generates"
    yield f"releases   `{command('fetch', warehouse=warehouse)}` downloads the real data; to download it by hand:"
    yield from (f"  {place}" for place in places(registry.load_corpora(only)))


def _source_lines(found: Status) -> Iterator[str]:
    yield f"source     {found.source}"
    for corpus in found.releases:
        yield f"  {corpus.corpus_id}: {corpus.present} of {corpus.listed} files present"
        for file in corpus.missing[:DISPLAYED_MISSING]:
            yield f"    missing {file.path}: download {file.url} to {file.put_at}"
        if len(corpus.missing) > DISPLAYED_MISSING:
            yield f"    and {len(corpus.missing) - DISPLAYED_MISSING} more"
        for path, found_as in list(corpus.found_as.items())[:1]:
            yield f"    {len(corpus.found_as)} with another name, such as {visible(found_as)} for {path}"
        yield from (f"    {visible(line)}" for line in describe(corpus.ignored, corpus.expected))
    yield from (f"  {visible(line)}" for line in describe(found.ignored, found.expected, ENTRIES))
    yield from _lines_of_build(found)
    incomplete = ",".join(corpus.corpus_id for corpus in found.releases if corpus.missing)
    if incomplete and found.is_fetchable:
        fetch = command("fetch", "--to", found.source, "--corpora", incomplete)
        yield f"  `{fetch}` downloads the missing files"


def _lines_of_build(found: Status) -> Iterator[str]:
    """Yield the files that the published build did not read, if its source no longer exists."""
    published = next((build for build in found.builds if build.is_published), None)
    if published is None or published.source != found.source or Path(found.source or "").is_dir():
        return
    for corpus_id, ignored in published.ignored.items():
        place, nouns = ("", ENTRIES) if corpus_id == NO_CORPUS else (f"{corpus_id}: ", FILES)
        yield from (f"  {place}during the build, {visible(line)}" for line in describe(ignored, (), nouns))
