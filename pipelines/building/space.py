"""The disk below a warehouse: what a build needs, refused before it begins, and told when it was not enough."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pipelines.cluster.options import is_on_one_machine
from pipelines.corpora import registry
from pipelines.errors import NO_SPACE, BuildError, InputError, is_full
from pipelines.intake import releases
from pipelines.intake.source_bytes import state_of
from pipelines.paths import WarehousePaths
from pipelines.reading import builds
from pipelines.settings import PARQUET_TABLES, SPARK, Settings

Step = TypeVar("Step", bound=Callable[..., Any])
FIXED_BYTES = 74 << 20
"""What the sample needs; most of it is the history of runs and what dbt writes. Measured: 72 MiB."""
SPARK_BYTES = 10 << 20
"""What the sample needs besides where Spark builds it. Measured: 74 MiB in all."""
BYTES_A_SOURCE_BYTE = {".gz": 2.0, ".parquet": 3.0}
"""By suffix, what is compressed; what is plain needs PLAIN. Measured with all that lies below the warehouse when most
does: 545 MiB for the 778 MiB of a release at scale 1, 85 MiB for 52 MiB of real files."""
PLAIN = 0.6
SHUFFLES = 1.8
"""So much more where Spark works on this machine alone: what it hands on between two stages lies below the warehouse
too. Measured with `local[2]`: 959 MiB at scale 1, 756 of them such files. A cluster has them elsewhere, and
the most here were 473 MB."""


def needed_bytes(settings: Settings, paths: WarehousePaths) -> int:
    """About so much must be free for a build of the settings' source."""
    on_spark = settings.engine == SPARK
    fixed = FIXED_BYTES + (SPARK_BYTES if on_spark else 0)
    if settings.source is None:
        return fixed
    found = [releases.find(corpus, settings, paths) for corpus in registry.load_corpora(settings.only)]
    files = [release.place(path) for release in found for _, path in release.files]
    states = {file: state_of(file) for file in files}  # landing says what cannot be looked at
    by_source = int(
        sum(state.size * BYTES_A_SOURCE_BYTE.get(file.suffix, PLAIN) for file, state in states.items() if state)
    )
    more = SHUFFLES if on_spark and is_on_one_machine(settings.spark_master) else 1
    return fixed + int(max(by_source, _like_the_last(settings, paths)) * more)


def _like_the_last(settings: Settings, paths: WarehousePaths) -> int:
    """What a build of the published build's source needs, as that one shows.

    That is its raw files once more, the database that dbt writes, and that again as it is published, or its Parquet.
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


def refuse_full_disk(settings: Settings, paths: WarehousePaths) -> None:
    """Raise BuildError when a build of this source does not fit beside what is there."""
    needed = needed_bytes(settings, paths)
    reused = sum(map(_bytes_below, _reused(paths)))
    if shutil.disk_usage(paths.root).free + reused < needed:
        raise BuildError(f"{paths.root}: {_need(needed, paths.root)}")


def _bytes_below(folder: Path) -> int:
    """Add up the sizes of all files below a folder; landing may have begun, and files vanish meanwhile."""
    states = (state_of(Path(parent, name)) for parent, _, names in os.walk(folder) for name in names)
    return sum(state.size for state in states if state)


def _reused(paths: WarehousePaths) -> tuple[Path, ...]:
    """What a build writes over or writes on."""
    return paths.scratch, paths.dagster_home, paths.raw, paths.sample


def told_of_full_disk(error: BaseException, settings: Settings, paths: WarehousePaths) -> BuildError | None:
    """An error that a full disk has caused, as one that says where and how much is needed; None for any other."""
    if not is_full(error):
        return None
    return BuildError(f"{paths.root}: {NO_SPACE}; {_need(needed_bytes(settings, paths), paths.root)}")


@contextlib.contextmanager
def explaining(settings: Settings, paths: WarehousePaths) -> Generator[None]:
    """Say where a full disk is and how much is needed, as long as the context lasts and where it fails of one."""
    try:
        yield
    except BaseException as error:
        if (told := told_of_full_disk(error, settings, paths)) is not None:
            raise told from error
        raise


def explained(step: Step) -> Step:
    """Make a step of the graph say that of a full disk, whoever runs it."""

    def of(context: Any) -> contextlib.AbstractContextManager[None]:
        return explaining(context.resources.settings, context.resources.paths)

    def yielding(context: Any) -> Iterator[Any]:
        with of(context):
            yield from step(context)

    def returning(context: Any) -> Any:
        with of(context):
            return step(context)

    return functools.wraps(step)(yielding if inspect.isgeneratorfunction(step) else returning)  # ty: ignore[invalid-explicit-return]


def _need(needed: int, folder: Path) -> str:
    free = shutil.disk_usage(folder).free
    return f"a build of this source needs about {_mebibytes(needed)} MiB, and {_mebibytes(free)} MiB are free"


def _mebibytes(number: int) -> str:
    return f"{number / 2**20:,.0f}"
