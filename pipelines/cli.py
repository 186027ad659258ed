"""The command `dialogue-warehouse`: reads options, calls the module that does the work, prints what it returns.

Exit status 0, 1 (a check failed) or 2 (bad input); an error is one line on standard error, never a traceback. Imports
stay inside the commands, because some of the libraries take seconds.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib.metadata
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pipelines.errors import CheckError, InputError
from pipelines.paths import WarehousePaths
from pipelines.settings import FORMS, Settings, silence_telemetry

CHECK_FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

VERDICTS = ("reproduced", "refuted", "source_absent", "not_checkable")

Folder = click.Path(file_okay=False, path_type=Path)


def warehouse_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that every command has."""
    return click.option(
        "--warehouse", type=Folder, help="Folder of the warehouse.  [default: warehouse/ of the clone]"
    )(command)


def corpora_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that narrows a command to some corpora."""
    return click.option("--corpora", "only", metavar="A,B", callback=_names, help="Only these corpora.")(command)


def result_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how rows are printed; without one, as a table."""
    command = click.option("--csv", "form", flag_value="csv", help="CSV with a header.")(command)
    return click.option("--json", "form", flag_value="json", help="A JSON array of objects.")(command)


def form_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that says in which form the releases are given."""
    text = "SOURCE has another form: SOURCE/<dataset>/<config>/…"
    return click.option("--form", type=click.Choice(FORMS[1:]), help=text)(command)


def _names(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if value else None


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(importlib.metadata.version("dialogue-warehouse"), prog_name="dialogue-warehouse")
def cli() -> None:
    """Five public dialogue corpora in one SQL warehouse.

    Start with `build` (it makes its own sample when it is given no data), then `tables` and `sql`; `fetch` downloads
    the real releases.
    """


@cli.command()
@click.option("--source", type=Folder, help="Folder with the releases, SOURCE/<corpus_id>/…  [default: a sample]")
@form_option
@click.option("--strict", is_flag=True, default=None, help="Refuse what the schemas do not know; block on warnings.")
@click.option("--verify", is_flag=True, default=None, help="Rebuild every file from core and compare first.")
@click.option("--force", is_flag=True, default=None, help="Build although nothing changed; land every file again.")
@click.option("--quiet", is_flag=True, help="No progress; errors only.")
@corpora_option
@warehouse_option
def build(quiet: bool, **options: Any) -> None:
    """Land, model, audit and publish the warehouse.

    Without --source the embedded sample is built: all five releases, generated, in their true shapes.
    """
    from pipelines import building, reporting

    summary = building.build(Settings.from_environment(**options), reporting.Reporter(quiet))
    if not quiet:
        reporting.print_summary(summary)


@cli.command()
@click.option("--to", "to", type=Folder, help="Folder to download into.  [default: landing/ of the warehouse]")
@click.option("--jobs", type=click.IntRange(1), help=f"Files at a time.  [default: {Settings.jobs}]")
@click.option("--quiet", is_flag=True, help="No progress; errors only.")
@corpora_option
@warehouse_option
def fetch(to: Path | None, quiet: bool, **options: Any) -> None:
    """Download the real releases, checked against the listed checksums, to TO/<corpus_id>/<path>.

    What is there and right is not downloaded again, what was interrupted is continued, nothing is overwritten.
    """
    from pipelines import fetching, reporting

    settings = Settings.from_environment(**options)
    to = to.expanduser().absolute() if to else _paths(settings).landing
    try:
        with reporting.FetchDisplay(quiet) as display:
            results = fetching.fetch(settings, to, display)
    except KeyboardInterrupt:
        click.echo("interrupted; the same command goes on where it stopped", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    if not quiet:
        reporting.print_fetched(results, to)
    fetching.refuse_failures(results, settings.mirror)


@cli.command()
@click.option("--to", "to", type=Folder, required=True, help="Folder to write the releases into.")
@click.option("--scale", type=click.FloatRange(0, 1000, min_open=True), default=0.01, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed gives other texts.")
@corpora_option
@warehouse_option
def simulate(to: Path, scale: float, seed: int, **options: Any) -> None:
    """Write all five releases, generated; scale 1 has the true counts."""
    from pipelines import registry, simulating
    from pipelines.reporting import Reporter

    settings = Settings.from_environment(**options)
    corpora = tuple(corpus.corpus_id for corpus in registry.load_corpora(settings.only))
    with Reporter(quiet=False).stage("simulate", f"scale {scale:g}") as stage:
        written = simulating.simulate(to, scale, seed, corpora, settings.processes)
        stage.detail = f"{len(written):,} files"
    click.echo(f"next: dialogue-warehouse build --source {to}")


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
    from pipelines import printing, querying

    if query is None and sys.stdin.isatty():
        raise click.UsageError("give a QUERY, or one on standard input")
    text = query if query not in (None, "-") else sys.stdin.read()
    settings = Settings.from_environment(**options)
    with querying.open_published(_paths(settings), raw, settings) as con:
        printing.print_result(querying.run_query(con, text), form, parquet)


@cli.command()
@warehouse_option
def tables(**options: Any) -> None:
    """List the tables of the published warehouse."""
    from pipelines import catalog, querying

    with querying.open_published(_paths(Settings.from_environment(**options))) as con:
        catalog.print_tables(catalog.list_tables(con))


@cli.command()
@click.argument("table")
@warehouse_option
def describe(table: str, **options: Any) -> None:
    """Show the grain and the columns of a TABLE, such as fct_turns."""
    from pipelines import catalog, querying

    with querying.open_published(_paths(Settings.from_environment(**options))) as con:
        catalog.print_description(catalog.describe_table(con, table))


@cli.command()
@click.option("--source", type=Folder, help="Folder with the releases, to see what of them is there.")
@form_option
@warehouse_option
def status(**options: Any) -> None:
    """Show what is published, which builds are kept, and which files of the releases are missing."""
    from pipelines import status as state

    settings = Settings.from_environment(**options)
    state.print_status(state.status(_paths(settings), settings))


@cli.command()
@click.option("--source", type=Folder, help="Folder with the releases.  [default: the one the build was made from]")
@click.option("--json", "as_json", is_flag=True, help="A JSON array, one object a file.")
@corpora_option
@warehouse_option
def verify(as_json: bool, **options: Any) -> None:
    """Rebuild every upstream file from core tables and compare it with the source."""
    from pipelines import verifying

    settings = Settings.from_environment(**options)
    results = verifying.verify_published(_paths(settings), settings)
    verifying.print_results(results, as_json)
    verifying.refuse_differences(results)


@cli.command()
@click.option("--corpus", required=True, help="The corpus whose files to write.")
@click.option("--to", "to", type=Folder, required=True, help="Folder to write them into, as TO/<path as published>.")
@warehouse_option
def restore(corpus: str, to: Path, **options: Any) -> None:
    """Write a corpus's upstream files, rebuilt from core tables alone."""
    from pipelines import restoring

    settings = Settings.from_environment(**options)
    written = restoring.restore_published(_paths(settings), settings, corpus, to)
    click.echo(f"{len(written):,} files written below {to}")


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
    from pipelines import ledger, printing, querying

    settings = Settings.from_environment(**options)
    text = ledger.claims_query(settings.only, verdict, unexpected, is_short=form is None)
    with querying.open_published(_paths(settings)) as con:
        printing.print_result(querying.run_query(con, text), form)


