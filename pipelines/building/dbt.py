"""dbt in this process: parse, run a selection, and release the database afterwards. The only module that calls dbt.

The project is parsed with relative paths, so that dbt's last parse serves every warehouse of the clone (a parse from
nothing takes five seconds); the paths of a warehouse are filled in afterwards. Neither the working folder nor the
environment of the process is changed. See https://docs.getdbt.com/reference/programmatic-invocations
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
import threading
from collections.abc import Callable, Collection, Generator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import msgspec

from dialogue_warehouse import environment
from dialogue_warehouse.common import files
from dialogue_warehouse.common.database import OUT_OF_MEMORY, limits
from dialogue_warehouse.common.files import plain_path, read_regular, write_atomically
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import CheckError, causes
from dialogue_warehouse.paths import DBT_LAST_PARSE, DBT_PROJECT, WarehousePaths
from dialogue_warehouse.settings import DUCKDB, Settings
from pipelines.building import pieces
from pipelines.cluster import session
from pipelines.cluster.options import is_server

if TYPE_CHECKING:
    from dbt.cli.main import dbtRunnerResult
    from dbt.contracts.graph.manifest import Manifest


LOCATION = "external_location"
"""dbt-duckdb's name for the files that a source is read from."""
MADE_OF = "made_of"
"""The configuration of a model whose table another engine has made: its files (`macros/materializations.sql`)."""
READ = "read_parquet('"
"""The prefix of a location in the project's sources; the path after it is relative to the scratch folder."""


def write_profile(scratch: Path, settings: Settings) -> Path:
    """Write the project's profile with the paths and settings of this warehouse. Return the folder to give to dbt."""
    import yaml

    profile = yaml.safe_load((DBT_PROJECT / "profiles.yml").read_text(encoding="utf-8"))
    outputs = profile["dialogue_warehouse"]["outputs"]
    _fill_spark(outputs["spark"], settings)
    output = outputs["duckdb"]
    output["path"] = str(scratch / output["path"])
    output["threads"] = settings.threads
    options = output["config_options"]
    options |= limits(settings)
    options["temp_directory"] = str(scratch / options["temp_directory"])
    for attached in output["attach"]:
        attached["path"] = str(scratch / attached["path"])
    folder = scratch / "dbt_profile"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "profiles.yml").write_text(json.dumps(profile, indent=1), encoding="utf-8")
    return folder


def _fill_spark(output: dict[str, Any], settings: Settings) -> None:
    """Set the address of Spark, and the number of models that it makes in parallel."""
    output["threads"] = settings.threads
    if is_server(settings.spark_master):
        host, port, user = session.address(settings.spark_master)
        output |= {"method": "thrift", "host": host, "port": port} | ({"user": user} if user else {})


@contextlib.contextmanager
def sources_below(manifest: Manifest, scratch: Path) -> Generator[None]:
    """Point every source of the manifest to files below the scratch folder, as long as the context lasts."""
    relative = [
        (places, location)
        for source in manifest.sources.values()
        for places in (source.meta, source.config.extra if source.config else {})
        if (location := places.get(LOCATION, "")).startswith(READ)
    ]
    try:
        for places, location in relative:
            places[LOCATION] = f"{READ}{scratch}/{location.removeprefix(READ)}"
        yield
    finally:
        for places, location in relative:
            places[LOCATION] = location


AUDIT_TAG = "tag:audit"
"""The models that load the results of the audit; they run last."""
ONLY_DATA = ("--exclude-resource-type", "unit_test")
"""Options that leave out unit tests: they test the models, not the data of a build, and `make test` runs them."""
NO_CACHE = "--no-populate-cache"
"""dbt need not look up what the database of a build contains, because it is empty. The lookup takes 0.4 s of the
sample's 5.4 s (medians of three)."""
CANCELLED_EVERY = 0.1
"""Seconds between two attempts to cancel the queries of a run; a query can begin just after the first."""
ADDED_BY_SPARK = re.compile(r"\s*(== SQL ==$|at [\w.$<>/]+\()")
PASSED = ("success", "pass", "warn")


