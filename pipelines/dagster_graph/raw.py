"""Raw assets: each corpus's release as landed Parquet, and the catalog of what was landed.

There is one multi-asset per corpus, made from its folder; no corpus is named here. For the concept see
https://docs.dagster.io/guides/build/assets/defining-assets
"""

from collections.abc import Iterator
from dataclasses import replace

import dagster as dg

from dialogue_warehouse.corpora.release import Corpus, raw_table
from dialogue_warehouse.errors import InputError, counted, quoted
from dialogue_warehouse.releases import finding, source_tree
from dialogue_warehouse.releases.source_tree import NO_CORPUS, Ignored
from dialogue_warehouse.releases.unpacking import MISMATCH
from dialogue_warehouse.settings import RELEASE_FORM, Settings
from dialogue_warehouse.storage.landed import Cause, Fallback, Landed, data_version
from pipelines.building import checks, fingerprint, state
from pipelines.building.fallback import LandedCorpus, cause_not_to_land, fall_back, write_catalog
from pipelines.building.session import Session, explained
from pipelines.dagster_graph import resources
from pipelines.ingestion import raw_layer


def release_key(corpus: Corpus) -> dg.AssetKey:
    """Return the key of the publisher's files of a corpus."""
    return dg.AssetKey(["landing", corpus.corpus_id])


def release_spec(corpus: Corpus, settings: Settings) -> dg.AssetSpec:
    """Return the spec of the publisher's files, which the graph does not make; downloads and builds report them."""
    return dg.AssetSpec(
        release_key(corpus),
        group_name="landing",
        description=f"The files of {corpus.title} as published.",
        owners=resources.OWNERS,
        kinds={"file"},
        freshness_policy=resources.release_freshness(settings),
        metadata={"homepage": corpus.homepage, "license": corpus.license, "listed_files": len(corpus.files)},
    )


def raw_asset(corpus: Corpus) -> dg.AssetsDefinition:
    """Return the landed Parquet of a corpus, one asset per entity; zero rows where it is absent or not requested."""
    keys = {entity.name: dg.AssetKey(["raw", raw_table(corpus, entity)]) for entity in corpus.entities}

    @dg.multi_asset(name=f"land_{corpus.corpus_id}", specs=_raw_specs(corpus, keys), pool=resources.POOL)
    @explained
    def land(context: dg.AssetExecutionContext, session: dg.ResourceParam[Session]) -> Iterator[dg.MaterializeResult]:
        paths, reporter = session.paths, session.reporter
        if fingerprint.compare(session):
            resources.end_early(context, session)
            return
        build = state.begin(session, context.run_id)
        landed: list[Landed] = []
        notices: tuple[str, ...] = ()
        scale: dict[str, float] = {}
        fallbacks: dict[str, Fallback] = {}
        ignored: dict[str, tuple[Ignored, ...]] = {}
        release = session.source.release(corpus)
        if corpus.corpus_id in build.corpora:
            with reporter.stage("land", corpus.corpus_id) as stage:
                read = _land_or_fall_back(release, session)
                landed, scale = read.landed, read.scale
                records = sum(file.record_count for file in landed)
                read_now = f"{counted(len(landed), 'file')}, {counted(records, 'record')}"
                stage.detail = read_now if landed else "not published" if read.is_left_out else "no files at the source"
                stage.counts = {"files": len(landed), "records": records}
                stage.seconds = session.lander.seconds(release)
                if read.fallback:
                    fallbacks = {corpus.corpus_id: read.fallback}
                    stage.detail = f"falls back to build {read.fallback.build_id}"
            notices = _notices(session.settings, release, read)
            is_asked_for = read.fallback.is_damaged if read.fallback else not read.is_left_out
            ignored = {corpus.corpus_id: release.ignored} if is_asked_for and release.ignored else {}
            for notice in (*notices, *(release.ignored_lines() if ignored else ())):
                reporter.notice(notice)
        raw = raw_layer.link_raw(corpus, landed, paths)
        state.add_landed(build, paths, landed, raw, scale, {corpus.corpus_id: notices}, fallbacks, ignored)
        if landed and not fallbacks:
            context.log_event(_read_by_a_build(corpus, landed))
        for entity in corpus.entities:
            of_entity = [file for file in landed if file.entity == entity.name]
            yield dg.MaterializeResult(
                asset_key=keys[entity.name],
                data_version=dg.DataVersion(data_version(of_entity)),
                metadata={
                    "dagster/row_count": sum(file.record_count - len(file.quarantine) for file in of_entity),
                    "files": len(of_entity),
                    "bytes": sum(file.bytes for file in of_entity),
                    "quarantined": sum(len(file.quarantine) for file in of_entity),
                },
            )

    return land


def _raw_specs(corpus: Corpus, keys: dict[str, dg.AssetKey]) -> list[dg.AssetSpec]:
    """Return the spec of each entity; a build that publishes nothing new makes none of them."""
    return [
        dg.AssetSpec(
            key,
            deps=[release_key(corpus)],
            group_name=f"raw_{corpus.corpus_id}",
            owners=resources.OWNERS,
            description=f"One row per record of the release's {entity}, every published field kept.",
            kinds={"parquet"},
            skippable=True,
        )
        for entity, key in keys.items()
    ]


def _read_by_a_build(corpus: Corpus, landed: list[Landed]) -> dg.AssetMaterialization:
    """Return the event that a build has read the publisher's files."""
    metadata = {"files": len(landed), "bytes": sum(file.bytes for file in landed)}
    return dg.AssetMaterialization(release_key(corpus), description="read by a build", metadata=metadata)


