"""Check the input and the disk space before a build begins, and refuse a build that replaces more with less.

Real files are worth more than generated ones, and any files of a corpus more than none. Each check is about a `Source`,
which has the settings and paths of the build. `pipelines.building.session` makes the checks. The error for a disk that
fills up during a build is also here.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb

from dialogue_warehouse.common.database import GLOB_CHARACTERS
from dialogue_warehouse.common.files import refuse_no_folder
from dialogue_warehouse.common.processes import refuse_no_shared_memory
from dialogue_warehouse.common.text import command, readable_size, visible
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.errors import BuildError, InputError, counted, is_full, words_of_full
from dialogue_warehouse.paths import WarehousePaths, temporary_folder
from dialogue_warehouse.releases import finding
from dialogue_warehouse.releases.file_names import repository_path
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.releases.records import state_of
from dialogue_warehouse.releases.source_tree import ENTRIES, describe
from dialogue_warehouse.settings import FORMS, PARQUET_TABLES, RELEASE_FORM, SPARK, Settings, variable_of
from dialogue_warehouse.storage import builds, ownership
from dialogue_warehouse.storage.builds import open_build
from pipelines.cluster import session
from pipelines.cluster.options import is_on_one_machine

FIXED_BYTES = 74 << 20
"""Bytes that a build of the sample needs, mostly files that dbt and DuckDB write. Measured: 72 MiB."""
SPARK_BYTES = 10 << 20
"""Additional bytes where Spark builds the sample. Measured: 74 MiB in all."""
BYTES_A_SOURCE_BYTE = {".gz": 2.0, ".parquet": 3.0}
"""Bytes of disk that a build needs for each byte of a compressed source file, by suffix; PLAIN is for other files.
Measured as the total below the warehouse at its peak: 545 MiB for the 778 MiB of a release at scale 1, 85 MiB for
52 MiB of real files."""
PLAIN = 0.6
SHUFFLES = 1.8
"""The factor where Spark runs on this machine alone, because its shuffle files lie below the warehouse too. Measured
with `local[2]`: 959 MiB at scale 1, 756 of them shuffle files. A cluster has these files elsewhere; the most below the
warehouse was then 473 MB."""

FEW_FILES = 100
"""Number of inodes that count as none. A build of the sample makes several hundred files."""


def needed_bytes(source: Source) -> int:
    """Estimate how many bytes must be free for a build of this source."""
    settings = source.settings
    on_spark = settings.engine == SPARK
    fixed = FIXED_BYTES + (SPARK_BYTES if on_spark else 0)
    if settings.source is None:
        return fixed
    files = [release.place(path) for release in source.releases() for _, path in release.files]
    states = {file: state_of(file) for file in files}  # landing reports a file whose state cannot be read
    by_source = int(
        sum(state.size * BYTES_A_SOURCE_BYTE.get(file.suffix, PLAIN) for file, state in states.items() if state)
    )
    more = SHUFFLES if on_spark and is_on_one_machine(settings.spark_master) else 1
    return fixed + int(max(by_source, _like_the_last(settings, source.paths)) * more)


def _like_the_last(settings: Settings, paths: WarehousePaths) -> int:
    """Return the bytes that a build needs, judged by the published build if it has the same source; else 0.

    That is its raw files once more, the database that dbt writes, and the published copy of that database, or its
    Parquet.
    """
    try:
        build_id = builds.pointed_build(paths)
        if build_id is None or builds.source_of(paths, build_id) != settings.source:
            return 0
        raw = [file for files in builds.raw_files(paths, build_id).values() for file in files if file.is_file()]
        manifest = builds.read_manifest(paths, build_id)
        built = published = manifest.built_bytes or paths.build_database(build_id).stat().st_size
        if settings.tables == PARQUET_TABLES and manifest.tables:
            published = builds.size_of(paths, build_id)
        return built + published + sum(file.stat().st_size for file in raw)
    except (InputError, OSError):
        return 0


def refuse_full_disk(source: Source) -> None:
    """Raise BuildError when a build of this source does not fit on the disk."""
    needed, paths = needed_bytes(source), source.paths
    overwritten = sum(map(_bytes_below, _overwritten(paths)))
    if shutil.disk_usage(paths.root).free + overwritten < needed:
        raise BuildError(f"{paths.root}: {_need(needed, paths.root)}")


def _bytes_below(folder: Path) -> int:
    """Add up the sizes of all files below a folder. Landing may have begun, so files may vanish meanwhile."""
    states = (state_of(Path(parent, name)) for parent, _, names in os.walk(folder) for name in names)
    return sum(state.size for state in states if state)


def _overwritten(paths: WarehousePaths) -> tuple[Path, ...]:
    """Return the folders whose files a build overwrites or appends to."""
    return paths.scratch, paths.dagster_home, paths.raw, paths.sample


def explain_full_disk(error: BaseException, source: Source) -> BuildError | None:
    """Return an error for a full disk that says where and how much is needed; None for any other error."""
    if not is_full(error):
        return None
    root = source.paths.root
    return BuildError(f"{root}: {words_of_full(error)}; {_no_files(root) or _need(needed_bytes(source), root)}")


def _no_files(folder: Path) -> str:
    """Return that a file system has room for few more files, whatever their size; "" for any other."""
    limits = os.statvfs(folder)
    is_short = limits.f_files and limits.f_favail < FEW_FILES  # some file systems have no limit, which is 0
    return "its file system has no inodes left for more files (`df --inodes`)" if is_short else ""


def _need(needed: int, folder: Path) -> str:
    free = shutil.disk_usage(folder).free
    return f"a build of this source needs about {readable_size(needed)}, and {readable_size(free)} are free"


@dataclass(frozen=True)
class CorpusFiles:
    """The number of files of a corpus in a build, and if they are generated."""

    files: int
    is_generated: bool


def refuse_less(source: Source) -> None:
    """Raise InputError when building would drop a published corpus, or replace its real files with generated ones.

    Nothing is refused under `settings.replace`, nor where no published build can be read.
    """
    settings, paths = source.settings, source.paths
    if settings.replace:
        return
    held = _published(paths, settings)
    offered = _offered(source)
    if settings.keep_going or settings.refresh:  # a corpus that is absent or not requested falls back
        named = {corpus.corpus_id for corpus in registry.load_corpora(settings.only)}
        offered = {key: one for key, one in held.items() if key in named} | {
            key: one for key, one in offered.items() if not settings.refresh or key in settings.refresh
        }
    losses = [loss for corpus_id, before in held.items() if (loss := _loss(corpus_id, before, offered.get(corpus_id)))]
    if losses:
        published = builds.pointed_build(paths)
        raise InputError(
            f"this would replace build {published} in {paths.root}, made from {_published_source(paths)}, with less: "
            f"{'; '.join(losses)}. --replace (DIALOGUE_REPLACE=1) does so anyway; "
            f"--warehouse FOLDER builds another warehouse; `{command('status', warehouse=paths.root)}` shows "
            "what is published"
        )


def can_fall_back(corpus_id: str, paths: WarehousePaths, settings: Settings) -> bool:
    """Return whether a corpus is published, so that it can fall back to its published files."""
    return corpus_id in _published(paths, settings)


def _loss(corpus_id: str, before: CorpusFiles, after: CorpusFiles | None) -> str | None:
    """Describe the files of a corpus that a build would remove or replace; None if there are none."""
    kind = "generated" if before.is_generated else "real"
    files = f"{counted(before.files, f'{kind} file')} of {corpus_id}"
    if after is None:
        return f"{files} would be dropped"
    if after.is_generated and not before.is_generated:
        return f"{files} would be replaced by generated ones"
    return None


def _published(paths: WarehousePaths, settings: Settings) -> dict[str, CorpusFiles]:
    """Return the files of each corpus in the published build; nothing if it cannot be read."""
    query = """
        select corpus_id, count(*), bool_and(verification = 'simulated')
        from core.dim_source_files
        group by corpus_id
        order by corpus_id
    """
    try:
        _, database = builds.published_build(paths)
        with open_build(database, settings) as con:
            rows = con.execute(query).fetchall()
    except (InputError, duckdb.Error):
        return {}
    return {corpus_id: CorpusFiles(files, is_generated) for corpus_id, files, is_generated in rows}


def _offered(source: Source) -> dict[str, CorpusFiles]:
    """Return the files of each corpus that a build of this source would have.

    The sample has every corpus, generated.
    """
    settings = source.settings
    if settings.source is None:
        corpora = registry.load_corpora(settings.only)
        return {corpus.corpus_id: CorpusFiles(len(corpus.files), is_generated=True) for corpus in corpora}
    return {
        release.corpus.corpus_id: CorpusFiles(len(release.files), release.marked is not None)
        for release in source.releases()
        if release.files
    }


def _published_source(paths: WarehousePaths) -> str:
    """Return the source of the published build, if its manifest can be read."""
    try:
        return builds.read_manifest(paths, builds.published_build(paths)[0]).source
    except InputError:
        return "an unknown source"


LONGEST_PATH = 400
"""Largest number of bytes in a warehouse's path. SQLite opens paths of at most 512, and Dagster's files there have
long names."""


def check_before_building(source: Source) -> None:
    """Make all checks that precede a build. The caller holds the warehouse's lock.

    Raises InputError for input that cannot be used and for a build that would replace more with less, BuildError for a
    full disk.
    """
    check_input(source)
    refuse_less(source)
    refuse_full_disk(source)


def refuse_left_out(settings: Settings) -> None:
    """Raise InputError for a corpus whose files are to be read again, although the build is limited to others."""
    left_out = [corpus_id for corpus_id in settings.refresh if settings.only and corpus_id not in settings.only]
    if left_out:
        raise InputError(
            f"{left_out[0]} is to be read again, but the build is limited to {', '.join(settings.only)} "
            f"({variable_of('only')}, --corpora)"
        )


def check_input(source: Source) -> None:
    """Raise InputError for settings, a source or a warehouse folder that cannot be used."""
    settings, paths = source.settings, source.paths
    refuse_no_shared_memory()
    temporary_folder()
    if (length := len(os.fsencode(paths.root))) > LONGEST_PATH:
        raise InputError(f"{paths.root}: the path has {length} bytes; that of a warehouse can have {LONGEST_PATH}")
    if GLOB_CHARACTERS & set(str(paths.root)):
        raise InputError(f"{paths.root}: the path of a warehouse cannot have any of * ? [ ] {{ }}")
    if settings.engine == SPARK and "\\" in str(paths.root):  # an escape in its SQL, and in its patterns of files
        raise InputError(f"{paths.root}: the path of a warehouse that Spark builds cannot have a backslash")
    ownership.refuse_foreign(paths)
    session.check_engine(settings)
    corpora = registry.load_corpora(settings.only)
    registry.load_corpora(settings.refresh)
    if settings.form != RELEASE_FORM:
        _check_form(source, corpora)
        return
    if settings.source is None:
        return
    download = f"`{command('fetch', '--to', settings.source)}` downloads the releases"
    refuse_no_folder(settings.source, f" ({download})")
    if not any(release.files for release in source.releases()):
        raise InputError(f"{settings.source}: {_why_nothing_is_read(settings.source, source, corpora, download)}")


def _why_nothing_is_read(folder: Path, source: Source, corpora: tuple[Corpus, ...], download: str) -> str:
    """Describe the reason that nothing would be read from a source."""
    if form := _form_of(folder, corpora):
        return f"holds files of the form {form}, which `--form {form}` reads"
    parent = folder.parent
    if any(finding.find_release(corpus, parent).files for corpus in corpora):
        return f"has no folder of a corpus, but the folder above has: give --source {parent}"
    places = ", ".join(f"{corpus.corpus_id}/" for corpus in corpora)
    if corpus_id := _corpus_of(folder, corpora):
        return f"holds the files of {corpus_id}; put it at FOLDER/{corpus_id} and give --source FOLDER"
    return (
        f"no data file of {places.replace('/', '')}; expected below {places} "
        f"({download}, `{command('status')}` lists where they come from){_unread_files(source)}"
    )


def _unread_files(source: Source) -> str:
    """Describe the files in the source that are not read, to follow a sentence; return "" if there are none."""
    lines = [line for release in source.releases() for line in release.ignored_lines()]
    lines += describe(source.foreign, nouns=ENTRIES)
    return "".join(f". {visible(line)}" for line in lines)


def _form_of(source: Path, corpora: tuple[Corpus, ...]) -> str | None:
    """Return the form, other than the release's own, in which a folder has files."""
    for name in FORMS:
        forms = {corpus: registry.load_form(corpus.corpus_id, name) for corpus in corpora if name != RELEASE_FORM}
        if any(form and finding.find_form(corpus, source, form).files for corpus, form in forms.items()):
            return name
    return None


