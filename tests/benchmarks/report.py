"""From the benchmarks' JSON to Markdown: the full report, and the README's section on speed, which nobody types.

`python -m tests.benchmarks.report` rewrites that section from the newest results of `make bench` and `make bench-peers`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.harness import CLONE, RESULTS, BenchmarkError, markdown_table, ratio

MODELS = "model"
"""Kind of the stage that, with landing, is compared with the floor."""
FRAMEWORK = ("load", "framework")
README = CLONE / "README.md"
PEERS = "peers.json"
PEER_NOTES = (
    "SGD's dialogues in tables (turns, frames, acts, spans, state values, call parameters, results) by other libraries, "
    "reading and flattening in memory, without the time to import them; ours adds keys, tests and a database on disk."
)
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
SECTION = re.compile(f"{BEGIN}\n.*?{END}", flags=re.S)


@dataclass(frozen=True)
class Target:
    """A number that was promised, beside the one that was measured."""

    name: str
    limit: float
    measured: float
    unit: str

    @property
    def is_met(self) -> bool:
        """Whether the measured number keeps the promise."""
        return self.measured <= self.limit


def targets(result: dict[str, Any]) -> list[Target]:
    """The targets that these results can be held against."""
    sets = {part["scale"]: part for part in result["sets"]}
    found: list[Target] = []
    one, ten = sets.get(1), sets.get(10)
    if one:
        build = one["build"]
        found += [
            Target(
                "landing and models / floor, scale 1",
                3,
                ratio(build["landing_and_models"], one["floor"]["seconds"]),
                "×",
            ),
            Target("whole build with the audit, scale 1", 30, build["seconds"]["median"], "s"),
            Target("of which imports and framework", 9, build["framework"]["median"], "s"),
            Target("peak memory, scale 1", 3, build["peak_bytes"]["median"] / 1e9, "GB"),
            Target("unchanged build, scale 1", 4, one["unchanged"]["seconds"]["median"], "s"),
        ]
        found += [
            Target(f"query {name}, scale 1", 0.3, query["seconds"]["median"], "s")
            for name, query in one["queries"].items()
            if "seconds" in query
        ]
    if ten:
        found.append(Target("peak memory, scale 10", 8, ten["build"]["peak_bytes"]["median"] / 1e9, "GB"))
    if one and ten:
        growth = ratio(ten["build"]["seconds"], one["build"]["seconds"])
        found.append(Target("whole build, scale 10 / scale 1", 11, growth, "×"))
    return found


def target_table(result: dict[str, Any]) -> str:
    """Target beside measured, met or not."""
    rows = [
        (
            target.name,
            f"≤ {target.limit:g} {target.unit}",
            f"{target.measured:.2f} {target.unit}",
            "yes" if target.is_met else "**no**",
        )
        for target in targets(result)
    ]
    return (
        markdown_table(("target", "limit", "measured", "met"), rows)
        if rows
        else "No set has a target: those are for scales 1 and 10."
    )


def origin(result: dict[str, Any], beside: dict[str, Any] | None = None) -> str:
    """When, where and with what this was measured, in one sentence; `beside` has said the most of it already."""
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


def full_report(result: dict[str, Any]) -> str:
    """Everything that was measured, as Markdown."""
    parts = ["# Benchmark", origin(result), NOTES, "## Targets", target_table(result)]
    for part in result["sets"]:
        parts += _set_report(part)
    return "\n\n".join(parts) + "\n"


NOTES = (
    "Seconds are wall clock, median (least to greatest) of the runs. The floor is bare reading and unnesting of the same "
    "files into tables in memory by hand-written DuckDB scripts, without keys, checks or anything on disk; it takes turns "
    "with the build. Landing is measured by itself too, because a build lands while the framework loads: its own lines "
    "tell how long it waited. Each build is a fresh process with a fresh warehouse, its files in the page cache. Memory is the "
    "sum of the resident set sizes of all its processes, sampled every 40 ms (shared pages count in each: an upper bound)."
)


def _set_report(part: dict[str, Any]) -> Iterator[str]:
    build, floor = part["build"], part["floor"]
    yield f"## {part['name'].capitalize()} ({part['files']:,} files, {part['sizes']['release'] / 1e6:,.1f} MB; {_runs(part['runs'])})"
    rows = [("floor", _seconds(floor["seconds"]), "", _gigabytes(floor["peak_bytes"]))]
    rows += [
        (name, _seconds(part[key]["seconds"]), _seconds(part[key]["cpu_seconds"]), _gigabytes(part[key]["peak_bytes"]))
        for name, key in _COMMANDS
        if part[key]
    ]
    yield markdown_table(("", "seconds", "CPU seconds", "peak memory"), rows)
    stages = [
        (f"{stage['kind']} {stage['name']}", _seconds(stage["seconds"]), stage["detail"]) for stage in build["stages"]
    ]
    stages += [
        (
            "outside every stage",
            _seconds(build["outside_stages"]),
            "start of Python, imports, Dagster's own work, exit",
        ),
        ("landing by itself", _seconds(build["landing"]), "all releases, in a process of its own"),
        (
            "**landing by itself and models**",
            _seconds(build["landing_and_models"]),
            f"{ratio(build['landing_and_models'], floor['seconds']):.2f} × the floor",
        ),
        ("**imports and framework**", _seconds(build["framework"]), "`load framework` and outside every stage"),
    ]
    yield markdown_table(("stage of the build", "seconds", ""), stages)
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
    yield f"The changed file was {part['changed_file']}."
    if part["queries"]:
        yield markdown_table(
            ("query, warm", "seconds"),
            [
                (name, _seconds(query["seconds"], 3) if "seconds" in query else f"failed: {query['error']}")
                for name, query in part["queries"].items()
            ],
        )


_COMMANDS = (
    ("build", "build"),
    ("build, nothing changed", "unchanged"),
    ("build, one file changed", "changed"),
    ("verify", "verify"),
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


def speed_section(result: dict[str, Any] | None, peers: dict[str, Any] | None) -> str:
    """What stands between the README's markers."""
    parts = []
    if result:
        rows = {
            "release": lambda part: f"{part['sizes']['release'] / 1e6:,.0f} MB",
            "slots": lambda part: f"{part['rows']['fct_slots']:,}",
            "bare read and unnest": lambda part: f"{_seconds(part['floor']['seconds'])} s",
            "landing and models": lambda part: f"{_seconds(part['build']['landing_and_models'])} s",
            "whole build, audit included": lambda part: f"{_seconds(part['build']['seconds'])} s",
            "peak memory of it": lambda part: _gigabytes(part["build"]["peak_bytes"]),
            "build, nothing changed": lambda part: f"{_seconds(part['unchanged']['seconds'])} s",
            "build, one file changed": lambda part: f"{_seconds(part['changed']['seconds'])} s",
            "verify": lambda part: f"{_seconds(part['verify']['seconds'])} s",
            "published database": lambda part: f"{part['sizes']['database'] / 1e6:,.0f} MB",
        }
        header = ("", *(f"{part['name']} ({_runs(part['runs'])})" for part in result["sets"]))
        table = [(name, *(cell(part) for part in result["sets"])) for name, cell in rows.items()]
        parts += [origin(result), markdown_table(header, table)]
    if peers:
        parts.append(peer_report(peers, result))
    return "\n\n".join(parts)


