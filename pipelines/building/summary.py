"""Summary of a build, read from what was published, and printed."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from dialogue_warehouse.common.progress import Reporter, log_event
from dialogue_warehouse.common.text import command, readable_size, visible
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.suites import OUTCOMES
from dialogue_warehouse.errors import CheckError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, health
from dialogue_warehouse.storage.builds import open_build
from dialogue_warehouse.terminal.printing import make_console
from dialogue_warehouse.terminal.status import places

COUNTS = ("dialogue_count", "turn_count", "action_count", "slot_count", "violation_count")
EXAMPLE = "select corpus_id, role, count(*) as turns from core.fct_turns group by all order by all"


@dataclass(frozen=True)
class Summary:
    """Summary of a build."""

    build_id: str
    database: Path
    bytes: int
    corpora: list[dict[str, Any]]
    """A row of analytics.corpus_overview each, with `passed`, `warned` and `failed` checks."""
    marts: dict[str, Any]
    """The same numbers of checks of the suite about the shared tables."""
    warnings: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    """Sources of the real releases and the folders to put them into; empty when real data was built."""
    changed: str = ""
    """A short text about the differences from the build before."""
    tables: Path | None = None
    """The folder of the tables, if they are Parquet."""
    repeated: tuple[str, ...] = ()
    """The notices of the build that this command did not report while it ran."""
    is_unchanged: bool = False
    """True if nothing was built, because the published build was made from the same files and the same code."""


def summarize(settings: Settings, paths: WarehousePaths, reporter: Reporter) -> Summary:
    """Read the summary of the published build."""
    build_id, database = builds.published_build(paths)
    manifest = builds.read_manifest(paths, build_id)
    with open_build(database, settings) as con:
        found = con.sql("select * from analytics.corpus_overview order by corpus_id")
        overview = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
        tallies = con.execute(
            """
            select
                suite,
                count(*) filter (where success) as passed,
                count(*) filter (where not success and severity <> 'critical') as warned,
                count(*) filter (where not success and severity = 'critical') as failed
            from quality.expectation_results
            where build_id = ?
            group by suite
            """,
            [build_id],
        ).fetchall()
        warnings = con.execute(
            "select suite, expectation, description, observed from quality.expectation_results "
            "where build_id = ? and not success order by suite, expectation",
            [build_id],
        ).fetchall()
    checks = {suite: dict(zip(OUTCOMES, counts, strict=True)) for suite, *counts in tallies}
    nothing = dict.fromkeys(OUTCOMES, 0)
    return Summary(
        build_id=build_id,
        database=paths.published,
        bytes=builds.size_of(paths, build_id),
        corpora=[row | checks.get(row["corpus_id"], nothing) for row in overview],
        marts=checks.get("marts", nothing),
        warnings=[f"{suite}: {name}: {what}; {observed}" for suite, name, what, observed in warnings],
        notices=list(dict.fromkeys([*reporter.notices, *manifest.notices])),
        repeated=tuple(notice for notice in manifest.notices if notice not in reporter.notices),
        changed=manifest.changed,
        tables=paths.build_tables(build_id) if manifest.tables else None,
        places=[] if settings.source else places(registry.load_corpora(settings.only)),
    )


def log_summary(summary: Summary) -> None:
    """Write the same as an event, after the warnings and the notices that no stage has written."""
    for warning in summary.warnings:
        log_event("warning", logging.WARNING, text=warning)
    for notice in summary.repeated:
        log_event("notice", logging.WARNING, text=notice)
    log_event(
        "finished",
        build_id=summary.build_id,
        is_unchanged=summary.is_unchanged,
        database=str(summary.database),
        bytes=summary.bytes,
        changed=summary.changed,
        corpora=[{name: row[name] for name in ("corpus_id", *COUNTS, *OUTCOMES)} for row in summary.corpora],
        marts=summary.marts,
    )


def refuse_stale(paths: WarehousePaths, build_id: str) -> None:
    """Raise CheckError if a corpus of the published build is stale: others are new, but not its rows."""
    stale = [fallback.describe_as_stale(corpus_id) for corpus_id, fallback in health.stale_corpora(paths).items()]
    if stale:
        raise CheckError(f"build {build_id} is published, but {'; '.join(stale)}")


def print_summary(summary: Summary) -> None:
    """Print the summary: a row for each corpus, warnings and notices, the path of the file, and what to type next."""
    console = make_console()
    table = Table(box=box.SIMPLE_HEAD, show_footer=True)
    table.add_column("corpus", "total", no_wrap=True)
    table.add_column("license", no_wrap=True)
    totals = {name: sum(row[name] for row in summary.corpora) for name in COUNTS}
    for name in COUNTS:
        table.add_column(name.removesuffix("_count") + "s", f"{totals[name]:,}", justify="right", no_wrap=True)
    for name in OUTCOMES:
        count = sum(row[name] for row in summary.corpora) + summary.marts[name]
        table.add_column(name, f"{count:,}", justify="right", no_wrap=True)
    for row in summary.corpora:
        cells = [f"{row[name]:,}" for name in (*COUNTS, *OUTCOMES)]
        table.add_row(row["corpus_id"], row["license"], *cells)
    table.add_row("(shared tables)", "", *[""] * len(COUNTS), *[f"{summary.marts[name]:,}" for name in OUTCOMES])
    console.print(table)
    for warning in summary.warnings:
        console.print(f"warning: {visible(warning)}", soft_wrap=True)
    for notice in summary.notices:
        console.print(f"notice: {visible(notice)}", soft_wrap=True)
    said = "nothing changed, still published:" if summary.is_unchanged else "published"
    size = readable_size(summary.bytes)
    console.print(f"{said} {summary.database} ({size}, build {summary.build_id})", soft_wrap=True)
    if summary.tables:
        console.print(f"tables: Parquet, below {summary.tables}", soft_wrap=True)
    root = summary.database.parent
    if summary.changed and not summary.is_unchanged:
        console.print(f"changed: {visible(summary.changed)}", soft_wrap=True)
    console.print(f"next: {command('tables', warehouse=root)}", soft_wrap=True)
    console.print(f"      {command('sql', EXAMPLE, warehouse=root)}", soft_wrap=True)
    if summary.places and not summary.is_unchanged:  # the build before has listed them
        fetch = command("fetch", warehouse=root)
        console.print(
            f"this was a generated sample; `{fetch}` downloads the real releases, or by hand:",
            soft_wrap=True,
        )
        for place in summary.places:
            console.print(f"      {place}", soft_wrap=True)
