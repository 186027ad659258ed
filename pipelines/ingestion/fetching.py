"""Download listed files, several at a time, into the layout that `build` reads, and report what failed.

A file is renamed into place when it is the listed one; no existing file is overwritten. When one address fails, the
next one is tried. An unfinished download is a `Part`; a file that is not the listed one is kept as `<name>.mismatch`.
Nothing is printed here: a `Watcher` is called as things happen, and each file has its `Result`.
"""

from __future__ import annotations

import contextlib
import enum
import fcntl
import os
import queue
import random
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dialogue_warehouse.common.text import command
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import CheckError, InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.source_tree import ASIDE
from dialogue_warehouse.settings import FORMS, Settings
from dialogue_warehouse.storage import ownership
from pipelines.ingestion import transport
from pipelines.ingestion.connections import NotResumableError, TransientError, UnavailableError
from pipelines.ingestion.wanted import CHUNK, Part, Wanted, plan

CONNECT_ATTEMPTS = 3
"""Attempts for a host that cannot be reached."""
LONGEST_WAIT = 120.0
"""Longest wait before a file is requested again, in seconds."""
HOPELESS = 3
"""Files of a host that fail one after another before its other files are skipped."""


class Outcome(enum.StrEnum):
    """The outcome of a listed file."""

    FETCHED = "fetched"
    PRESENT = "already there"
    FAILED = "failed"


@dataclass(frozen=True)
class Result:
    """The result of one listed file."""

    wanted: Wanted
    outcome: Outcome
    bytes: int = 0
    """Size of the downloaded file."""
    cause: str | None = None
    """The reason that it failed; the same text for each file that failed for the same cause."""
    helps_by_hand: bool = False
    """True if it can be downloaded in another way."""
    host: str | None = None
    """The host that sent it."""
    failed_before: tuple[str, ...] = ()
    """The reason that each address before it failed."""


class Watcher(Protocol):
    """Observer of the downloads; `progress` and `wait` are called from several threads."""

    def start(self, wanted: list[Wanted]) -> None:
        """Note the files that will be downloaded or checked."""
        ...

    def progress(self, wanted: Wanted, done: int, total: int | None) -> None:
        """Note the bytes of a file that are there, and their total if that is known."""
        ...

    def wait(self, wanted: Wanted, cause: str, seconds: float) -> None:
        """Note that a file is retried after some seconds, and why."""
        ...

    def turn_to(self, wanted: Wanted, cause: str, host: str) -> None:
        """Note that the next address of a file is tried, its host, and why."""
        ...

    def finish(self, result: Result) -> None:
        """Note that a file is finished."""
        ...


class SilentWatcher:
    """Observer of the downloads that shows nothing."""

    def start(self, wanted: list[Wanted]) -> None:
        """Do nothing."""

    def progress(self, wanted: Wanted, done: int, total: int | None) -> None:
        """Do nothing."""

    def wait(self, wanted: Wanted, cause: str, seconds: float) -> None:
        """Do nothing."""

    def turn_to(self, wanted: Wanted, cause: str, host: str) -> None:
        """Do nothing."""

    def finish(self, result: Result) -> None:
        """Do nothing."""


class Hosts:
    """Hosts that do not answer, so that all other files of a dead host fail at once and for the same cause."""

    def __init__(self) -> None:
        self._failures: Counter[str] = Counter()
        self._causes: dict[str, str] = {}
        self._lock = threading.Lock()

    def check(self, host: str) -> None:
        """Raise UnavailableError for a host that was given up."""
        if cause := self._causes.get(host):
            raise UnavailableError(cause)

    def answered(self, host: str) -> None:
        """Note that a file of this host was received."""
        with self._lock:
            self._failures.pop(host, None)
            self._causes.pop(host, None)

    def failed(self, host: str, cause: str, is_certain: bool) -> None:
        """Note that a file of this host failed; give the host up at once if that `is_certain` for all its files."""
        with self._lock:
            self._failures[host] += HOPELESS if is_certain else 1
            if self._failures[host] >= HOPELESS:
                self._causes.setdefault(host, cause)


