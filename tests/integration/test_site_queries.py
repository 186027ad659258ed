"""The processes of users' queries: forked from one process, killed when their reader leaves, and replaced when they die."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dialogue_warehouse.errors import CheckError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import running
from dialogue_warehouse.site.published import BusyError
from dialogue_warehouse.site.query_process import Answer, Question
from dialogue_warehouse.site.running import MODULE, RUNNING, Workers
from dialogue_warehouse.storage.builds import published_build
from tests.running import processes_below

ENDLESS = "select max(hash(a.range, b.range)) from range(10000000) as a cross join range(10000000) as b"
PATIENCE = 30.0


def run(folder: Path, use: Callable[[Workers, str], Awaitable[None]], settings: Settings | None = None) -> None:
    """Use the processes of a server, then end them and see that none is left."""

    async def whole() -> None:
        workers = Workers(folder, settings or Settings(memory_limit="300MB"))
        try:
            await use(workers, published_build(WarehousePaths(folder))[0])
        finally:
            await workers.close()

        await until(lambda: not of_queries())

    asyncio.run(whole())


def of_queries() -> dict[int, int]:
    """Return the processes of queries and the one from which they are forked, each with its parent."""
    found = {pid for pid, command in processes_below(os.getpid()).items() if MODULE in command}
    return {pid: parent for pid in found if (parent := parent_of(pid)) is not None}


def parent_of(pid: int) -> int | None:
    try:
        return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def forker() -> int:
    """Return the process from which the others are forked."""
    (found,) = (pid for pid, parent in of_queries().items() if parent == os.getpid())
    return found


async def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


async def ask(workers: Workers, build_id: str, query: str) -> Answer:
    async with workers.worker(build_id) as worker:
        return await worker.ask(Question(query))


def test_each_query_has_its_own_process(sample_folder: Path) -> None:
    async def use(workers: Workers, build_id: str) -> None:
        for number in range(3):
            answer = await ask(workers, build_id, f"select {number} as n")
            assert (answer.error, answer.rows) == (None, [[str(number)]])
        (thread,) = Path(
            "/proc", str(forker()), "task"
        ).iterdir()  # a process with more threads cannot be forked safely
        assert thread.name == str(forker())
        async with workers.worker(build_id) as one, workers.worker(build_id) as other:
            await until(lambda: len(of_queries()) == 4)  # that of the fork, two that answer, one that waits
            first, second = await asyncio.gather(one.ask(Question("select 1")), other.ask(Question("select 2")))
            assert (first.rows, second.rows) == ([["1"]], [["2"]])

    run(sample_folder, use)


def test_query_ends_with_its_reader(sample_folder: Path) -> None:
    async def use(workers: Workers, build_id: str) -> None:
        asked = asyncio.create_task(ask(workers, build_id, ENDLESS))
        await until(lambda: len(of_queries()) == 3)  # it is asked, so another process waits
        assert not asked.done()
        before = of_queries()
        asked.cancel()
        await asyncio.wait({asked})
        assert len(before.keys() - of_queries().keys()) == 1
        assert (await ask(workers, build_id, "select 1")).rows == [["1"]]

    run(sample_folder, use)


def test_unread_rows_do_not_keep_a_process(sample_folder: Path) -> None:
    async def use(workers: Workers, build_id: str) -> None:
        async with workers.worker(build_id) as worker:
            await worker.ask(Question("select range as n from range(100000000)", "csv"))
            await anext(aiter(worker.rest()))
        await until(lambda: len(of_queries()) <= 2)

    run(sample_folder, use)


def test_download_that_fails_after_its_first_rows_is_not_taken_for_complete(sample_folder: Path) -> None:
    async def use(workers: Workers, build_id: str) -> None:
        failing = "select if(range < 900000, range, cast('x' || range as bigint)) as n from range(1000000)"
        async with workers.worker(build_id) as worker:
            assert (await worker.ask(Question(failing, "csv"))).error is None
            with pytest.raises(CheckError, match=r"not complete.*Could not convert string 'x900000'"):
                assert [part async for part in worker.rest()]
        async with workers.worker(build_id) as worker:
            await worker.ask(Question("select range as n from range(100000000)", "csv"))
            read = aiter(worker.rest())
            assert (await anext(read)).startswith(b"n\n0\n1\n")
            for pid in {pid for pid, parent in of_queries().items() if parent == forker()}:
                os.kill(pid, signal.SIGKILL)
            with pytest.raises(CheckError, match=r"not complete.*its process has ended"):
                while True:
                    await anext(read)

    run(sample_folder, use)


def test_further_query_is_busy(sample_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "TURN", 0.2)

    async def use(workers: Workers, build_id: str) -> None:
        asked = [asyncio.create_task(ask(workers, build_id, ENDLESS)) for _ in range(RUNNING)]
        await until(lambda: len(of_queries()) == 2 + RUNNING)
        with pytest.raises(BusyError, match="2 queries of others are running"):
            await ask(workers, build_id, "select 1")
        for one in asked:
            one.cancel()
        await asyncio.wait(asked)
        assert (await ask(workers, build_id, "select 1")).rows == [["1"]]

    run(sample_folder, use)


def test_query_whose_process_dies_is_an_answer(sample_folder: Path) -> None:
    async def use(workers: Workers, build_id: str) -> None:
        asked = asyncio.create_task(ask(workers, build_id, ENDLESS))
        await until(lambda: len(of_queries()) == 3)  # it is asked, so another process waits
        killed = {pid for pid, parent in of_queries().items() if parent == forker()}
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        assert (await asked).error == ("the query ended without a result: it may have needed more memory than there is")
        await until(lambda: not killed & of_queries().keys())
        await asyncio.sleep(0.1)  # the server reads that the one that waited has ended
        assert (await ask(workers, build_id, "select 1")).rows == [["1"]]

    run(sample_folder, use)


def test_process_of_the_forks_is_replaced_when_it_dies(sample_folder: Path) -> None:
    async def use(workers: Workers, build_id: str) -> None:
        asked = asyncio.create_task(ask(workers, build_id, ENDLESS))
        await until(lambda: len(of_queries()) == 3)  # it is asked, so another process waits
        before = of_queries()
        os.kill(forker(), signal.SIGKILL)
        assert (await asked).error is not None
        await until(lambda: not before.keys() & of_queries().keys())
        assert (await ask(workers, build_id, "select 1")).rows == [["1"]]

    run(sample_folder, use)


def test_query_that_needs_too_much_memory_is_refused(sample_folder: Path) -> None:
    async def use(workers: Workers, build_id: str) -> None:
        answer = await ask(workers, build_id, "select list(range) as all_of_them from range(100000000)")
        assert answer.error is not None
        assert "DIALOGUE_QUERY_MEMORY_LIMIT allows more" in answer.error

    run(sample_folder, use, Settings(memory_limit="100MB"))
