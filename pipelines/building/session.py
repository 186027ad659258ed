"""The session of a build: lock, repair, checks, engine, landing processes and audit, for every way to start a build.

The command `build` opens one, and so does each run of Dagster (the resource `session`). Both therefore refuse the same
input, with the same error.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import CheckError, InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.settings import Settings, misspelt_variables
from dialogue_warehouse.storage import ownership, publication
from expectations.client import AuditProcess
from pipelines.building import checks
from pipelines.cluster.session import Spark, spark_of
from pipelines.ingestion.lander import Lander

Step = TypeVar("Step", bound=Callable[..., Any])


@dataclass
class Session:
    """All that the steps of a build share. Nothing starts before it is used."""

    settings: Settings
    paths: WarehousePaths
    reporter: Reporter
    source: Source
    """The source, which is searched once."""
    audit: AuditProcess
    lander: Lander
    spark: Spark | None
    """The Spark of the settings; None where DuckDB builds."""
    is_compared: bool = field(default=False, init=False)
    """True if the source was compared with the published build (`pipelines.building.fingerprint`)."""
    nothing_new: str = field(default="", init=False)
    """The reason that this build publishes nothing; "" for a build that does."""
    is_ended: bool = field(default=False, init=False)
    """True if a build that publishes nothing has ended (`publishing.end_early`)."""
    ending: contextlib.ExitStack = field(default_factory=contextlib.ExitStack, init=False)
    """Calls that end work in other threads before the lock is released: an interrupt may leave a step suspended."""
    _is_checked: bool = field(default=False, init=False)
    _refusal: InputError | CheckError | None = field(default=None, init=False)

    def check(self) -> None:
        """Make all checks that precede a build, once; a build that was refused is refused again with the same error.

        Raises InputError for input that cannot be used and for a build that would replace more with less, BuildError
        for a full disk.
        """
        if self._refusal is not None:
            raise self._refusal
        if self._is_checked:
            return
        try:
            checks.check_before_building(self.source)
        except (InputError, CheckError) as refusal:
            self._refusal = refusal
            raise
        self._is_checked = True

    def start(self) -> None:
        """Start the audit process and landing. They work while the graph is loaded."""
        self.audit.start()
        if self.settings.source is not None:  # the sample is not generated yet
            corpora = registry.load_corpora(self.settings.refresh or self.settings.only)
            self.lander.start(self.source.release(corpus) for corpus in corpora)

    @contextlib.contextmanager
    def explaining(self) -> Generator[None]:
        """Turn an error that a full disk causes within the context into one that says where and how much is needed."""
        with explaining(self.source):
            yield


@contextlib.contextmanager
def explaining(source: Source) -> Generator[None]:
    """Turn an error of a full disk within the context into one that says where and how much a build needs."""
    try:
        yield
    except BaseException as error:
        if (full := checks.explain_full_disk(error, source)) is not None:
            raise full from error
        raise


@contextlib.contextmanager
def open_session(
    settings: Settings, paths: WarehousePaths, reporter: Reporter, patience: float = 0.0, is_checked_first: bool = True
) -> Generator[Session]:
    """Lock the warehouse for a build and repair what a killed build has left; end all processes afterwards.

    `patience` is the number of seconds to wait for another build. With `is_checked_first`, input that cannot be used is
    refused before the folder becomes a warehouse. A run that may only renew the report needs no input: its first step
    that lands files makes the checks.

    Raises BusyError if another build is running, and InputError.
    """
    checks.refuse_left_out(settings)
    for misspelt in misspelt_variables():
        reporter.notice(misspelt)
    source = Source(settings, paths)
    if is_checked_first:
        checks.check_input(source)
    with ownership.exclusive(paths, patience):
        with explaining(source):
            for mended in publication.mend(paths):
                reporter.notice(mended)
        spark = spark_of(settings, paths.scratch_spark)
        with (
            contextlib.closing(AuditProcess(settings.audit_timeout)) as audit,
            spark or contextlib.nullcontext(),
            Lander(paths.raw, settings, spark) as lander,
        ):
            session = Session(settings, paths, reporter, source, audit, lander, spark)
            with session.explaining(), session.ending:
                yield session


def explained(step: Step) -> Step:
    """Decorate a step of the graph, which takes a context and the session: a full disk is explained."""

    def yielding(context: Any, session: Session) -> Iterator[Any]:
        with session.explaining():
            yield from step(context, session)

    def returning(context: Any, session: Session) -> Any:
        with session.explaining():
            return step(context, session)

    return functools.wraps(step)(yielding if inspect.isgeneratorfunction(step) else returning)  # ty: ignore[invalid-explicit-return]