class Downloader:
    """Downloader of one file after the other; each thread has its own."""

    def __init__(self, session: transport.Session, settings: Settings, watcher: Watcher, hosts: Hosts) -> None:
        self.session, self.settings, self.watcher, self.hosts = session, settings, watcher, hosts

    def fetch(self, wanted: Wanted) -> Result:
        """Download one file, unless it is there."""
        try:
            return self._present(wanted) if os.path.lexists(wanted.target) else self._download(wanted)
        except UnavailableError as error:
            return Result(wanted, Outcome.FAILED, cause=error.cause, helps_by_hand=error.helps_by_hand)
        except OSError as error:
            return Result(wanted, Outcome.FAILED, cause=f"{wanted.target.parent} cannot be used: {error.strerror}")

    def _present(self, wanted: Wanted) -> Result:
        """Accept the file that is there, or fail: it may belong to the user."""
        problem = wanted.problem(wanted.target) if wanted.target.is_file() else "it is not a file"
        if problem:
            raise UnavailableError(f"another file is in its place and was left alone: {problem}; move it away", False)
        Part(wanted).discard()
        return self._result(wanted, Outcome.PRESENT)

    def _result(self, wanted: Wanted, outcome: Outcome, **facts: Any) -> Result:
        size = wanted.target.stat().st_size
        self.watcher.progress(wanted, size, size)
        return Result(wanted, outcome, size, **facts)

    def _download(self, wanted: Wanted) -> Result:
        """Receive a file from the first of its addresses that has it, and move it into place."""
        wanted.target.parent.mkdir(parents=True, exist_ok=True)
        part = Part(wanted)
        errors: list[UnavailableError] = []
        for url in wanted.urls:
            host = transport.host_of(url)
            if errors:
                self.watcher.turn_to(wanted, errors[-1].cause, host)
            try:
                self._receive_and_check(wanted, url, part)
            except UnavailableError as error:
                errors.append(error)
                continue
            if os.path.lexists(wanted.target):  # it appeared meanwhile
                return self._present(wanted)
            part.move(wanted.target)
            causes = tuple(error.cause for error in errors)
            return self._result(wanted, Outcome.FETCHED, host=host, failed_before=causes)
        causes = dict.fromkeys(error.cause for error in errors)
        raise UnavailableError("; ".join(causes), any(error.helps_by_hand for error in errors))

    def _receive_and_check(self, wanted: Wanted, url: str, part: Part) -> None:
        """Receive the listed file from an address. Raises UnavailableError, also for another file."""
        for _ in range(self.settings.attempts):
            problem = self._receive_whole(wanted, url, part)
            if problem is None:
                return
            if not part.is_glued:
                break
            part.is_resumable = False  # it may consist of parts of two files
        aside = wanted.target.with_name(wanted.target.name + ASIDE)
        part.move(aside)
        raise UnavailableError(f"what {transport.host_of(url)} gave is not the listed file: {problem}; kept as {aside}")

    def _receive_whole(self, wanted: Wanted, url: str, part: Part) -> str | None:
        """Receive a whole file. Return the difference from the listed file, None if there is none."""
        encoding = self._receive_patiently(wanted, url, part)
        problem = wanted.problem(part.path)
        is_packed = problem or not (wanted.is_verifiable or wanted.file.path.endswith(".gz"))
        if is_packed and encoding == "gzip" and part.unpack():
            problem = wanted.problem(part.path)
        return problem

    def _receive_patiently(self, wanted: Wanted, url: str, part: Part) -> str | None:
        """Receive a file, with retries. Return the encoding around it."""
        host = transport.host_of(url)
        failures, most = 0, part.size
        while True:
            self.hosts.check(host)
            try:
                encoding = self._receive(wanted, url, part)
                self.hosts.answered(host)
                return encoding
            except NotResumableError:
                part.is_resumable = False
            except TransientError as error:
                failures = 1 if part.size >= most + CHUNK else failures + 1
                most = max(most, part.size)
                is_hopeless = (error.is_unreachable and failures >= CONNECT_ATTEMPTS) or error.seconds > LONGEST_WAIT
                if is_hopeless or failures >= self.settings.attempts:
                    self.hosts.failed(host, error.cause, is_hopeless or error.is_unreachable)
                    raise UnavailableError(error.cause) from error
                pause = self.settings.backoff * 2 ** (failures - 1) * random.uniform(0.5, 1)  # noqa: S311  no secret
                seconds = max(error.seconds, min(pause, LONGEST_WAIT))
                self.watcher.wait(wanted, error.cause, seconds)
                time.sleep(seconds)

    def _receive(self, wanted: Wanted, url: str, part: Part) -> str | None:
        """Make one attempt to receive the missing bytes of a file. Return the encoding around it."""
        offset = part.offset(url)
        if offset and offset == wanted.file.bytes:
            return None
        with transport.open_url(self.session, url, offset, part.etag(url)) as body:
            if body.start == 0:
                part.begin(body.version)
            elif not part.is_continued_by(body.version):
                raise NotResumableError
            total, size = body.version.total, body.start
            with part.path.open("ab") as stream:
                while size <= wanted.largest and (chunk := body.read(CHUNK)):
                    size += stream.write(chunk[: wanted.largest + 1 - size])
                    stream.flush()
                    self.watcher.progress(wanted, size, wanted.file.bytes or total)
            if body.start and total is not None and size > total:
                raise NotResumableError
            end = total if body.is_framed else wanted.file.bytes
            if size < min(end or 0, wanted.largest):
                raise TransientError(f"{transport.host_of(url)} cut the connection")
            return body.encoding


DISPLAYED_FILES = 5
"""Files that are named one by one when they failed for the same cause."""