class Parsed(NamedTuple):
    """A parsed project."""

    manifest: Manifest
    """The manifest that dbt runs. A run changes it."""
    written: dict[str, Any]
    """The manifest in the form in which dbt writes it."""


class ModelError(CheckError):
    """A model or a test of dbt failed; one line each."""


@dataclass(frozen=True)
class NodeResult:
    """The result of one model or test."""

    unique_id: str
    name: str
    is_test: bool
    is_passed: bool
    seconds: float
    failures: int
    message: str
    query: str
    """The compiled SQL; that of a test selects the rows that fail."""
    folders: tuple[str, ...] = ()
    """The folders of the model, or of the model that a test is about."""
    reused_from: str = ""
    """The published build in which it passed, if it was not run."""
    rows: int | None = None
    """The rows of a published table; None for a test, and for a table of the scratch database."""

    @property
    def title(self) -> str:
        """The kind and the name."""
        return f"{'test' if self.is_test else 'model'} {self.name}"

    @property
    def is_out_of_memory(self) -> bool:
        """True if its query needed more memory than DuckDB may use."""
        return not self.is_passed and OUT_OF_MEMORY in self.message


class InterruptedRunError(Exception):
    """The run was interrupted. For a node that has not begun, dbt reports it as the error of the node."""


@dataclass(frozen=True)
class Watch:
    """A view of a run while it lasts, for its caller in another thread, who can also end it."""

    finished: Callable[[NodeResult], None] = lambda _: None
    """It is called with the result of each node that has finished, in the thread that ran the node."""
    is_ended: threading.Event = field(default_factory=threading.Event)

    def on_event(self, event: Any) -> None:
        """Pass on the result of a node. Once the run is to end, raise for each node that begins."""
        if event.info.name == "NodeFinished":
            self.finished(_result_of_event(event.data))
        elif event.info.name == "NodeCompiling" and self.is_ended.is_set():
            raise InterruptedRunError("interrupted")

    def end(self, run: Future[Any]) -> None:
        """End a run, which is the work of another thread: its queries are canceled, and no further node begins."""
        from dbt.adapters.factory import get_adapter_by_type

        if run.done():
            return
        self.is_ended.set()
        while run not in wait([run], CANCELLED_EVERY).done:
            with contextlib.suppress(KeyError, duckdb.Error):  # not connected yet; not connected any more
                get_adapter_by_type(DUCKDB).cancel_open_connections()
        _release()  # the adapter connects to cancel a query that has not begun


def _copy_whole(source: Path, target: Path) -> None:
    """Copy a file so that a reader sees all of it or nothing; do nothing where that is impossible."""
    with contextlib.suppress(OSError):
        content = read_regular(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, content)


OF_MACROS = ".macros"
"""Suffix of the file beside a parse that names the macros with which it was made."""


