"""The floor of the benchmark: a hand-written script that reads a release's turns, acts and slots into memory.

Each corpus has one plain DuckDB script (`tests/fixtures/<corpus>/floor.sql`) with a section per entity and explicit
column types. It reads the files of a build and unnests them to the lowest level, without keys, checks or output on
disk. Its head says which of its tables have the same number of rows as which query of core.
Run it alone with `python -m tests.benchmarks.floor SOURCE`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
import time
from pathlib import Path

import duckdb
import msgspec

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container, Corpus
from dialogue_warehouse.releases import finding
from tests import fixtures

THREADS = 2


def read_corpus(corpus: Corpus, source: Path) -> tuple[float, dict[str, int]]:
    """Read one release below `source` into tables in memory. Return the seconds and the number of rows of each table."""
    files: dict[str, list[Path]] = {}
    release = finding.find_release(corpus, source)
    for entity, path in release.files:
        files.setdefault(entity.name, []).append(release.folder / path)
    splits = {entity.name for entity in corpus.entities if entity.container is Container.SPLITS}
    scripts = sections(fixtures.floor_of(corpus.corpus_id))
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(config={"threads": THREADS}) as con:
        started = time.perf_counter()
        for entity, script in scripts.items():
            paths = files.get(entity, [])
            if entity in splits:
                paths = [write_lines(path, Path(folder) / f"{path.name}.ndjson") for path in paths]
            if paths:
                con.execute("set variable files = ?::varchar[]", [[str(path) for path in paths]])
                con.execute(script)
        seconds = time.perf_counter() - started
        tables = [name for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()]
        return seconds, {name: con.execute(f"select count(*) from {name}").fetchone()[0] for name in sorted(tables)}


def sections(script: str) -> dict[str, str]:
    """Return the SQL of each entity of a script, whose parts begin with `-- entity: <name>`."""
    parts = re.split(r"^-- entity: (\w+)\n", script, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def core_tables(script: str) -> dict[str, str]:
    """Return the tables with as many rows as a query counts in core, named in lines `-- rows: <name> = <query>`."""
    return dict(re.findall(r"^-- rows: (\w+) = (.+)$", script, flags=re.M))


def write_lines(file: Path, lines: Path) -> Path:
    """Write the records of an object of arrays, one per line: faster and smaller than reading it as one JSON value."""
    data = file.read_bytes()
    text = gzip.decompress(data) if file.suffix == ".gz" else data
    with lines.open("wb") as stream:
        for part, records in msgspec.json.decode(text, type=dict[str, list[msgspec.Raw]]).items():
            for record in records:
                flat = bytes(record).replace(b"\n", b" ")
                stream.write(b'{"part":%s,"record":%s}\n' % (msgspec.json.encode(part), flat))
    return lines


def main() -> None:
    """Print a JSON object: corpus -> seconds and rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--corpora", type=lambda text: tuple(text.split(",")), default=())
    options = parser.parse_args()
    result = {}
    for corpus in registry.load_corpora(options.corpora):
        seconds, rows = read_corpus(corpus, options.source)
        result[corpus.corpus_id] = {"seconds": seconds, "rows": rows}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