def fetch(settings: Settings, to: Path, watcher: Watcher) -> list[Result]:
    """Download the listed files of the settings' corpora to `to/<corpus_id>/<path>`.

    Returns a result for each file, in the listed order. Raises InputError before anything is downloaded, CheckError
    when another run downloads into the same folder. A file that fails raises nothing here; `refuse_failures` does
    that.
    """
    wanted = plan(registry.load_corpora(settings.only), to, settings.mirror)
    if to == (paths := WarehousePaths(settings.warehouse)).landing:
        if to.is_symlink():
            raise InputError(f"{to}: is a link, and links inside a warehouse are not followed; name its target by --to")
        ownership.claim(paths)
    with hold_folder(to):
        watcher.start(wanted)
        return fetch_files(wanted, settings, watcher)


def fetch_files(wanted: list[Wanted], settings: Settings, watcher: Watcher) -> list[Result]:
    """Distribute the files over threads, which do not keep an interrupted process alive."""
    tasks: queue.SimpleQueue[Wanted] = queue.SimpleQueue()
    done: queue.SimpleQueue[Result | Exception] = queue.SimpleQueue()
    for one in wanted:
        tasks.put(one)
    hosts = Hosts()

    def work() -> None:
        with transport.Session(settings.timeout) as session, contextlib.suppress(queue.Empty):
            downloader = Downloader(session, settings, watcher, hosts)
            while True:
                one = tasks.get_nowait()
                try:
                    done.put(downloader.fetch(one))
                except Exception as error:
                    done.put(error)

    for _ in range(min(settings.jobs, len(wanted))):
        threading.Thread(target=work, daemon=True).start()
    results = {}
    for _ in wanted:
        result = done.get()
        if isinstance(result, Exception):
            raise result
        watcher.finish(result)
        results[result.wanted.target] = result
    return [results[one.target] for one in wanted]


@contextlib.contextmanager
def hold_folder(to: Path) -> Generator[None]:
    """Lock the folder for this run, where the file system supports it."""
    try:
        to.mkdir(parents=True, exist_ok=True)
        folder = os.open(to, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"{to}: no files can be put there: {error.strerror}") from error
    try:
        with contextlib.suppress(OSError):
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CheckError(f"{to}: another fetch is running") from None
        yield
    finally:
        os.close(folder)


def refuse_failures(results: list[Result], mirror: str | None = None) -> None:
    """Raise CheckError with a line for each cause, and below them the other ways to get the files."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        if result.cause:
            groups.setdefault(result.cause, []).append(result)
    lines = []
    for cause, failed in groups.items():
        lines.append(f"{_named(failed)}: {cause}")
        if failed[0].helps_by_hand:
            lines += [f"       by hand: {line}" for line in _by_hand([result.wanted for result in failed])]
    if missing := [result.wanted for result in results if result.helps_by_hand]:
        lines += [f"       {line}" for line in _other_ways(missing, mirror)]
    if lines:
        raise CheckError("\n".join(lines))


def notices(results: list[Result]) -> Iterator[str]:
    """Yield the files that a mirror sent, and the reasons that the addresses before it failed."""
    groups: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        if result.failed_before:
            key = (result.wanted.corpus.corpus_id, result.host, result.failed_before)
            groups.setdefault(key, []).append(result)
    for group in groups.values():
        yield f"{_named(group)}: from {group[0].host}, because {'; '.join(dict.fromkeys(group[0].failed_before))}"


def _named(results: list[Result]) -> str:
    """Return the names of the first files of some results, and the number of the others."""
    names = [result.wanted.name for result in results]
    more = f" and {len(names) - DISPLAYED_FILES:,} more files" if len(names) > DISPLAYED_FILES else ""
    return f"{', '.join(names[:DISPLAYED_FILES])}{more}"


def _by_hand(wanted: list[Wanted]) -> Iterator[str]:
    """Yield lines that say what to download and where to put it: a file, or all files of a corpus."""
    groups: dict[tuple[str, Path], list[Wanted]] = {}
    for one in wanted:
        folder = one.target.parents[one.file.path.count("/")]
        groups.setdefault((one.file.url.removesuffix(one.file.path), folder), []).append(one)
    for (base, folder), group in groups.items():
        if len(group) == 1:
            yield f"{group[0].file.url} to {group[0].target}"
        else:
            yield f"{base}<path> to {folder}/<path> ({len(group):,} files)"


def _other_ways(wanted: list[Wanted], mirror: str | None) -> Iterator[str]:
    """Yield other ways to get files than from the addresses that failed, a line each."""
    if any(one.is_verifiable for one in wanted):
        yield "a copy from elsewhere will do, at the same place: `build` compares its checksum"
    if mirror:
        yield "without DIALOGUE_MIRROR the publishers are asked"
    else:
        yield "DIALOGUE_MIRROR=URL asks for URL/<corpus_id>/<path> instead (https:, http: or file:)"
    for corpus_id in dict.fromkeys(one.corpus.corpus_id for one in wanted):
        for name in FORMS:
            if form := registry.load_form(corpus_id, name):
                build = command("build", "--form", name, "--source", "FOLDER", "--corpora", corpus_id)
                yield f"another form of {corpus_id}: {form.homepage} to FOLDER/{form.dataset}, then `{build}`"
