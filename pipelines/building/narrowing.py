"""Less never silently replaces more: what a build would take away from what is published, refused unless it is told to.

Real files are worth more than generated ones, and any files of a corpus are worth more than none. Asked before
anything is done, by `build` and by the first step of a run of the graph alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from pipelines.commands import command
from pipelines.corpora import registry
from pipelines.errors import InputError
from pipelines.intake import releases
from pipelines.paths import WarehousePaths
from pipelines.reading import builds
from pipelines.reading.tables import open_build
from pipelines.settings import Settings


@dataclass(frozen=True)
class Holding:
    """What a build has of a corpus."""

    files: int
    is_generated: bool


def refuse_less(settings: Settings, paths: WarehousePaths) -> None:
    """Raise InputError when building would drop a corpus that is published, or put generated files for its real ones.

    Nothing is refused under `settings.replace`, nor where nothing is published that could be read.
    """
    if settings.replace:
        return
    held = _published(paths, settings)
    offered = _offered(settings, paths)
    if settings.keep_going or settings.refresh:  # what is not there, or not asked for, stays
        named = {corpus.corpus_id for corpus in registry.load_corpora(settings.only)}
        offered = {key: one for key, one in held.items() if key in named} | {
            key: one for key, one in offered.items() if not settings.refresh or key in settings.refresh
        }
    losses = [loss for corpus_id, before in held.items() if (loss := _loss(corpus_id, before, offered.get(corpus_id)))]
    if losses:
        published = builds.pointed_build(paths)
        raise InputError(
            f"this would replace build {published} in {paths.root}, made from {_source(paths)}, with less: "
            f"{'; '.join(losses)}. --replace (DIALOGUE_REPLACE=1) does so all the same; "
            f"another warehouse is built with --warehouse FOLDER; `{command('status', warehouse=paths.root)}` shows "
            "what is published"
        )


def is_to_stay(corpus_id: str, paths: WarehousePaths, settings: Settings) -> bool:
    """Whether a corpus is published, so that it can stay as it is."""
    return corpus_id in _published(paths, settings)


def _loss(corpus_id: str, before: Holding, after: Holding | None) -> str | None:
    """What a build would take away of a corpus; None where that is nothing."""
    kind = "generated" if before.is_generated else "real"
    files = f"{before.files:,} {kind} file{'' if before.files == 1 else 's'} of {corpus_id}"
    if after is None:
        return f"{files} would be dropped"
    if after.is_generated and not before.is_generated:
        return f"{files} would give way to generated ones"
    return None


def _published(paths: WarehousePaths, settings: Settings) -> dict[str, Holding]:
    """What the published build has of each corpus; nothing where none can be read, for then nothing can be lost."""
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
    return {corpus_id: Holding(files, is_generated) for corpus_id, files, is_generated in rows}


def _offered(settings: Settings, paths: WarehousePaths) -> dict[str, Holding]:
    """What a build of these settings would have of each corpus; the embedded sample has all of them, generated."""
    corpora = registry.load_corpora(settings.only)
    if settings.source is None:
        return {corpus.corpus_id: Holding(len(corpus.files), is_generated=True) for corpus in corpora}
    found = [releases.find(corpus, settings, paths) for corpus in corpora]
    return {
        release.corpus.corpus_id: Holding(len(release.files), release.marked is not None)
        for release in found
        if release.files
    }


def _source(paths: WarehousePaths) -> str:
    """The source of the published build, as far as its manifest says."""
    try:
        return builds.read_manifest(paths, builds.published_build(paths)[0]).source
    except InputError:
        return "an unknown source"
