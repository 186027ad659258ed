"""The process from which the processes of queries are forked: each starts in milliseconds, and they share its memory.

It imports what a query needs, opens no data and has one thread. The server sends it a socket for each query; the
forked process answers there (`query_process`). When the server closes its side, this process kills the forked one, so a
query ends whatever it does. It closes its own side when the forked process has ended, which the server then sees.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from dialogue_warehouse.common.database import connect
from dialogue_warehouse.common.processes import end_at_once, end_with_parent
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site.query_process import serve_one

MOST_BYTES = 1
"""Bytes of a message of the server; the socket that comes with it is what counts."""


@dataclass(frozen=True)
class Forked:
    """A process that answers a query."""

    pid: int
    end: int
    """A file descriptor that can be read when the process has ended."""
    stream: socket.socket

    def close(self) -> None:
        """Close what belongs to it in this process."""
        os.close(self.end)
        self.stream.close()


class Forker:
    """Forks a process for each socket that comes through `control`."""

    def __init__(self, control: socket.socket, memory_limit: str, scores: Path | None) -> None:
        self._control, self._memory_limit, self._scores = control, memory_limit, scores
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._forked: dict[int, Forked] = {}
        """The processes by the descriptors of their streams, and of their ends."""

    def run(self) -> None:
        """Fork and end processes until the server closes its side."""
        while True:
            events = {descriptor for descriptor, _ in self._poll.poll()}
            for descriptor in events - {self._control.fileno()}:
                if forked := self._forked.get(descriptor):
                    self._end(forked, is_over=descriptor == forked.end)
            if self._control.fileno() in events:  # last: a new descriptor may have the number of one that was closed
                _, received, _, _ = socket.recv_fds(self._control, MOST_BYTES, 1)
                if not received:
                    return
                self._fork(socket.socket(fileno=received[0]))

    def _fork(self, stream: socket.socket) -> None:
        """Start the process that answers through this socket."""
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                end_with_parent(parent)
                self._control.close()
                for other in {*self._forked.values()}:
                    other.close()  # or the server would not see that another process has ended
                serve_one(stream, self._memory_limit, self._scores)
            finally:
                end_at_once(0)
        forked = Forked(pid, os.pidfd_open(pid), stream)
        self._forked |= {stream.fileno(): forked, forked.end: forked}
        self._poll.register(stream, select.POLLRDHUP)
        self._poll.register(forked.end, select.POLLIN)

    def _end(self, forked: Forked, is_over: bool) -> None:
        """Kill a process; when it is over, close what belongs to it."""
        if not is_over:
            os.kill(forked.pid, signal.SIGKILL)  # it is not waited for yet, so no other process has its number
            self._poll.unregister(forked.stream)
            return
        for descriptor in (forked.stream.fileno(), forked.end):
            with contextlib.suppress(KeyError):  # it was killed
                self._poll.unregister(descriptor)
            del self._forked[descriptor]
        forked.close()
        os.waitpid(forked.pid, 0)


def main() -> None:
    """Fork processes. The arguments: the server's id, the control socket, the memory limit, the file of scores."""
    parent, control, memory_limit, *scores = sys.argv[1:]
    end_with_parent(int(parent))
    with contextlib.suppress(InputError):  # the process of a query says what is wrong
        connect(
            Settings(memory_limit=memory_limit, threads=1)
        ).close()  # the first connection of a process takes longer
    gc.collect()
    gc.freeze()  # or a collection in a forked process would write to memory that all of them share
    Forker(socket.socket(fileno=int(control)), memory_limit, Path(scores[0]) if scores else None).run()


if __name__ == "__main__":
    main()
    end_at_once(0)
