"""State of the running build, which its steps share; kept as JSON in the scratch folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import msgspec

from dialogue_warehouse.common import files
from dialogue_warehouse.common.files import BuildId, RawPath, read_regular
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import BuildError, InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.source_tree import Ignored
from dialogue_warehouse.settings import DUCKDB, DUCKDB_TABLES, RELEASE_FORM, Settings
from dialogue_warehouse.storage import builds, retention
from dialogue_warehouse.storage.builds import EMBEDDED_SAMPLE, Definitions
from dialogue_warehouse.storage.landed import Fallback, Landed
from pipelines.building.session import Session
from pipelines.ingestion import simulating

ID_FORMAT = "%Y%m%dT%H%M%S%fZ"
"""The format of a build's id: the moment it began, in UTC."""
PART_REFUSED = "a part of the graph cannot be built alone, because a build is published whole: run the job `everything`"


class PartError(BuildError):
    """A part of the graph was run alone. Nothing has failed; the error says what to run instead."""

    def __init__(self) -> None:
        """Set the message, which says what to run instead."""
        super().__init__(PART_REFUSED)


@dataclass(frozen=True)
class Build:
    """State of the running build, which its steps share; kept as JSON in the scratch folder."""

    build_id: BuildId
    run_id: str
    started_at: datetime
    source: str
    corpora: tuple[str, ...]
    strict: bool = False
    verify: bool = False
    fingerprint: str = ""
    landed: tuple[Landed, ...] = ()
    raw: dict[str, list[RawPath]] = field(default_factory=dict)
    form: str = RELEASE_FORM
    engine: str = DUCKDB
    tables: str = DUCKDB_TABLES
    """The form in which its tables are published."""
    scales: dict[str, float] = field(default_factory=dict)
    """The scales of the corpora whose release was generated."""
    changed: str = ""
    """A short text about the differences from the build before."""
    base_build_id: BuildId | None = None
    """The build that it was compared with."""
    fallbacks: dict[str, Fallback] = field(default_factory=dict)
    """The corpora that fall back to their published files."""
    definitions: Definitions = field(default_factory=Definitions)
    """The definitions of its models and tests."""
    reused: tuple[str, ...] = ()
    """The tables whose rows are those of the published build."""
    notices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Messages to the user, by corpus, that do not stop the build; repeated when nothing has changed."""
    ignored: dict[str, tuple[Ignored, ...]] = field(default_factory=dict)
    """Files at the source that are not read, by corpus; NO_CORPUS has those that belong to none."""

    @property
    def landed_corpora(self) -> set[str]:
        """The corpora with files in this build."""
        return {file.corpus_id for file in self.landed}

    def save(self, paths: WarehousePaths) -> Build:
        """Write the state, all of it or nothing."""
        files.write_atomically(paths.scratch_state, msgspec.json.encode(self))
        return self


def begin(session: Session, run_id: str) -> Build:
    """Return the build of this run: the one that another step has begun, or a new one in an emptied scratch folder.

    A new build without a source generates the embedded sample again, so that the sample always fits the code. Raises
    InputError or BuildError for a build that must not begin, no matter what started the run.
    """
    settings, paths, reporter = session.settings, session.paths, session.reporter
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        build = current(paths)
        if build.run_id == run_id:
            return build
    session.check()
    clear_scratch(paths)
    if settings.source is None:
        with reporter.stage("simulate", "sample") as stage:
            written = simulating.simulate(paths.sample, simulating.SAMPLE_SCALE)
            stage.detail = f"{len(written):,} files of all releases, generated"
            stage.counts = {"files": len(written)}
        session.source.search_again()
    build, earlier = new_build(settings, run_id), builds.earlier_builds(paths, settings)
    return replace(build, build_id=_id_after(earlier.union(retention.kept_builds(paths)), build)).save(paths)


def _id_after(earlier: Iterable[str], build: Build) -> str:
    """Return the id of a new build: its own, or if the clock was set back, the next one after those of earlier builds.

    Readers take the largest id in a published file as that of the build.
    """
    moments = [datetime.strptime(build.build_id, ID_FORMAT)]
    for build_id in earlier:
        with contextlib.suppress(ValueError, OverflowError):  # not a time
            moments.append(datetime.strptime(build_id, ID_FORMAT) + timedelta.resolution)
    return max(moments).strftime(ID_FORMAT)


def announce(session: Session) -> None:
    """Write that a build has begun, so that `status` names it if it is killed before its first step begins it."""
    clear_scratch(session.paths)
    new_build(session.settings, run_id="").save(session.paths)


def new_build(settings: Settings, run_id: str) -> Build:
    """Return a new build with these settings that has done nothing yet."""
    started = datetime.now(UTC)
    return Build(
        build_id=started.strftime(ID_FORMAT),
        run_id=run_id,
        started_at=started,
        source=str(settings.source or EMBEDDED_SAMPLE),
        corpora=tuple(corpus.corpus_id for corpus in registry.load_corpora(settings.only)),
        strict=settings.strict,
        verify=settings.verify,
        form=settings.form,
        engine=settings.engine,
        tables=settings.tables,
    )


def current(paths: WarehousePaths) -> Build:
    """Return the state of the running build."""
    return msgspec.json.decode(read_regular(paths.scratch_state), type=Build)


def of_run(paths: WarehousePaths, run_id: str) -> Build:
    """Return the build of this run. Raises PartError where it has landed nothing: only a whole build can be made."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        build = current(paths)
        if build.run_id == run_id:
            return build
    raise PartError


def add_landed(
    build: Build,
    paths: WarehousePaths,
    landed: list[Landed],
    raw: dict[str, list[str]],
    scale: dict[str, float],
    notices: dict[str, tuple[str, ...]],
    fallbacks: dict[str, Fallback],
    ignored: dict[str, tuple[Ignored, ...]],
) -> Build:
    """Add a corpus: its landed files, the scale of a generated release, notices, and files that are not read."""
    return replace(
        build,
        landed=(*build.landed, *landed),
        raw=build.raw | raw,
        scales=build.scales | scale,
        fallbacks=build.fallbacks | fallbacks,
        notices=build.notices | notices,
        ignored=build.ignored | ignored,
    ).save(paths)


def clear_scratch(paths: WarehousePaths) -> None:
    """Remove everything in the scratch folder but dbt's target, which makes the next parse fast.

    Raises InputError where a folder is a link: the folder that it leads to belongs to someone else.
    """
    for folder in (paths.scratch, paths.dbt_sources):
        if folder.is_symlink():
            raise InputError(f"{folder}: is a link; a build needs a real folder")
    if not paths.scratch.is_dir():
        files.remove(paths.scratch)
    paths.scratch.mkdir(parents=True, exist_ok=True)
    _keep_sources(paths)
    for path in paths.scratch.iterdir():
        if path != paths.dbt_target or path.is_symlink():
            files.remove(path)


def _keep_sources(paths: WarehousePaths) -> None:
    """Keep the files that the sources of the published build read, for dbt's own commands.

    If a process was killed after it had published, the next build does this.
    """
    try:
        is_published = current(paths).build_id == builds.pointed_build(paths)
    except (OSError, InputError, msgspec.MsgspecError):
        return
    for made in (paths.scratch_raw, paths.scratch_audit):
        if is_published and made.is_dir():
            kept = paths.dbt_sources / made.name
            paths.dbt_sources.mkdir(exist_ok=True)
            files.remove(kept)
            made.rename(kept)
