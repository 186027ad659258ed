"""The commands that read what was published: `sql`, `tables`, `describe`, `claims`, `violations`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from expectations.verdict import VERDICTS
from pipelines.cli.options import (
    cli,
    corpora_option,
    result_options,
    warehouse_option,
    warehouse_paths,
)
from pipelines.settings import Settings


@cli.command()
@click.argument("query", required=False)
@click.option("--raw", is_flag=True, help="Add the landed Parquet of the published build as schema raw.")
@result_options
@click.option("--parquet", type=click.Path(dir_okay=False, path_type=Path), help="Write the result to this file.")
@warehouse_option
def sql(query: str | None, raw: bool, form: str | None, parquet: Path | None, **options: Any) -> None:
    """Run one SELECT or EXPLAIN on the published warehouse, read-only; QUERY or standard input.

    Example: dialogue-warehouse sql "select corpus_id, count(*) from core.fct_turns group by all"
    """
    from pipelines.reading import connection, printing
    from pipelines.reading.query import run_query

    if query is None and sys.stdin.isatty():
        raise click.UsageError("give a QUERY, or one on standard input")
    text = query if query not in (None, "-") else sys.stdin.read()
    settings = Settings.from_environment(**options)
    with connection.open_published(warehouse_paths(settings), raw, settings) as con:
        printing.print_result(run_query(con, text), form, parquet)


@cli.command()
@warehouse_option
def tables(**options: Any) -> None:
    """List the tables of the published warehouse."""
    from pipelines.reading import catalog, catalog_display, connection

    with connection.open_published(warehouse_paths(Settings.from_environment(**options))) as con:
        catalog_display.print_tables(catalog.list_tables(con))


@cli.command()
@click.argument("table")
@warehouse_option
def describe(table: str, **options: Any) -> None:
    """Show the grain and the columns of a TABLE, such as fct_turns."""
    from pipelines.reading import catalog, catalog_display, connection

    with connection.open_published(warehouse_paths(Settings.from_environment(**options))) as con:
        catalog_display.print_description(catalog.describe_table(con, table))


@cli.command()
@click.option("--verdict", type=click.Choice(VERDICTS), help="Only claims with this verdict.")
@click.option("--unexpected", is_flag=True, help="Only claims that did not come out as the ledger says.")
@result_options
@corpora_option
@warehouse_option
def claims(verdict: str | None, unexpected: bool, form: str | None, **options: Any) -> None:
    """Show the ledger: what the corpora's documents claim, and what the data say.

    The table is short; --json and --csv have every column: quote, document, the SQL that measures, the explanation.
    """
    from pipelines.reading import connection, findings, printing
    from pipelines.reading.query import run_query

    settings = Settings.from_environment(**options)
    text = findings.claims_query(settings.only, verdict, unexpected, is_short=form is None)
    with connection.open_published(warehouse_paths(settings)) as con:
        printing.print_result(run_query(con, text), form)


@cli.command()
@click.option("--rule", help="Only cases of this rule.")
@click.option("--rules", "is_summary", is_flag=True, help="The rules and their numbers of cases, not each case.")
@result_options
@corpora_option
@warehouse_option
def violations(rule: str | None, is_summary: bool, form: str | None, **options: Any) -> None:
    """Show the defects: each row of a release that breaks a rule, with its file, record and turn."""
    from pipelines.reading import connection, findings, printing
    from pipelines.reading.query import run_query

    settings = Settings.from_environment(**options)
    text = findings.violations_query(settings.only, rule, is_summary)
    with connection.open_published(warehouse_paths(settings)) as con:
        findings.refuse_unknown_rule(con, rule, settings.warehouse)
        printing.print_result(run_query(con, text), form)