def _corpus_of(source: Path, corpora: tuple[Corpus, ...]) -> str | None:
    """Return the corpus whose files lie directly in a folder, as published or as in the publisher's repository."""
    counts = {
        corpus.corpus_id: sum(
            any((source / path).is_file() for path in {file.path, repository_path(corpus, file)})
            for file in corpus.files
            if not file.is_documentation
        )
        for corpus in corpora
    }
    best = max(counts, key=lambda corpus_id: counts[corpus_id])
    return best if counts[best] else None


def _check_form(source: Source, corpora: tuple[Corpus, ...]) -> None:
    """Raise InputError when the source has no file of the requested form."""
    settings = source.settings
    forms = {corpus: registry.load_form(corpus.corpus_id, settings.form) for corpus in corpora}
    datasets = sorted({f"{form.dataset}/{table.config}/" for form in forms.values() if form for table in form.tables})
    if not datasets:
        raise InputError(f"--form {settings.form}: not a form of {', '.join(corpus.corpus_id for corpus in corpora)}")
    if settings.source is None:
        raise InputError(f"--form {settings.form} needs --source FOLDER, with {', '.join(datasets)} in it")
    refuse_no_folder(settings.source)
    if not any(release.files for release in source.releases()):
        parent = settings.source.parent
        if any(form and form.dataset == settings.source.name for form in forms.values()):
            raise InputError(f"{settings.source}: is the folder of one dataset; give --source {parent}")
        raise InputError(
            f"{settings.source}: no data file of the form {settings.form}; "
            f"expected <split>.parquet or <split>.jsonl below {', '.join(datasets)}{_unread_files(source)}"
        )
