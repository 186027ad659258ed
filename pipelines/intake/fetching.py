"""Downloads the files that the rooms' source.toml list, several at a time, into the layout that `build` reads.

A file takes its place, by a rename, when it is what is listed, and nothing that stands there is ever overwritten. What
a run leaves unfinished is `<name>.part`, which the next run continues; what is not the listed file is kept as
`<name>.mismatch`. Nothing is printed here: a `Watcher` sees what happens, and each file has its `Result`.
"""

from __future__ import annotations

import contextlib
import enum
import fcntl
import gzip
import hashlib
import os
import queue
import random
import re
import threading
import time
import urllib.parse
import zlib
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from pipelines.corpora import registry
from pipelines.corpora.room import Corpus, SourceFile
from pipelines.errors import CheckError, InputError
from pipelines.intake import transport
from pipelines.intake.simulating import MARKER, UNFINISHED
from pipelines.intake.transport import NotResumableError, TransientError, UnavailableError
from pipelines.settings import Settings

ASIDE = ".mismatch"
"""Suffix of a download that is not the listed file."""
CHUNK = 2**18
"""Most bytes that are read at once; an attempt that brought so many was not in vain."""
LARGEST_UNLISTED = 2**28
"""Most bytes that are accepted of a file whose size is not listed."""
CONNECT_ATTEMPTS = 3
"""Times that a host which cannot be reached is tried."""
LONGEST_WAIT = 120.0
"""Most seconds that are waited before a file is asked for again."""
HOPELESS = 3
"""Files of a host that could not be had, none between them that could, before no other is tried."""
DISPLAYED_FILES = 5
"""Files that are named one by one when they failed for the same cause."""


class Outcome(enum.StrEnum):
    """What became of a listed file."""

    FETCHED = "fetched"
    PRESENT = "already there"
    FAILED = "failed"


@dataclass(frozen=True)
class Wanted:
    """One listed file: where it comes from, and its place."""

    corpus: Corpus
    file: SourceFile
    url: str
    target: Path

    @property
    def name(self) -> str:
        """The file's name in messages, `<corpus_id>/<path>`."""
        return f"{self.corpus.corpus_id}/{self.file.path}"

    @property
    def is_verifiable(self) -> bool:
        """Whether a checksum is listed."""
        return bool(self.file.sha256 or self.file.git_blob_sha1)

    @property
    def largest(self) -> int:
        """Most bytes that are accepted."""
        return LARGEST_UNLISTED if self.file.bytes is None else self.file.bytes

    def problem(self, path: Path) -> str | None:
        """Why a file on disk is not the listed one, with what was expected and observed; None when it is."""
        size = path.stat().st_size
        if size > self.largest:
            return f"expected {'at most ' * (self.file.bytes is None)}{self.largest:,} bytes, observed more"
        if self.file.bytes not in (None, size):
            return f"expected {self.file.bytes:,} bytes, observed {size:,}"
        with path.open("rb") as stream:
            if self.file.sha256:
                kind, expected, digest = "sha256", self.file.sha256, hashlib.sha256()
            elif self.file.git_blob_sha1:
                digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
                kind, expected = "git blob id", self.file.git_blob_sha1
            else:
                return None
            observed = hashlib.file_digest(stream, lambda: digest).hexdigest()
        return None if observed == expected else f"expected {kind} {expected}, observed {observed}"


@dataclass(frozen=True)
class Result:
    """What became of one listed file."""

    wanted: Wanted
    outcome: Outcome
    bytes: int = 0
    """Size of the file at its place."""
    cause: str | None = None
    """Why it failed; the same text for each file that failed for the same cause."""
    helps_by_hand: bool = False
    """Whether it can be downloaded in another way."""


class Watcher(Protocol):
    """Sees the downloads; `progress` and `wait` come from several threads."""

    def start(self, wanted: list[Wanted]) -> None:
        """These files are going to be looked at."""
        ...

    def progress(self, wanted: Wanted, done: int, total: int | None) -> None:
        """So many bytes of a file are there, of so many, where that is known."""
        ...

    def wait(self, wanted: Wanted, cause: str, seconds: float) -> None:
        """A file is asked for again in some seconds, because of this."""
        ...

    def finish(self, result: Result) -> None:
        """A file is done with."""
        ...


def plan(corpora: tuple[Corpus, ...], to: Path, mirror: str | None = None) -> list[Wanted]:
    """Every listed file of some corpora, with its URL and its place below `to`.

    Raises InputError for a path that leaves its folder, and for a folder that holds a generated release.
    """
    wanted = []
    for corpus in corpora:
        folder = to / corpus.corpus_id
        if any((folder / name).exists() for name in (MARKER, MARKER + UNFINISHED)):
            raise InputError(f"{folder} holds a generated release ({MARKER}): fetch --to another folder")
        for file in corpus.files:
            if not _stays_inside(file.path):
                raise InputError(f"{corpus.corpus_id}/source.toml: the path {file.path!r} leaves the corpus's folder")
            url = _at_mirror(mirror, f"{corpus.corpus_id}/{file.path}") if mirror else file.url
            wanted.append(Wanted(corpus, file, url, folder / file.path))
    return wanted


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and path.isprintable() and not {"..", "/"} & set(parts) and not re.search(r"[\\:]", path)