def peer_report(peers: dict[str, Any], beside: dict[str, Any] | None = None) -> str:
    """Our build of one corpus beside the peers' reading of the same files."""
    parts = [f"{PEER_NOTES} {origin(peers, beside)}"]
    for part in peers["sets"]:
        ours = part["ours"]
        unit = ours["landing_and_models"]
        rows = [
            ("`build --corpora sgd`, all of it", _seconds(ours["seconds"]), "", _gigabytes(ours["peak_bytes"]), "", ""),
            ("landing and models of it", _seconds(unit), "1.0", "", f"{sum(ours['rows'].values()):,}", "nothing"),
        ]
        rows += [_peer_row(peer, ours["rows"], unit) for peer in part["peers"]]
        title = f"{part['files']:,} files, {part['bytes'] / 1e6:,.0f} MB; {_runs(part['runs'])}"
        parts.append(f"{part['name'].capitalize()} ({title}):")
        parts.append(markdown_table(("", "seconds", "ours / it", "peak memory", "rows", "loses"), rows))
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
    """`the same`, or what the peer has more (+) or fewer (-) in which table."""
    different = [
        f"{name} {theirs.get(name, 0) - count:+,}" for name, count in ours.items() if theirs.get(name) != count
    ]
    return ", ".join(different) or "the same"


def rewrite(document: str, section: str) -> str:
    """The document with another section between its markers. Raises BenchmarkError when it has no markers."""
    if not SECTION.search(document):
        raise BenchmarkError(f"README.md has no {BEGIN} … {END}")
    return SECTION.sub(lambda _: f"{BEGIN}\n{section}\n{END}", document)


def newest(results: Path) -> dict[str, Any] | None:
    """The results of the benchmark that was finished last, None when there are none."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in results.glob("*.json") if path.name != PEERS]
    return max(found, key=lambda result: result["finished_at"], default=None)


def main() -> int:
    """Rewrite the README's section from the newest results."""
    peers = RESULTS / PEERS
    measured = newest(RESULTS)
    against = json.loads(peers.read_text(encoding="utf-8")) if peers.is_file() else None
    if not (measured or against):
        print(f"error: {RESULTS} has no results; make bench, make bench-peers", file=sys.stderr)
        return 2
    README.write_text(rewrite(README.read_text(encoding="utf-8"), speed_section(measured, against)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
