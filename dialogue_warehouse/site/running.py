"""Queries of users, each in a process of its own that ends when the reader leaves or the time is up."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from pathlib import Path

import msgspec

from dialogue_warehouse import environment
from dialogue_warehouse.errors import CheckError, InputError
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site.published import BusyError
from dialogue_warehouse.site.query_process import LENGTH, Answer, Question

MODULE = "dialogue_warehouse.site.forking"
RUNNING = 2
"""Queries at the same time, in the whole server."""
TURN = 5.0
"""Seconds that another query waits for its turn."""
CHUNK = 1 << 16
LONGEST_LINE = 64 << 20
"""Bytes of an answer that a page shows."""
READY = 30.0
"""Seconds in which a process must have opened the build."""


class _Ready(msgspec.Struct):
    build: str | None
    error: str | None = None


class Worker:
    """A process that waits for its query."""

    def __init__(self, out: asyncio.StreamReader, into: asyncio.StreamWriter) -> None:
        self._out, self._in = out, into
        self.build: str | None = None

    async def be_ready(self) -> None:
        """Wait until the process has opened the build. Raises InputError if it cannot."""
        try:
            line = await asyncio.wait_for(self._out.readline(), READY)
        except TimeoutError:
            raise BusyError(f"the build was not opened within {READY:g} seconds; try again in a moment") from None
        ready = msgspec.json.decode(line, type=_Ready) if line else _Ready(None, "the process of the query has ended")
        if ready.error is not None:
            raise InputError(ready.error)
        self.build = ready.build

    def has_ended(self) -> bool:
        """Return whether the process has ended before its query came."""
        return self._out.at_eof()

    async def ask(self, question: Question) -> Answer:
        """Return the first line of the answer."""
        line = b""
        with contextlib.suppress(ConnectionError):  # the process has ended
            self._in.write(msgspec.json.encode(question) + b"\n")
            await self._in.drain()
            line = await self._out.readline()
        if not line:
            return Answer(error="the query ended without a result: it may have needed more memory than there is")
        return msgspec.json.decode(line, type=Answer)

    async def rest(self) -> AsyncIterator[bytes]:
        """Yield the rows of a download. Raises CheckError if the query fails before it has written all of them."""
        try:
            while size := int.from_bytes(await self._out.readexactly(LENGTH)):
                yield await self._out.readexactly(size)
            failure = msgspec.json.decode(await self._out.readuntil(b"\n"), type=Answer).error
        except (asyncio.IncompleteReadError, ConnectionError):  # the process has ended
            failure = "its process has ended: it may have needed more memory than there is"
        if failure is not None:
            raise CheckError(f"the download is not complete, because the query failed: {failure}")

    async def end(self) -> None:
        """End the process, whatever it does."""
        with contextlib.suppress(ConnectionError):
            self._in.write_eof()
            while await self._out.read(CHUNK):
                pass
        self._in.close()


class Forker:
    """The process from which those of the queries are forked; it starts with the first of them."""

    def __init__(self, arguments: Sequence[str], variables: Mapping[str, str]) -> None:
        self._arguments, self._variables = arguments, variables
        self._lock = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._control: socket.socket | None = None

    async def fork(self, stream: socket.socket) -> None:
        """Let a new process answer through a socket."""
        async with self._lock:
            if self._control is not None:
                try:
                    socket.send_fds(self._control, [b"\n"], [stream.fileno()])
                    return
                except OSError:  # the process has ended
                    await self.end()
            self._control, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
            with theirs:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", MODULE, str(os.getpid()), str(theirs.fileno()), *self._arguments),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    env=self._variables,
                    pass_fds=[theirs.fileno()],
                )
            socket.send_fds(self._control, [b"\n"], [stream.fileno()])

    async def end(self) -> None:
        """End the process, and those that were forked from it."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            await self._process.wait()


class Workers:
    """The processes of the server: some answer, and one waits."""

    def __init__(self, warehouse: Path, settings: Settings, scores: Path | None = None) -> None:
        arguments = (settings.memory_limit, *([str(scores)] if scores else []))
        self._forker = Forker(arguments, environment.own_variables() | {"DIALOGUE_WAREHOUSE": str(warehouse)})
        self._turns = asyncio.Semaphore(RUNNING)
        self._waiting: asyncio.Task[Worker] | None = None

    async def start(self) -> Worker:
        """Start a process, and return it when it has opened the build."""
        ours, theirs = socket.socketpair()
        with theirs:
            await self._forker.fork(theirs)
        worker = Worker(*await asyncio.open_unix_connection(sock=ours, limit=LONGEST_LINE))
        try:
            await worker.be_ready()
        except BaseException:
            await worker.end()
            raise
        return worker

    def prepare(self) -> None:
        """Start the process that waits, unless there is one."""
        if self._waiting is None:
            self._waiting = asyncio.create_task(self.start())
            self._waiting.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def take(self, build_id: str) -> Worker:
        """Return a process that reads this build: the waiting one, or a new one if that reads another or has ended."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            with contextlib.suppress(Exception):
                try:
                    worker = await asyncio.shield(waiting)
                except asyncio.CancelledError:  # its reader has left: the next one takes it
                    self._waiting = self._waiting or waiting
                    raise
                if worker.build == build_id and not worker.has_ended():
                    return worker
                await worker.end()
        return await self.start()

    @contextlib.asynccontextmanager
    async def worker(self, build_id: str) -> AsyncGenerator[Worker]:
        """Give a process that reads this build, and end it. Raises BusyError if too many queries run."""
        try:
            await asyncio.wait_for(self._turns.acquire(), TURN)
        except TimeoutError:
            raise BusyError(f"{RUNNING} queries of others are running; try again in a moment") from None
        try:
            worker = await self.take(build_id)
            self.prepare()
            try:
                yield worker
            finally:
                await asyncio.shield(worker.end())
        finally:
            self._turns.release()

    async def close(self) -> None:
        """End the process that waits, and the one from which it was forked."""
        if self._waiting is not None:
            with contextlib.suppress(Exception):
                await (await self._waiting).end()
        await self._forker.end()