def _at_mirror(mirror: str, name: str) -> str:
    base = urllib.parse.urlsplit(mirror)
    return base._replace(path=f"{base.path.rstrip('/')}/{urllib.parse.quote(name)}", fragment="").geturl()


def fetch(settings: Settings, to: Path, watcher: Watcher) -> list[Result]:
    """Download what the settings' corpora list to `to/<corpus_id>/<path>`; a result for each file, in the listed order.

    Raises InputError before anything is downloaded, CheckError when another run downloads into the same folder. A file
    that cannot be had is no error here, but for `refuse_failures`.
    """
    wanted = plan(registry.load_corpora(settings.only), to, settings.mirror)
    with _exclusive(to):
        watcher.start(wanted)
        return fetch_files(wanted, settings, watcher)


def fetch_files(wanted: list[Wanted], settings: Settings, watcher: Watcher) -> list[Result]:
    """Spread the files over threads, which do not keep an interrupted process alive."""
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
def _exclusive(to: Path) -> Generator[None]:
    """Hold the folder for this run, where the file system can."""
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
    """Raise CheckError with a line for each cause, and below it what to do by hand."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        if result.cause:
            groups.setdefault(result.cause, []).append(result)
    lines = []
    for cause, failed in groups.items():
        names = [result.wanted.name for result in failed]
        more = f" and {len(names) - DISPLAYED_FILES:,} more files" if len(names) > DISPLAYED_FILES else ""
        lines.append(f"{', '.join(names[:DISPLAYED_FILES])}{more}: {cause}")
        if failed[0].helps_by_hand:
            lines += [f"       by hand: {line}" for line in _by_hand([result.wanted for result in failed])]
    if mirror and any(result.helps_by_hand for result in results):
        lines.append("       without DIALOGUE_MIRROR the publishers are asked")
    if lines:
        raise CheckError("\n".join(lines))


def _by_hand(wanted: list[Wanted]) -> Iterator[str]:
    """What to download and where to put it: a file, or all those of a corpus."""
    groups: dict[tuple[str, Path], list[Wanted]] = {}
    for one in wanted:
        folder = one.target.parents[one.file.path.count("/")]
        groups.setdefault((one.file.url.removesuffix(one.file.path), folder), []).append(one)
    for (base, folder), group in groups.items():
        if len(group) == 1:
            yield f"{group[0].file.url} to {group[0].target}"
        else:
            yield f"{base}<path> to {folder}/<path> ({len(group):,} files)"


class Hosts:
    """Remembers who does not answer, so that all other files of a dead host fail at once and for the same cause."""

    def __init__(self) -> None:
        self._failures: Counter[str] = Counter()
        self._causes: dict[str, str] = {}
        self._lock = threading.Lock()

    def check(self, host: str) -> None:
        """Raise UnavailableError when nothing of this host is to be had."""
        if cause := self._causes.get(host):
            raise UnavailableError(cause)

    def answered(self, host: str) -> None:
        """A file of this host was received."""
        with self._lock:
            self._failures.pop(host, None)
            self._causes.pop(host, None)

    def failed(self, host: str, cause: str, is_certain: bool) -> None:
        """A file of this host could not be had; no other can, when that is certain."""
        with self._lock:
            self._failures[host] += HOPELESS if is_certain else 1
            if self._failures[host] >= HOPELESS:
                self._causes.setdefault(host, cause)


class Part:
    """What is there of a file that is not complete, with the validator of what it is the beginning of."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.path = wanted.target.with_name(wanted.target.name + UNFINISHED)
        self._etag_file = self.path.with_name(self.path.name + ".etag")
        self.is_resumable = True
        self.is_glued = False
        """Whether it comes from several answers, which may be parts of different files."""

    @property
    def size(self) -> int:
        """Bytes that are there."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def etag(self) -> str | None:
        """The validator that the server gave, if it gave one."""
        try:
            return self._etag_file.read_text(encoding="ascii")
        except (OSError, ValueError):
            return None

    def offset(self) -> int:
        """Bytes that need not be asked for: all that are there, or none when only a whole file can be trusted."""
        size = self.size
        trusted = self.is_resumable and (self.wanted.is_verifiable or self.etag)
        self.is_glued = bool(trusted and 0 < size <= self.wanted.largest)
        return size if self.is_glued else 0

    def begin(self, etag: str | None) -> None:
        """Start anew, with the validator of what is going to come."""
        self.discard()
        if etag:
            self._etag_file.write_text(etag, encoding="ascii")
        self.path.touch()

    def discard(self) -> None:
        """Remove every trace."""
        for file in (self._etag_file, self.path):
            file.unlink(missing_ok=True)

    def unpack(self) -> bool:
        """Undo the gzip that a server put around the file; False when there is none, or too much in it."""
        plain = self.path.with_name(self.path.name + ".plain")
        try:
            with gzip.open(self.path) as packed, plain.open("wb") as stream:
                while chunk := packed.read(CHUNK):
                    stream.write(chunk)
                    if stream.tell() > self.wanted.largest:
                        return False
            plain.replace(self.path)
            return True
        except (EOFError, gzip.BadGzipFile, zlib.error):
            return False
        finally:
            plain.unlink(missing_ok=True)

    def move(self, place: Path) -> None:
        """Let it appear under another name, safely on the disk, and leave nothing else."""
        with self.path.open("rb") as stream:
            os.fsync(stream.fileno())
        self.path.replace(place)
        self.discard()


class Downloader:
    """Downloads one file after the other; each thread has its own."""

    def __init__(self, session: transport.Session, settings: Settings, watcher: Watcher, hosts: Hosts) -> None:
        self.session, self.settings, self.watcher, self.hosts = session, settings, watcher, hosts

    def fetch(self, wanted: Wanted) -> Result:
        """Bring one file to its place, unless it is there."""
        try:
            outcome = Outcome.PRESENT if os.path.lexists(wanted.target) else self._download(wanted)
            if outcome is Outcome.PRESENT:
                self._keep(wanted)
            size = wanted.target.stat().st_size
            self.watcher.progress(wanted, size, size)
            return Result(wanted, outcome, size)
        except UnavailableError as error:
            return Result(wanted, Outcome.FAILED, cause=error.cause, helps_by_hand=error.helps_by_hand)
        except OSError as error:
            return Result(wanted, Outcome.FAILED, cause=f"{wanted.target.parent} cannot be used: {error.strerror}")

    def _keep(self, wanted: Wanted) -> None:
        """Accept what is at the file's place, or fail: it may be the user's own."""
        problem = wanted.problem(wanted.target) if wanted.target.is_file() else "it is no file"
        if problem:
            raise UnavailableError(f"another file is in its place and was left alone: {problem}; move it away", False)
        Part(wanted).discard()

    def _download(self, wanted: Wanted) -> Outcome:
        """Receive a file, check it, and let it take its place; PRESENT when another one has taken it meanwhile."""
        wanted.target.parent.mkdir(parents=True, exist_ok=True)
        part = Part(wanted)
        problem = self._receive_and_check(wanted, part)
        if problem and part.is_glued:
            part.is_resumable = False
            problem = self._receive_and_check(wanted, part)
        if problem:
            aside = wanted.target.with_name(wanted.target.name + ASIDE)
            part.move(aside)
            raise UnavailableError(f"what came is not the listed file: {problem}; kept as {aside}", False)
        if os.path.lexists(wanted.target):
            return Outcome.PRESENT
        part.move(wanted.target)
        return Outcome.FETCHED

    def _receive_and_check(self, wanted: Wanted, part: Part) -> str | None:
        """Receive a file to its end; what is wrong with it, None when nothing is."""
        encoding = self._receive_patiently(wanted, part)
        problem = wanted.problem(part.path)
        if problem and encoding == "gzip" and part.unpack():
            problem = wanted.problem(part.path)
        return problem

    def _receive_patiently(self, wanted: Wanted, part: Part) -> str | None:
        """Receive a file, in as many attempts as it takes; the encoding around it."""
        host = transport.host_of(wanted.url)
        failures, most = 0, part.size
        while True:
            self.hosts.check(host)
            try:
                encoding = self._receive(wanted, part)
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

    def _receive(self, wanted: Wanted, part: Part) -> str | None:
        """One attempt: receive what is missing of a file; the encoding around it."""
        offset = part.offset()
        if offset and offset == wanted.file.bytes:
            return None
        with transport.open_url(self.session, wanted.url, offset, part.etag) as body:
            if body.start == 0:
                part.is_glued = False
                part.begin(body.etag)
            size = body.start
            with part.path.open("ab") as stream:
                while size <= wanted.largest and (chunk := body.read(CHUNK)):
                    size += stream.write(chunk[: wanted.largest + 1 - size])
                    stream.flush()
                    self.watcher.progress(wanted, size, wanted.file.bytes or body.total)
            end = body.total if body.is_framed else wanted.file.bytes
            if size < min(end or 0, wanted.largest):
                raise TransientError(f"{transport.host_of(wanted.url)} cut the connection")
            return body.encoding
