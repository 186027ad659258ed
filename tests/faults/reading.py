"""Readers of a warehouse that read all the time, each in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dialogue_warehouse.paths import CLONE, WarehousePaths

READERS, A_SECOND = 4, 13
"""Four processes, together 52 queries a second."""
READER = """
import json, os, sys, time
from collections import Counter
from pathlib import Path
import duckdb
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.connection import open_published
paths, halt, a_second, queries = WarehousePaths(Path(sys.argv[1])), Path(sys.argv[2]), float(sys.argv[3]), json.loads(sys.argv[4])
is_ours, seen, failures, began, number = sys.argv[5] == "ours", Counter(), [], time.monotonic(), 0
is_second = is_ours
while not halt.exists():
    try:
        with open_published(paths) if is_ours else duckdb.connect(str(paths.published), read_only=True) as con:
            answers = []
            for query in queries:
                answers.append(con.execute(query).fetchall()[0][0])
                number += 1
                time.sleep(max(0, began + number / a_second - time.monotonic()))
        seen[json.dumps(answers)] += 1
        halt.with_suffix(f".{os.getpid()}").touch()
        is_second = is_ours
    except Exception as error:
        if is_second or not isinstance(error, duckdb.Error):
            failures.append(repr(error))
        is_second = True
print(json.dumps({"queries": number, "seen": seen, "failures": failures}))
"""
"""Arguments: the warehouse, a file that ends the reader when it appears, queries per second, the queries, `ours` or `any` client.

A file beside that one, with the number of the process, shows that it has read.

DuckDB opens a file three times by its path, so any client can fail if the file is replaced between two of them. It tries
again at once, and only a second error in a row is a failure. This project's connection opens a file that is never
replaced, so each of its errors is a failure."""


def start_readers(paths: WarehousePaths, halt: Path, queries: Sequence[str]) -> list[subprocess.Popen[str]]:
    """Start the readers, and wait until each has read: half use this project's connection, half any client of DuckDB."""
    arguments = [str(paths.root), str(halt), str(A_SECOND), json.dumps(queries)]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", READER, *arguments, "ours" if number % 2 else "any"],
            cwd=CLONE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(READERS)
    ]
    while len(list(halt.parent.glob(f"{halt.name}.*"))) < READERS and all(one.poll() is None for one in started):
        time.sleep(0.05)
    return started


def stop_readers(readers: list[subprocess.Popen[str]], halt: Path) -> list[dict[str, Any]]:
    """End the readers. Return for each its number of queries, how often it saw each answer, and its failures."""
    halt.touch()
    return [json.loads(reader.communicate(timeout=60)[0]) for reader in readers]
