"""Downloads what the rooms list, several files at a time, into the layout that `build` reads, and tells what failed.

How one file is downloaded is `downloading`, which files there are is `wanted`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

from pipelines.commands import command
from pipelines.corpora import registry
from pipelines.errors import CheckError, InputError
from pipelines.intake import ownership, transport
from pipelines.intake.downloading import Downloader, Hosts, Result, Watcher
from pipelines.intake.wanted import Wanted, plan
from pipelines.paths import WarehousePaths
from pipelines.settings import FORMS, Settings

DISPLAYED_FILES = 5
"""Files that are named one by one when they failed for the same cause."""


def fetch(settings: Settings, to: Path, watcher: Watcher) -> list[Result]:
    """Download what the settings' corpora list to `to/<corpus_id>/<path>`; a result for each file, in the listed order.

    Raises InputError before anything is downloaded, CheckError when another run downloads into the same folder. A file
    that cannot be had is no error here, but for `refuse_failures`.
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
def hold_folder(to: Path) -> Generator[None]:
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
    """Say which files a mirror gave, and why the addresses before it did not."""
    groups: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        if result.failed_before:
            key = (result.wanted.corpus.corpus_id, result.host, result.failed_before)
            groups.setdefault(key, []).append(result)
    for group in groups.values():
        yield f"{_named(group)}: from {group[0].host}, because {'; '.join(dict.fromkeys(group[0].failed_before))}"


def _named(results: list[Result]) -> str:
    """The first files of some results, and how many more there are."""
    names = [result.wanted.name for result in results]
    more = f" and {len(names) - DISPLAYED_FILES:,} more files" if len(names) > DISPLAYED_FILES else ""
    return f"{', '.join(names[:DISPLAYED_FILES])}{more}"


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


def _other_ways(wanted: list[Wanted], mirror: str | None) -> Iterator[str]:
    """Other ways to get files than from the addresses that failed, a line each."""
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
