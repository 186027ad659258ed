"""Write the results of the benchmarks, which are JSON, as Markdown into `docs/benchmarks.md`.

`python -m tests.benchmarks.report` rewrites the page from the newest results of `make bench` and `make bench-peers`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks import targets
from tests.benchmarks.harness import CLONE, RESULTS, BenchmarkError, markdown_table, ratio

PAGE = CLONE / "docs" / "benchmarks.md"
PEERS = "peers.json"
PEER_NOTES = (
    "Other libraries read SGD's dialogues into tables (turns, frames, acts, spans, state values, call parameters, results) in "
    "memory; the time to import them is not included. This project also creates keys, tests and a database on disk."
)
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"


def origin(result: dict[str, Any], beside: dict[str, Any] | None = None) -> str:
    """Return the date, machine and versions of a measurement in one sentence; short if they are the same as in `beside`."""
    machine, versions = result["machine"], result["versions"]
    when = f"Measured on {result['date']} at commit {result['commit']}, load average {machine['load_average'][0]:.1f}"
    if beside and versions == beside["versions"] and _without_load(machine) == _without_load(beside["machine"]):
        return f"{when}, on the same machine."
    return (
        f"{when}: {machine['cpu']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB, Linux "
        f"{machine['kernel']}; {', '.join(f'{name} {version}' for name, version in versions.items())}."
    )


def _without_load(machine: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in machine.items() if name != "load_average"}


def page(result: dict[str, Any] | None, peers: dict[str, Any] | None) -> str:
    """Return the section between the markers of `docs/benchmarks.md`: all measurements."""
    parts = []
    if result:
        parts += [origin(result), NOTES]
    held = [*(targets.of_builds(result) if result else ()), *(targets.of_peers(peers) if peers else ())]
    parts += ["## Targets", targets.table(held)]
    if result:
        parts += ["## Imports", _imports(result["imports"])]
    for part in result["sets"] if result else ():
        parts += _set_report(part)
    if peers:
        parts += ["## Compared with other libraries", speed_table(peers), peer_report(peers, result)]
    return "\n\n".join(parts)


NOTES = (
    "Seconds are wall clock time: the median of the runs (smallest to largest). The floor is the time of hand-written DuckDB "
    "scripts that only read and unnest the same files into tables in memory, without keys, checks or output on disk; scripts "
    "and builds run in turns. Landing is also measured alone, because a build lands while the framework loads, so that its "
    "own lines include waiting time. Each build is a new process with a new warehouse, and its files are in the page cache. "
    "Memory is the sum of the resident set sizes of all its processes, sampled every 40 ms (an upper bound, because shared "
    "pages count in each process)."
)


def _imports(imports: dict[str, Any]) -> str:
    """Return the table of import times, each measured in a new process that includes the start of Python."""
    rows = [(name, _seconds(cost["seconds"], 2), _seconds(cost["cpu_seconds"], 2)) for name, cost in imports.items()]
    return markdown_table(("a process that imports", "seconds", "CPU seconds"), rows)


def _set_report(part: dict[str, Any]) -> Iterator[str]:
    floor = part["floor"]
    yield f"## {part['name'].capitalize()} ({part['files']:,} files, {part['sizes']['release'] / 1e6:,.1f} MB; {_runs(part['runs'])})"
    rows = [("floor", _seconds(floor["seconds"]), "", _gigabytes(floor["peak_bytes"]))]
    rows += [
        (name, _seconds(part[key]["seconds"]), _seconds(part[key]["cpu_seconds"]), _gigabytes(part[key]["peak_bytes"]))
        for name, key in _COMMANDS
        if part.get(key)
    ]
    rows += [
        (name, _seconds(command["seconds"]), _seconds(command["cpu_seconds"]), _gigabytes(command["peak_bytes"]))
        for name, command in part.get("commands", {}).items()
    ]
    yield markdown_table(("", "seconds", "CPU seconds", "peak memory"), rows)
    yield from _profile(part)
    yield markdown_table(
        ("floor of", "seconds", "rows"),
        [
            (name, _seconds(seconds), f"{sum(floor['rows'][name].values()):,}")
            for name, seconds in floor["corpora"].items()
        ],
    )
    sizes = part["sizes"]
    yield markdown_table(
        ("size", "MB"),
        [
            ("release", f"{sizes['release'] / 1e6:,.1f}"),
            ("raw Parquet", f"{sizes['raw'] / 1e6:,.1f}"),
            ("published database", f"{sizes['database'] / 1e6:,.1f}"),
        ],
    )
    yield "Rows: " + ", ".join(f"{table} {count:,}" for table, count in part["rows"].items()) + "."
    if "changed_file" in part:
        yield f"The changed file was {part['changed_file']}."
    if part["queries"]:
        yield markdown_table(
            ("query, warm", "seconds"),
            [
                (name, _seconds(query["seconds"], 3) if "seconds" in query else f"failed: {query['error']}")
                for name, query in part["queries"].items()
            ],
        )


def _profile(part: dict[str, Any]) -> Iterator[str]:
    """Return the tables of a build's time by stage, process and table."""
    build, floor = part["build"], part["floor"]
    stages = [
        (f"{stage['kind']} {stage['name']}", _seconds(stage["seconds"]), stage["detail"]) for stage in build["stages"]
    ]
    stages += [
        (
            "outside every stage",
            _seconds(build["outside_stages"]),
            "start of Python, waiting for landing, work of Dagster, exit",
        ),
        ("landing alone", _seconds(build["landing"]), "all releases, in a separate process"),
        (
            "**landing alone and models**",
            _seconds(build["landing_and_models"]),
            f"{ratio(build['landing_and_models'], floor['seconds']):.2f} × the floor",
        ),
    ]
    yield markdown_table(("stage of the build", "seconds", ""), stages)
    yield markdown_table(
        ("processes of the build", "CPU seconds"),
        [(purpose, _seconds(seconds)) for purpose, seconds in build["shares"].items()],
    )
    yield markdown_table(
        ("slowest published tables, two in parallel", "seconds"),
        [(name, f"{seconds:.1f}") for name, seconds in part["nodes"].items()],
    )


