"""Download listed files, several at a time, into the layout that `build` reads, and report what failed.

A file is renamed into place when it is the listed one; no existing file is overwritten. When one URL fails, the
next one is tried. An unfinished download is a `Part`; a file that is not the listed one is kept as `<name>.mismatch`.
Nothing is printed here: a `FetchDisplay` is called as things happen, from several threads, and each file has its
`Result`.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pycurl

from dialogue_warehouse.common import files
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import CheckError, InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.source_tree import ASIDE
from dialogue_warehouse.settings import LONGEST_WAIT, Settings
from dialogue_warehouse.storage import ownership
from pipelines.ingestion import transport
from pipelines.ingestion.connections import CHUNK, TransientError, UnavailableError, host_of
from pipelines.ingestion.fetch_display import FetchDisplay
from pipelines.ingestion.transport import Head, NotResumableError, Sink
from pipelines.ingestion.wanted import Outcome, Part, Result, Wanted, plan

CONNECT_ATTEMPTS = 3
"""Attempts for a host that cannot be reached."""
HOPELESS = 3
"""Files of a host that fail one after another before its other files are skipped."""


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

    def __init__(self, curl: pycurl.Curl, settings: Settings, watcher: FetchDisplay, hosts: Hosts) -> None:
        self.curl, self.settings, self.watcher, self.hosts = curl, settings, watcher, hosts

    def fetch(self, wanted: Wanted) -> Result:
        """Download one file, unless it is there."""
        try:
            return self._present(wanted) if os.path.lexists(wanted.target) else self._download(wanted)
        except UnavailableError as error:
            return Result(wanted, Outcome.FAILED, cause=error.cause, helps_by_hand=error.helps_by_hand)
        except OSError as error:
            return Result(wanted, Outcome.FAILED, cause=f"{wanted.target.parent} cannot be written: {error.strerror}")

    def _present(self, wanted: Wanted) -> Result:
        """Accept the file that is there, or fail: it may belong to the user."""
        try:
            problem = wanted.problem(wanted.target) if wanted.target.is_file() else "it is not a file"
        except OSError as error:
            raise UnavailableError(f"{wanted.target} cannot be read: {error.strerror}", False) from error
        if problem:
            raise UnavailableError(f"another file is at its path and was not changed: {problem}; move it away", False)
        Part(wanted).discard()
        return self._result(wanted, Outcome.PRESENT)

    def _result(self, wanted: Wanted, outcome: Outcome, **facts: Any) -> Result:
        size = wanted.target.stat().st_size
        self.watcher.progress(wanted, size, size)
        return Result(wanted, outcome, size, **facts)

    def _download(self, wanted: Wanted) -> Result:
        """Receive a file from the first of its URLs that has it, and move it into place."""
        wanted.target.parent.mkdir(parents=True, exist_ok=True)
        part = Part(wanted)
        errors: list[UnavailableError] = []
        for url in wanted.urls:
            host = host_of(url)
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
        """Receive the listed file from a URL. Raises UnavailableError, also for another file."""
        for _ in range(self.settings.attempts):
            problem = self._receive_whole(wanted, url, part)
            if problem is None:
                return
            if not part.is_glued:
                break
            part.is_resumable = False  # it may consist of parts of two files
        aside = wanted.target.with_name(wanted.target.name + ASIDE)
        part.move(aside)
        raise UnavailableError(f"{host_of(url)} sent another file than the listed one: {problem}; kept as {aside}")

    def _receive_whole(self, wanted: Wanted, url: str, part: Part) -> str | None:
        """Receive a whole file. Return the difference from the listed file, None if there is none."""
        encoding = self._receive_patiently(wanted, url, part)
        problem = wanted.problem(part.path)
        is_packed = problem or not (wanted.is_verifiable or wanted.file.path.endswith(".gz"))
        if is_packed and encoding == "gzip" and part.unpack():
            problem = wanted.problem(part.path)
        return problem

    def _receive_patiently(self, wanted: Wanted, url: str, part: Part) -> str | None:
        """Receive a file, with retries. Return the encoding around it.

        Libraries for retries repeat a call a number of times; here an attempt that made progress starts the count
        again, a server may ask for a longer wait, and a host that is given up ends the attempts of its other files.
        """
        host = host_of(url)
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
                    cause = error.cause
                    if error.seconds > LONGEST_WAIT:
                        cause += f" and asks to wait for {math.ceil(error.seconds / 60):,} minutes"
                    self.hosts.failed(host, cause, is_hopeless or error.is_unreachable)
                    raise UnavailableError(cause) from error
                seconds = max(error.seconds, self.settings.pause(failures))
                self.watcher.wait(wanted, error.cause, seconds)
                time.sleep(seconds)

    def _receive(self, wanted: Wanted, url: str, part: Part) -> str | None:
        """Make one attempt to receive the missing bytes of a file. Return the encoding around it."""
        offset = part.offset(url)
        if offset and offset == wanted.file.bytes:
            return None
        with contextlib.ExitStack() as opened:

            def begin(head: Head) -> Sink:
                if head.start == 0:
                    part.begin(head.version)
                elif not part.is_continued_by(head.version):
                    raise NotResumableError
                stream = opened.enter_context(part.path.open("ab"))

                def write(chunk: bytes) -> bool:
                    stream.write(chunk[: wanted.largest + 1 - stream.tell()])
                    stream.flush()
                    self.watcher.progress(wanted, stream.tell(), wanted.file.bytes or head.version.total)
                    return stream.tell() <= wanted.largest

                return write

            head = transport.receive(self.curl, url, self.settings.timeout, begin, offset, part.etag(url))
        size, total = part.size, head.version.total
        if head.start and total is not None and size > total:
            raise NotResumableError
        end = total if head.is_framed else wanted.file.bytes
        if size < min(end or 0, wanted.largest):
            raise TransientError(f"{host_of(url)} cut the connection")
        return head.encoding


def fetch(settings: Settings, to: Path, watcher: FetchDisplay) -> list[Result]:
    """Download the listed files of the settings' corpora to `to/<corpus_id>/<path>`.

    Returns a result for each file, in the listed order. Raises InputError before anything is downloaded, CheckError
    when another run downloads into the same folder. A file that fails raises nothing here; `refuse_failures` does
    that.
    """
    wanted = plan(registry.load_corpora(settings.only), to, settings.mirror)
    if to == (paths := WarehousePaths(settings.warehouse)).landing:
        if to.is_symlink():
            raise InputError(f"{to}: is a link, and links inside a warehouse are not followed; pass its target to --to")
        ownership.claim(paths)
    elif os.path.realpath(to) != os.path.realpath(paths.landing):
        ownership.refuse_owned(to)
    with hold_folder(to):
        watcher.start(wanted)
        return fetch_files(wanted, settings, watcher)


def fetch_files(wanted: list[Wanted], settings: Settings, watcher: FetchDisplay) -> list[Result]:
    """Distribute the files over threads, which do not keep an interrupted process alive."""
    tasks: queue.SimpleQueue[Wanted] = queue.SimpleQueue()
    done: queue.SimpleQueue[Result | Exception] = queue.SimpleQueue()
    for one in wanted:
        tasks.put(one)
    hosts = Hosts()

    def work() -> None:
        with contextlib.closing(pycurl.Curl()) as curl, contextlib.suppress(queue.Empty):
            downloader = Downloader(curl, settings, watcher, hosts)
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
    except OSError as error:
        raise InputError(f"{to}: cannot be created: {error.strerror}") from error
    with files.alone_in(to) as is_alone:
        if is_alone is False:
            raise CheckError(f"{to}: another fetch is running")
        yield