def _hash_of_macros() -> bytes:
    """Return the hash of all macros of the project."""
    digest = hashlib.sha256()
    for path in sorted((DBT_PROJECT / "macros").rglob("*.sql")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest().encode()


def _is_parse_with(macros: bytes, parse: Path) -> bool:
    """Return whether a parse was made with these macros.

    After a change of macros and of a model, dbt keeps the configuration that the old macros gave to other models.
    """
    with contextlib.suppress(OSError):
        return parse.is_file() and read_regular(parse.with_suffix(OF_MACROS)) == macros
    return False


def parse(paths: WarehousePaths, engine: str = DUCKDB) -> Manifest:
    """Parse the project, partially where nothing changed, and write the manifest. Raises ModelError."""
    return parse_and_write(paths, engine).manifest


def parse_and_write(paths: WarehousePaths, engine: str = DUCKDB) -> Parsed:
    """Parse the project, partially where nothing changed, and write the manifest. Raises ModelError.

    A new warehouse starts from the last parse of any warehouse of this clone: a parse from nothing takes five seconds.
    What dbt keeps of a parse depends on the engine.
    """
    target = paths.dbt_target if engine == DUCKDB else paths.dbt_target / engine
    last = DBT_LAST_PARSE if engine == DUCKDB else DBT_LAST_PARSE.with_name(f"{engine}_{DBT_LAST_PARSE.name}")
    kept, macros = target / DBT_LAST_PARSE.name, _hash_of_macros()
    kept.parent.mkdir(parents=True, exist_ok=True)
    if not _is_parse_with(macros, kept):
        files.remove(kept)
        if _is_parse_with(macros, last):
            _copy_whole(last, kept)
    result = _invoke([*_arguments("parse", DBT_PROJECT, target, engine), "--no-write-json"])
    _raise_interrupt(result.exception)
    if result.success:  # else dbt has kept no parse with these macros
        write_atomically(kept.with_suffix(OF_MACROS), macros)
        _copy_whole(kept, last)
        _copy_whole(kept.with_suffix(OF_MACROS), last.with_suffix(OF_MACROS))
    disagreement = next(itertools.chain(pieces.unknown_tables(DBT_PROJECT), pieces.unlisted_models(DBT_PROJECT)), None)
    if not result.success:
        said = f"dbt cannot parse the project: {_describe_error(result.exception, target)}"
        raise ModelError(next(pieces.missing_models(DBT_PROJECT), None) or disagreement or said)
    if disagreement:
        raise ModelError(disagreement)
    manifest: Manifest = result.result  # ty: ignore[invalid-assignment]
    written = _as_written(manifest)
    # in one step: Dagster's webserver, daemon and runs parse at the same time
    write_atomically(target / paths.dbt_manifest.name, msgspec.json.encode(written, enc_hook=_text_of))
    return Parsed(manifest, written)


def _text_of(value: object) -> str:
    """Return the plain text of dbt's subclasses of `str`, which a parse from nothing contains."""
    if isinstance(value, str):
        return str(value)
    raise NotImplementedError


def _as_written(manifest: Manifest) -> dict[str, Any]:
    """Return the parsed project in the form in which dbt writes it; dbt's own writer takes 0.2 s to write it."""
    return manifest.writable_manifest().to_dict(omit_none=False, context={"artifact": True})


def build(
    manifest: Manifest,
    paths: WarehousePaths,
    select: str | None = None,
    exclude: str | None = None,
    watch: Watch | None = None,
    settings: Settings | None = None,
    engine: str = DUCKDB,
    command: str = "build",
    tests: str = "buildable",
    built: Collection[str] | None = None,
) -> list[NodeResult]:
    """Run the selected models and their tests, then release the database. Raises ModelError only when dbt cannot run.

    `watch` gets the result of each node that has finished, and can end the run. The command `run` runs no tests. With
    "empty" as `tests`, a test runs only if it is selected by its own name. Models of corpora that are not in `built`
    have no rows; they do not run. None: all corpora are built. If models that run in parallel need more memory than
    there is, those that failed and those that need them run again, one at a time and with one thread.
    """
    scratch, settings = plain_path(paths.scratch), settings or Settings()
    with sources_below(manifest, scratch):
        profiles = write_profile(scratch, settings)
        arguments = _arguments(command, profiles, scratch / paths.dbt_target.name, engine)
        arguments += [NO_CACHE, "--no-write-json"]
        arguments += ["--indirect-selection", tests, *ONLY_DATA] if command == "build" else []
        arguments += ["--select", select] if select else []
        excluded = [exclude] if exclude else []
        if built is not None:
            arguments += ["--vars", json.dumps({"built": sorted(built)})]
            excluded += _folders_of(manifest, set(registry.corpus_ids()) - set(built))
        arguments += ["--exclude", " ".join(excluded)] if excluded else []
        try:
            result = _invoke(arguments, manifest, watch.on_event if watch else None)
        finally:
            _release()
    _raise_interrupt(result.exception)
    if watch and watch.is_ended.is_set():  # the failures are not those of a corpus
        raise InterruptedRunError("interrupted")
    if result.result is None:
        raise ModelError(f"dbt cannot run: {_describe_error(result.exception, paths.scratch)}")
    results = {node.unique_id: node for node in map(_node_result, result.result)}  # ty: ignore[invalid-argument-type]
    if settings.threads > 1 and any(node.is_out_of_memory for node in results.values()):
        failed = " ".join(node.name for node in results.values() if not node.is_passed)
        one_by_one = replace(settings, threads=1)
        project = _with_files_of(manifest, parse(paths, engine))  # a run changes the manifest
        again = build(project, paths, failed, exclude, watch, one_by_one, engine, command, "empty", built)
        results |= {node.unique_id: node for node in again}
    return list(results.values())


def _with_files_of(manifest: Manifest, project: Manifest) -> Manifest:
    """Return `project`; its models are read from the same files of another engine as those of `manifest`."""
    for name, node in manifest.nodes.items():
        if made_of := node.config.get(MADE_OF):
            project.nodes[name].config[MADE_OF] = made_of
    return project


def _folders_of(manifest: Manifest, corpora: Collection[str]) -> list[str]:
    """Return dbt's selectors of the folders with the models of these corpora."""
    folders = {tuple(node.fqn[:-1]) for node in manifest.nodes.values()}
    return sorted(f"fqn:{'.'.join(folder)}" for folder in folders if folder[-1] in corpora)


def _release() -> None:
    """Close the database, which dbt-duckdb keeps open after a run."""
    from dbt.adapters.factory import get_adapter_by_type

    with contextlib.suppress(KeyError):  # dbt could not connect
        get_adapter_by_type(DUCKDB).ConnectionManager.close_all_connections()


def _invoke(
    arguments: list[str], manifest: Manifest | None = None, on_event: Callable[[Any], None] | None = None
) -> dbtRunnerResult:
    """Run a command of dbt and return its result; `on_event` is called with each of its events."""
    from dbt.cli.main import dbtRunner

    with environment.without_dbt():
        return dbtRunner(manifest, [on_event] if on_event else []).invoke(arguments)


def _describe_error(error: BaseException | None, folder: Path) -> str:
    """Return dbt's error in one line, with the folder if the system refused a file that the error does not name."""
    for cause in causes(error):
        if isinstance(cause, OSError) and cause.strerror and cause.filename is None:
            return f"{folder}: {cause.strerror}"
    return _one_line(error)


def _raise_interrupt(error: BaseException | None) -> None:
    """Raise an interrupt, which dbt catches like any error."""
    if error is not None and not isinstance(error, Exception):
        raise error


def _node_result(node: Any) -> NodeResult:
    status = str(node.status)
    return NodeResult(
        unique_id=node.node.unique_id,
        name=node.node.name,
        is_test=str(node.node.resource_type) == "test",
        is_passed=status in PASSED,
        seconds=float(node.execution_time or 0),
        failures=int(node.failures or 0),
        message="skipped" if status == "skipped" else _one_line(node.message),
        query=getattr(node.node, "compiled_code", None) or "",
        folders=tuple(node.node.fqn[1:-1]),
        rows=node.adapter_response.get("rows_affected"),
    )


def _result_of_event(data: Any) -> NodeResult:
    """Return the result of a node that has finished, without the query."""
    node, result = data.node_info, data.run_result
    status, response = str(result.status), result.adapter_response
    return NodeResult(
        unique_id=node.unique_id,
        name=node.node_name,
        is_test=node.resource_type == "test",
        is_passed=status in PASSED,
        seconds=result.execution_time,
        failures=result.num_failures,
        message=result.message,
        query="",
        rows=int(response["rows_affected"]) if "rows_affected" in response else None,
    )


def _one_line(message: object) -> str:
    """Return dbt's message in one line, without the query and the Java stack trace that Spark adds."""
    said = itertools.takewhile(lambda line: not ADDED_BY_SPARK.match(line), str(message or "").splitlines())
    lines = [line.strip() for line in said]
    return " ".join(line for line in lines if line and not line.startswith("compiled code at"))


def _arguments(command: str, profiles: Path, target: Path, engine: str) -> list[str]:
    silent = ["--quiet", "--log-level", "none", "--log-level-file", "none", "--no-send-anonymous-usage-stats"]
    places = {"--project-dir": DBT_PROJECT, "--profiles-dir": profiles, "--target-path": target, "--log-path": target}
    options = (text for option, place in places.items() for text in (option, str(place)))
    return [*silent, command, *options, "--target", engine]