_COMMANDS = (
    ("build", "build"),
    ("build, nothing changed", "unchanged"),
    ("build, one model changed", "model_changed"),
    ("build, one file changed", "changed"),
    ("verify", "verify"),
    ("report", "report"),
    ("simulate", "simulate"),
)


def _seconds(measured: dict[str, float], digits: int = 1) -> str:
    if measured["runs"] == 1:
        return f"{measured['median']:.{digits}f}"
    return f"{measured['median']:.{digits}f} ({measured['min']:.{digits}f} to {measured['max']:.{digits}f})"


def _gigabytes(measured: dict[str, float]) -> str:
    return f"{measured['median'] / 1e9:.2f} GB"


def _runs(count: int) -> str:
    return "one run" if count == 1 else f"median of {count} runs"


def speed_table(peers: dict[str, Any]) -> str:
    """Return the short table: this project beside each peer, for each size."""
    sets = sorted(peers["sets"], key=lambda part: part["bytes"])
    ours = (
        ("**dialogue-warehouse**: keys, tests, a database on disk", "landing_and_models"),
        ("the same, with audit and publication, from the start of the command", "seconds"),
    )
    rows = [(name, *(f"{part['ours'][key]['median']:.1f} s" for part in sets), "nothing") for name, key in ours]
    for ways in zip(*(part["peers"] for part in sets), strict=True):
        cells = (f"{way['seconds']['median']:.1f} s" if "seconds" in way else "failed" for way in ways)
        known = next((way for way in ways if "seconds" in way), None)
        rows.append(
            (f"{ways[0]['library']} `{ways[0]['way']}`", *cells, known["loses"].partition(";")[0] if known else "")
        )
    header = ("SGD in tables", *(f"{part['bytes'] / 1e6:,.0f} MB" for part in sets), "loses, for example")
    machine = peers["machine"]
    where = f"{machine['cores']} cores of {machine['cpu']}, with load average {machine['load_average'][0]:.1f}"
    return f"{markdown_table(header, rows)}\n\nMeasured on {peers['date']} at commit {peers['commit']}, on {where}."


def peer_report(peers: dict[str, Any], beside: dict[str, Any] | None = None) -> str:
    """Return the tables that compare this project's build of one corpus with other libraries that read the same files."""
    parts = [f"{PEER_NOTES} {origin(peers, beside)}"]
    for part in peers["sets"]:
        ours = part["ours"]
        unit = ours["landing_and_models"]
        rows = [
            (
                "`build --corpora sgd`, whole build",
                _seconds(ours["seconds"]),
                "",
                _gigabytes(ours["peak_bytes"]),
                "",
                "",
            ),
            ("of which landing and models", _seconds(unit), "1.0", "", f"{sum(ours['rows'].values()):,}", "nothing"),
        ]
        rows += [_peer_row(peer, ours["rows"], unit) for peer in part["peers"]]
        title = f"{part['files']:,} files, {part['bytes'] / 1e6:,.0f} MB; {_runs(part['runs'])}"
        parts.append(f"{part['name'].capitalize()} ({title}):")
        parts.append(markdown_table(("", "seconds", "this project / library", "peak memory", "rows", "loses"), rows))
    return "\n\n".join(parts)


def _peer_row(peer: dict[str, Any], our_rows: dict[str, int], ours: dict[str, float]) -> tuple[str, ...]:
    if "error" in peer:
        return f"{peer['library']} `{peer['way']}`", "failed", "", "", "", peer["error"]
    return (
        f"{peer['library']} {peer['version']} `{peer['way']}`",
        _seconds(peer["seconds"]),
        f"{ratio(ours, peer['seconds']):.1f}",
        _gigabytes(peer["peak_bytes"]),
        row_agreement(peer["rows"], our_rows),
        peer["loses"],
    )


def row_agreement(theirs: dict[str, int], ours: dict[str, int]) -> str:
    """Return `the same`, or the tables in which the peer has more (+) or fewer (-) rows."""
    different = [
        f"{name} {theirs.get(name, 0) - count:+,}" for name, count in ours.items() if theirs.get(name) != count
    ]
    return ", ".join(different) or "the same"


def rewrite(file: Path, section: str, begin: str = BEGIN, end: str = END) -> str:
    """Return the text of a file with a new section between its markers. Raises BenchmarkError if it has no markers."""
    document = file.read_text(encoding="utf-8")
    old = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
    if not old.search(document):
        raise BenchmarkError(f"{file} has no {begin} … {end}")
    return old.sub(lambda _: f"{begin}\n{section}\n{end}", document)


def newest(results: Path) -> dict[str, Any] | None:
    """Return the results of the last finished benchmark; None if there are none."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in results.glob("*.json") if path.name != PEERS]
    return max(found, key=lambda result: result["finished_at"], default=None)


def main() -> int:
    """Rewrite the page from the newest results."""
    peers = RESULTS / PEERS
    measured = newest(RESULTS)
    against = json.loads(peers.read_text(encoding="utf-8")) if peers.is_file() else None
    if not (measured or against):
        print(f"error: {RESULTS} has no results; run `make bench` or `make bench-peers` first", file=sys.stderr)
        return 2
    PAGE.write_text(rewrite(PAGE, page(measured, against)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