@cli.command()
@click.option("--rule", help="Only cases of this rule.")
@click.option("--rules", "is_summary", is_flag=True, help="The rules and their numbers of cases, not each case.")
@result_options
@corpora_option
@warehouse_option
def violations(rule: str | None, is_summary: bool, form: str | None, **options: Any) -> None:
    """Show the defects: each row of a release that breaks a rule, with its file, record and turn."""
    from pipelines import ledger, printing, querying

    settings = Settings.from_environment(**options)
    text = ledger.violations_query(settings.only, rule, is_summary)
    with querying.open_published(_paths(settings)) as con:
        ledger.refuse_unknown_rule(con, rule)
        printing.print_result(querying.run_query(con, text), form)


@cli.command()
@click.option("--to", "to", type=Folder, help="Folder to write the site into.  [default: reports/ of the warehouse]")
@warehouse_option
def report(to: Path | None, **options: Any) -> None:
    """Write the data-quality site about the published build: claims, defects, expectations, dictionary.

    Its pages open from disk and load nothing from a network. A build writes them too.
    """
    from pipelines.report import site

    settings = Settings.from_environment(**options)
    click.echo(f"open {site.write_report(_paths(settings), settings, to)}")


@cli.command()
@click.argument("key")
@click.option("--source", type=Folder, help="Folder with the releases.  [default: where the build was made from]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, complete.")
@warehouse_option
def trace(key: str, as_json: bool, **options: Any) -> None:
    """Show where the row of a KEY comes from: source file, record, JSON pointer, and the JSON there.

    KEY is the own key of any table, such as an action_key. In SQL: core.json_pointer(KEY), from core.source_of(KEY).
    """
    from pipelines import tracing

    settings = Settings.from_environment(**options)
    tracing.print_trace(tracing.trace(_paths(settings), settings, key), as_json)


def _paths(settings: Settings) -> WarehousePaths:
    return WarehousePaths(settings.warehouse)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit status."""
    silence_telemetry()
    try:
        return cli.main(arguments, standalone_mode=False) or 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except SystemExit:  # click's answer to a pipe that nobody reads any more, such as `| head`
        return 0
    except InputError as error:
        click.echo(f"error: {error}", err=True)
        return BAD_INPUT
    except CheckError as error:
        click.echo(f"error: {error}", err=True)
        return CHECK_FAILED
    except Exception as error:
        if os.environ.get("DIALOGUE_DEBUG"):
            raise
        click.echo(f"internal error: {type(error).__name__}: {error} (DIALOGUE_DEBUG=1 shows where)", err=True)
        return CHECK_FAILED


def run() -> None:
    """Run the command as a process.

    It never looks for cyclic garbage: a command is short, and the passes over what dbt and Dagster keep are a sixth of
    a small build. It ends without taking the interpreter apart, which would be a second after a build.
    """
    gc.disable()
    status = main()
    with contextlib.suppress(OSError, ValueError):  # a pipe that nobody reads any more
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    run()
