"""Whether every machine of a cluster sees the folder of the warehouse under the path that it has here."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path

from pipelines.cluster.session import Session
from pipelines.errors import InputError

TASKS = 8
"""So many tasks look, which Spark gives to all the machines it has."""


def check(spark: Session, folder: Path) -> None:
    """Raise InputError where a task does not see a file of this folder, or writes one that is not seen here."""
    folder.mkdir(parents=True, exist_ok=True)
    seen_there = folder / f".seen.{os.getpid()}.{uuid.uuid4().hex}.tmp"
    seen_there.write_bytes(b"")
    names = [(str(seen_there), f"{seen_there}.{number}.tmp") for number in range(TASKS)]
    try:
        for (_, written), (host, why) in zip(names, spark.run(_look, names), strict=True):
            why = why or ("" if Path(written).is_file() else "what it writes there is not seen here")
            if why:
                raise InputError(
                    f"{folder}: {host}, a machine of the cluster, does not share it ({why}): the warehouse and the "
                    "source have to lie on storage that every machine sees under the same path"
                )
    finally:
        for path in (seen_there, *(Path(written) for _, written in names)):
            path.unlink(missing_ok=True)


def _look(names: tuple[str, str]) -> tuple[str, str]:
    """In a task: the machine it runs on, and why it cannot land files there."""
    there, written = map(Path, names)
    host = socket.gethostname()
    if not there.is_file():
        return host, "what is written here is not seen there"
    try:
        written.write_bytes(b"")
    except OSError as error:
        return host, f"it cannot write there: {error.strerror}"
    return host, ""
