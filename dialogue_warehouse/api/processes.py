"""Connections in forked processes. DuckDB's threads stay with the parent, so closing a database of it hangs or crashes.

The last reference to a connection closes it, too: a forked process keeps each one that it has inherited until it ends.
"""

from __future__ import annotations

import ctypes
import os
import weakref

from dialogue_warehouse.reading.connection import Connection

OWN: weakref.WeakSet[Connection] = weakref.WeakSet()
"""The connections that this process has opened."""
INHERITED: list[Connection] = []
"""The connections that its parent has opened."""


def opened(con: Connection) -> Connection:
    """Return a connection that this process has opened, after it was recorded."""
    OWN.add(con)
    return con


def is_inherited(con: Connection) -> bool:
    """Return whether the parent of this process has opened a connection."""
    return any(con is one for one in INHERITED)


def _inherit() -> None:
    """Count one more reference to each connection, which nothing takes back: not even the end of Python."""
    for con in OWN:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(con))
        INHERITED.append(con)
    OWN.clear()


os.register_at_fork(after_in_child=_inherit)