def _land_or_fall_back(release: finding.Release, session: Session) -> LandedCorpus:
    """Land a release; fall back to its published files where the run is not about it, or it is damaged.

    Raises InputError for a damaged release that cannot fall back.
    """
    corpus, settings, paths = release.corpus, session.settings, session.paths
    cause = cause_not_to_land(corpus, bool(release.files), settings, paths)
    if cause is not None:
        return fall_back(corpus, paths, cause)
    try:
        landed = session.lander.land(release)
        marker = source_tree.read_marker(release.marked) if landed and release.marked else None
    except InputError as error:
        if not settings.keep_going or not checks.can_fall_back(corpus.corpus_id, paths, settings):
            raise
        try:
            return fall_back(corpus, paths, Cause.DAMAGED, str(error))
        except InputError as why:
            raise InputError(f"{error}; {why}") from error
    return LandedCorpus(landed, {corpus.corpus_id: marker.scale} if marker else {}, None)


def catalog_asset(corpora: tuple[Corpus, ...]) -> dg.AssetsDefinition:
    """Return the raw tables about the build itself: corpora and their rules, files, extra keys and refused records."""
    landed = [dg.AssetKey(["raw", table]) for table in raw_layer.raw_tables(corpora)]
    specs = [
        dg.AssetSpec(
            ["raw", name],
            deps=landed,
            group_name="raw",
            owners=resources.OWNERS,
            description=f"What landing recorded: {name.replace('_', ' ')}.",
            kinds={"parquet"},
            skippable=True,
        )
        for name in raw_layer.CATALOG_TABLES
    ]

    @dg.multi_asset(name="catalog", specs=specs, pool=resources.POOL)
    @explained
    def catalog(
        context: dg.AssetExecutionContext, session: dg.ResourceParam[Session]
    ) -> Iterator[dg.MaterializeResult]:
        build = state.of_run(session.paths, context.run_id)
        _refuse_nothing_new(build, session.settings)
        if in_no_corpus := session.source.foreign:
            build = replace(build, ignored=build.ignored | {NO_CORPUS: in_no_corpus})
            for line in session.source.foreign_lines():
                session.reporter.notice(line)
        build, counts = write_catalog(build, session.paths, session.settings)
        if fingerprint.compare_landed(build, session):
            resources.end_early(context, session)
            return
        for name, count in counts.items():
            yield dg.MaterializeResult(
                asset_key=dg.AssetKey(["raw", name]),
                data_version=dg.DataVersion(data_version(build.landed)),
                metadata={"dagster/row_count": count},
            )

    return catalog


def _refuse_nothing_new(build: state.Build, settings: Settings) -> None:
    """Raise InputError when every corpus that the build is about is damaged: there is nothing to publish."""
    about = settings.refresh or build.corpora
    damaged = {corpus_id: build.fallbacks[corpus_id] for corpus_id in about if corpus_id in build.fallbacks}
    if about and len(damaged) == len(about):
        lines = (one.error or f"{corpus_id}: {one.reason}" for corpus_id, one in damaged.items())
        raise InputError(*lines)


def _notices(settings: Settings, release: finding.Release, read: LandedCorpus) -> tuple[str, ...]:
    """Return why a corpus falls back, or what of its release is missing, renamed or set aside."""
    corpus_id, landed = release.corpus.corpus_id, read.landed
    if read.fallback:
        return (read.fallback.describe(corpus_id),)
    if read.is_left_out:
        return ()
    notices = []
    if settings.form != RELEASE_FORM and release.form is None:
        notices.append(f"{corpus_id}: has no files of the form {settings.form}, so it is skipped")
    if release.form:
        cuts = dict.fromkeys(release.form.cut(path) for _, path in release.files)
        notices += [f"{corpus_id}: {cut}" for cut in cuts if cut]
    if release.missing and release.marked is None:
        first = release.missing[0]
        notices.append(
            f"{corpus_id}: {len(release.missing)} of {release.listed} files are not there, "
            f"such as {release.folder / first.path}"
        )
    if release.marked and not landed:
        notices.append(f"{corpus_id}: {release.marked} marks a generated release, but none of its files is there")
    if landed and not any(file.record_count for file in landed):
        notices.append(f"{corpus_id}: {counted(len(landed), 'file')} read, without any record")
    if release.found_as:
        number, (path, found_as) = len(release.found_as), next(iter(release.found_as.items()))
        notices.append(f"{corpus_id}: {counted(number, 'file')} read under another name, such as {found_as} for {path}")
    changed = [file.source_file_id for file in landed if file.verification == MISMATCH]
    if changed:
        notices.append(
            f"{corpus_id}: {len(changed)} of {len(landed)} files differ from their listed checksum, "
            f"such as {changed[0]}"
        )
    return (*notices, *(notice for file in landed for notice in _set_aside(file)))


def _set_aside(file: Landed) -> Iterator[str]:
    """Yield the notices about a file: what is unusual, keys that the schema does not know, records that it refuses."""
    if file.notes:
        yield f"{file.corpus_id}/{file.found_as or file.path}: {', '.join(file.notes)}"
    if file.extras:
        yield (
            f"{file.source_file_id}: {counted(len(file.extras), 'key')} that the schema does not know, kept in "
            f"core.source_extras, the first at {quoted(file.extras[0]['json_pointer'])}"
        )
    if file.quarantine:
        refused = counted(len(file.quarantine), "record")
        if len(file.quarantine) == file.record_count:
            refused = f"all {refused}" if file.record_count > 1 else "the only record"
        first = ", the first" if len(file.quarantine) > 1 else ""
        yield (
            f"{file.source_file_id}: {refused} refused, kept in "
            f"core.source_quarantine{first}: {quoted(file.quarantine[0]['error'])}"
        )
