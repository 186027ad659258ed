"""A reader of a warehouse that goes on reading, in a process of its own."""

READER = """
import json, sys, time
from collections import Counter
from pathlib import Path
import duckdb
from pipelines.paths import WarehousePaths
from pipelines.reading.connection import open_published
paths, halt, a_second, queries = WarehousePaths(Path(sys.argv[1])), Path(sys.argv[2]), float(sys.argv[3]), json.loads(sys.argv[4])
is_ours, seen, failures, began, number = sys.argv[5] == "ours", Counter(), [], time.monotonic(), 0
while not halt.exists():
    try:
        with open_published(paths) if is_ours else duckdb.connect(str(paths.published), read_only=True) as con:
            answers = []
            for query in queries:
                answers.append(con.execute(query).fetchall()[0][0])
                number += 1
                time.sleep(max(0, began + number / a_second - time.monotonic()))
        seen[json.dumps(answers)] += 1
    except Exception as error:
        failures.append(repr(error))
print(json.dumps({"queries": number, "seen": seen, "failures": failures}))
"""
"""Arguments: the warehouse, a file whose coming ends it, queries a second, the queries, `ours` or `any` client."""
