"""A corpus that landed and then fails a check stays as it is published, where building is to keep going.

Landing refuses what is no release; that the rows of one are wrong is found later, by a test of the models or by an
expectation. Then what was landed of the published build takes the place of what has just been landed, and the models
and checks run again.
"""

from __future__ import annotations

import re
from dataclasses import replace

from pipelines.building import carrying, fingerprint
from pipelines.building.progress import Reporter
from pipelines.building.state import Build
from pipelines.corpora import registry
from pipelines.errors import CheckError, InputError
from pipelines.intake import own_files, raw_layer
from pipelines.paths import WarehousePaths
from pipelines.reading import builds
from pipelines.settings import Settings


def hold_back(error: CheckError, build: Build, settings: Settings, paths: WarehousePaths, reporter: Reporter) -> Build:
    """The build with the corpora at fault as they are published, ready to be modelled again.

    Raises the error where building is not to keep going, or it cannot be said whose rows failed, or those of the
    published build fail as well, or nothing new would be left; with a word on why, where a corpus cannot stay.
    """
    if not settings.keep_going:
        raise error
    at_fault = error.at_fault or _only_change(build, error, paths)
    about, stays = set(settings.refresh or build.corpora), set(build.carried)
    if not at_fault or stays & set(at_fault) or about <= stays | set(at_fault):
        raise error
    try:
        kept = {
            corpus_id: carrying.keep(registry.load_corpus(corpus_id), paths, reason.splitlines()[0])
            for corpus_id, reason in at_fault.items()
        }
    except InputError as why:
        raise CheckError(f"{error}; {why}") from error
    for corpus_id, one in kept.items():
        assert one.carried is not None
        notice = one.carried.told_of(corpus_id)
        reporter.notice(notice)
        build = replace(
            build,
            landed=(*(file for file in build.landed if file.corpus_id != corpus_id), *one.landed),
            raw=build.raw | raw_layer.link_raw(registry.load_corpus(corpus_id), one.landed, paths),
            scales={key: scale for key, scale in build.scales.items() if key != corpus_id} | one.scale,
            carried=build.carried | {corpus_id: one.carried},
            notices=(*(line for line in build.notices if re.split("[:/]", line)[0] != corpus_id), notice),
        )
    for database in (paths.scratch_database, paths.scratch_staging):
        own_files.remove(database)
    return write_catalog(build, paths)[0]


def write_catalog(build: Build, paths: WarehousePaths) -> tuple[Build, dict[str, int]]:
    """Write the raw tables about a build that has landed everything, and note its fingerprint; their row counts."""
    built = [corpus for corpus in registry.load_corpora() if corpus.corpus_id in build.corpora]
    counts = raw_layer.write_catalog(built, build.landed, paths, build.carried)
    return replace(build, fingerprint=fingerprint.fingerprint_landed(build)).save(paths), counts


def _only_change(build: Build, error: CheckError, paths: WarehousePaths) -> dict[str, str]:
    """The one corpus whose files are not those of the published build; none where there are several or none.

    What a failure does not say is tried out: where the published files pass, the new ones were at fault.
    """
    try:
        published = builds.read_manifest(paths, builds.published_build(paths)[0])
    except InputError:  # nothing that could take its place
        return {}
    files = published.files, build.landed
    before, now = ({(file.corpus_id, file.source_file_id, file.sha256) for file in side} for side in files)
    changed = {corpus_id for corpus_id, *_ in before ^ now} & set(build.corpora)
    return {corpus_id: str(error) for corpus_id in changed} if len(changed) == 1 else {}
