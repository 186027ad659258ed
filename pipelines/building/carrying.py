"""A corpus that stays as it is published, while others are built: its landed files are those of the published build.

So do a corpus whose source is damaged, where building is to keep going, and those that a run is not about. The models
and checks run over their rows as over all others: nothing is copied that could be out of date.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import msgspec

from pipelines.building.narrowing import is_to_stay
from pipelines.corpora import registry
from pipelines.corpora.room import Corpus
from pipelines.errors import InputError
from pipelines.intake import landing
from pipelines.intake.checksums import sha256_of
from pipelines.intake.landed import NOT_ASKED_FOR, Carried, Landed
from pipelines.intake.regular_files import read_regular
from pipelines.paths import WarehousePaths
from pipelines.reading import builds
from pipelines.settings import RELEASE_FORM, Settings


class Kept(NamedTuple):
    """What a build has of a corpus."""

    landed: list[Landed]
    scale: dict[str, float]
    """The scale of its release, where that was generated."""
    carried: Carried | None
    """Why, and since when; None where it was landed."""


def keep(corpus: Corpus, paths: WarehousePaths, reason: str) -> Kept:
    """What the published build has of a corpus, for the same reason. Raises InputError where that cannot be used."""
    build_id = builds.pointed_build(paths)
    if build_id is None:
        raise InputError(f"{corpus.corpus_id}: cannot stay as it is published, because nothing is")
    manifest = builds.read_manifest(paths, build_id)
    files = [_whole(corpus, file, paths) for file in manifest.files if file.corpus_id == corpus.corpus_id]
    if not files:
        raise InputError(f"{corpus.corpus_id}: cannot stay as it is published: build {build_id} has none of it")
    scale = {key: value for key, value in manifest.scales.items() if key == corpus.corpus_id}
    before = manifest.carried.get(corpus.corpus_id)
    if before and reason == NOT_ASKED_FOR:  # what was wrong with it is not put right by not looking
        return Kept(files, scale, before)
    return Kept(files, scale, Carried(before.build_id if before else build_id, reason))


def _whole(corpus: Corpus, file: Landed, paths: WarehousePaths) -> Landed:
    """What landing a file came to, with what was set aside. Raises InputError where its Parquet is not what it was."""
    parquet = paths.raw / file.parquet
    form = registry.load_form(corpus.corpus_id, file.form) if file.form != RELEASE_FORM else None
    if not parquet.stem.endswith(f"-{landing.schema_hash(corpus, form and form.name)}"):
        raise InputError(
            f"{file.source_file_id}: cannot stay as it is published: another version of the code landed it"
        )
    try:
        landed = msgspec.json.decode(read_regular(parquet.with_suffix(".json")), type=Landed)
        is_whole = sha256_of(read_regular(parquet)) == landed.parquet_sha256
    except (OSError, msgspec.MsgspecError):
        is_whole = False
    if not is_whole:
        raise InputError(f"{file.source_file_id}: cannot stay as it is published: {parquet} is damaged")
    return replace(landed, verification=file.verification, found_as=file.found_as, state=None)


def reason_not_to_land(corpus: Corpus, is_there: bool, settings: Settings, paths: WarehousePaths) -> str | None:
    """Why a corpus stays as it is before anybody has looked into its files; None where it is to be landed."""
    if settings.refresh and corpus.corpus_id not in settings.refresh:
        return NOT_ASKED_FOR
    if not is_there and settings.keep_going and is_to_stay(corpus.corpus_id, paths, settings):
        return "none of its files is at the source"
    return None
