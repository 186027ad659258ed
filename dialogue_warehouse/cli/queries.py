"""The commands that read.

They are `sql`, `tables`, `describe`, `search`, `show`, `claims`, `violations`, `trace`, `verify` and `restore`.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dialogue_warehouse.cli import completing
from dialogue_warehouse.cli.options import (
    Amount,
    Folder,
    cli,
    corpora_option,
    is_other_place,
    place_option,
    result_options,
    scores_option,
    selection_options,
    verbose_option,
    warehouse_option,
    warehouse_paths,
)
from dialogue_warehouse.cli.process import OwnProcess
from dialogue_warehouse.common.text import VERDICTS
from dialogue_warehouse.errors import counted
from dialogue_warehouse.settings import MOST_SECONDS, Settings

if TYPE_CHECKING:
    from dialogue_warehouse.reading.connection import Connection
    from dialogue_warehouse.reading.findings import Detail
    from dialogue_warehouse.reading.selection import Selection


STREAM = Path("-")
"""Standard output, in place of a file."""
TIMEOUT_HELP = f"Seconds after which a query is stopped.  [default: {Settings.query_timeout:g}]"


COMMENT = re.compile(r"--(?:\s|(?![a-z][a-z-]*=).*\n)")
"""The beginning of a query that begins with a comment. An option with a value of several lines has its = at once."""


class _SqlCommand(click.Command):
    """A command whose argument may begin with an SQL comment, which click would read as an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options and the query."""
        return super().parse_args(ctx, [f" {arg}" if COMMENT.match(arg) else arg for arg in args])


@cli.command(cls=_SqlCommand)
@click.argument("query", required=False)
@click.option("--raw", is_flag=True, help="Add the landed files of the published build as schema raw.")
@scores_option
@result_options
@click.option(
    "--parquet",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    help="Write the result to this file; - is standard output.",
)
@click.option("--param", "parameters", metavar="NAME=VALUE", multiple=True, help="Text value of the parameter $NAME.")
@click.option("--timeout", "query_timeout", type=Amount(0, MOST_SECONDS, min_open=True), help=TIMEOUT_HELP)
@place_option
def sql(
    query: str | None,
    raw: bool,
    scores: Path | None,
    form: str | None,
    parquet: Path | None,
    parameters: tuple[str, ...],
    **options: Any,
) -> None:
    """Run one SELECT or EXPLAIN on the warehouse, read-only.

    The query is QUERY or standard input; on a terminal without QUERY, a shell starts. Tables need no schema name.

    Example: dialogue-warehouse sql "select corpus_id, count(*) from fct_turns group by all"
    """
    from dialogue_warehouse.reading import connection
    from dialogue_warehouse.reading.query import run_query
    from dialogue_warehouse.terminal import printing

    given = _parameters(parameters)
    if raw and is_other_place():
        raise click.UsageError("--raw: only the folder of a warehouse has landed files")
    is_shell = query is None and sys.stdin.isatty()
    if is_shell and (given or form == "parquet"):
        raise click.UsageError("--param, --parquet and --format parquet need a QUERY; the shell has none of them")
    settings = Settings.from_environment(**options).for_queries()
    con = connection.open_published(warehouse_paths(settings), raw, settings, scores)
    with connection.closed_when_idle(con):
        if is_shell:
            _run_shell(con, settings, form)
            return
        text = query if query not in (None, "-") else sys.stdin.read()
        result = run_query(con, text, given, settings.query_timeout)
        printing.print_result(result, form, None if parquet == STREAM else parquet, _page)


def _run_shell(con: Connection, settings: Settings, form: str | None) -> None:
    from dialogue_warehouse.terminal import shell

    if not sys.stdout.isatty():
        raise click.UsageError("give a QUERY, or send one to standard input")
    process = click.get_current_context().find_object(OwnProcess)
    with process.asking() if process else contextlib.nullcontext():
        shell.run_shell(con, settings, warehouse_paths(settings), form, _page)


def _parameters(texts: tuple[str, ...]) -> dict[str, str]:
    """Return the values of `--param NAME=VALUE`, by name."""
    parameters: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name.isidentifier():
            raise click.UsageError(f"--param: '{text}' is not NAME=VALUE")
        if name in parameters:
            raise click.UsageError(f"--param: {name} is given twice")
        parameters[name] = value
    return parameters


def _page(text: str) -> None:
    """Show a long text in the user's pager. `less` exits at once if the text fits, and shows colors."""
    os.environ.setdefault("LESS", "FRX")
    click.echo_via_pager(text, color=True)


@cli.command()
@verbose_option("Show the descriptions whole.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array, with an object for each table.")
@place_option
def tables(verbose: bool, as_json: bool, **options: Any) -> None:
    """List the tables of the published warehouse.

    The landed tables, which `sql --raw` adds, are listed too.
    """
    from dialogue_warehouse.reading import catalogue, connection
    from dialogue_warehouse.terminal import results

    settings = Settings.from_environment(**options)
    with connection.open_with_landed(warehouse_paths(settings), settings) as con:
        found = catalogue.list_tables(con)
    if as_json:
        click.echo(results.as_json(found))
    else:
        results.print_tables(found, is_whole=verbose)


@cli.command()
@click.argument("table", shell_complete=completing.tables)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@place_option
def describe(table: str, as_json: bool, **options: Any) -> None:
    """Describe a TABLE such as fct_turns.

    The description has its grain, key, joins and columns, and which corpora fill them.
    """
    from dialogue_warehouse.reading import catalogue, connection
    from dialogue_warehouse.terminal import results

    settings = Settings.from_environment(**options)
    with connection.open_with_landed(warehouse_paths(settings), settings) as con:
        description = catalogue.describe_table(con, table, settings.warehouse)
    if as_json:
        click.echo(results.as_json(description))
    else:
        results.print_description(description)


@cli.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Number of utterances.")
@selection_options
@result_options
@place_option
def search(words: tuple[str, ...], limit: int, selection: Selection, form: str | None, **options: Any) -> None:
    """Find the utterances that have all WORDS, the best first.

    Hits are in square brackets. Capitals and accents do not matter. '"two words"' is a phrase, and 'wor*' any word that
    begins so.

    Example: dialogue-warehouse search '"would like"' 'tick*' --split train
    """
    from dialogue_warehouse.reading import connection, search
    from dialogue_warehouse.reading.query import run_query
    from dialogue_warehouse.terminal import printing

    settings = Settings.from_environment(**options).for_queries()
    with connection.open_published(warehouse_paths(settings), settings=settings) as con:
        found = search.search(con, warehouse_paths(settings), " ".join(words), selection, limit, settings.query_timeout)
        printing.print_result(run_query(con, search.FOUND, search.parameters(found)), form, pager=_page)


@cli.command()
@click.argument("key", shell_complete=completing.keys)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@click.option("--html", "as_html", is_flag=True, help="Print a complete HTML page that loads nothing.")
@click.option("--url", "as_url", is_flag=True, help="Print the URL of the row in the dashboard on this machine.")
@place_option
def show(key: str, as_json: bool, as_html: bool, as_url: bool, **options: Any) -> None:
    """Show the dialogue that a KEY belongs to.

    Each turn is shown with all its annotations. KEY is the key of a dialogue, or of any row that belongs to one; that
    row is marked. In SQL: from core.transcript(KEY).
    """
    from dialogue_warehouse.common import text
    from dialogue_warehouse.reading import connection, dialogue_parts, dialogues
    from dialogue_warehouse.site import rendering
    from dialogue_warehouse.terminal import printing
    from dialogue_warehouse.terminal.dialogue_text import print_dialogue

    if as_json + as_html + as_url > 1:
        raise click.UsageError("only one of --json, --html and --url can be given")
    settings = Settings.from_environment(**options)
    with connection.open_published(warehouse_paths(settings), settings=settings) as con:
        dialogue = dialogues.read_dialogue(con, key)
    if as_json:
        click.echo(dialogue_parts.as_json(dialogue))
    elif as_html:
        click.echo(rendering.render_page(dialogue), nl=False)
    elif as_url:
        click.echo(text.url(dialogue.mark.key if dialogue.mark else dialogue.key))
    else:
        console = printing.make_console()
        printing.print_paged(lambda: print_dialogue(dialogue, console), console, _page)


@cli.command()
@click.option("--claim", shell_complete=completing.claims, help="Only this claim, such as S01.")
@click.option("--verdict", type=click.Choice(VERDICTS), help="Only claims with this verdict.")
@click.option("--unexpected", is_flag=True, help="Only claims whose verdict or number is not the recorded one.")
@verbose_option("Add who is quoted, the number of rows and the description.")
@result_options
@corpora_option
@place_option
def claims(
    claim: str | None, verdict: str | None, unexpected: bool, verbose: bool, form: str | None, **options: Any
) -> None:
    """Show what the documents claim, and what the data say.

    --json and --csv have all columns: quote, document, SQL of the measurement, explanation.
    """
    from dialogue_warehouse.reading import connection, findings, selection
    from dialogue_warehouse.reading.query import run_query
    from dialogue_warehouse.terminal import printing

    settings = Settings.from_environment(**options)
    text = findings.claims_query(settings.only, verdict, unexpected, _detail(form, verbose), claim)
    with connection.open_published(warehouse_paths(settings), settings=settings) as con:
        selection.refuse_absent_corpora(con, options["only"] or ())
        findings.refuse_unknown_claim(con, claim, settings.warehouse)
        result = run_query(con, text)
        printing.print_result(result, form, pager=_page)
        if not result.count():
            click.echo(f"no such claim; the verdicts are {findings.verdicts(con, settings.only)}", err=True)


def _detail(form: str | None, verbose: bool) -> Detail:
    """Return how many columns are shown: all of them, except in a table."""
    if form not in (None, "table"):
        return "whole"
    return "verbose" if verbose else "short"


@cli.command()
@click.option("--rule", shell_complete=completing.rules, help="Only violations of this rule.")
@click.option("--rules", "is_summary", is_flag=True, help="List the rules with their numbers of violations.")
@verbose_option("Add known numbers and titles of the rules, and the URLs of reports to the publishers.")
@result_options
@corpora_option
@place_option
def violations(rule: str | None, is_summary: bool, verbose: bool, form: str | None, **options: Any) -> None:
    """Show each row that breaks a rule.

    A row has its file, record and turn. With --rules, a rule of all corpora has no corpus_id, and a corpus can have its
    own entry for it; as_known says whether the release has as many cases as are known, in the files that have them.
    """
    from dialogue_warehouse.reading import connection, findings, selection
    from dialogue_warehouse.reading.query import run_query
    from dialogue_warehouse.terminal import printing

    settings = Settings.from_environment(**options)
    text = findings.violations_query(settings.only, rule, is_summary, _detail(form, verbose))
    with connection.open_published(warehouse_paths(settings), settings=settings) as con:
        selection.refuse_absent_corpora(con, options["only"] or ())
        findings.refuse_unknown_rule(con, rule, settings.warehouse)
        printing.print_result(run_query(con, text), form, pager=_page)


@cli.command()
@click.option("--source", type=Folder, help="Folder with the releases.  [default: the source of the build]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, one object per file.")
@corpora_option
@warehouse_option
def verify(as_json: bool, **options: Any) -> None:
    """Rebuild every upstream file and compare it.

    The files are rebuilt from the core tables and compared with those of the source. The command needs the folder of a
    warehouse, because a copy of the published file does not say which files were read.
    """
    from dialogue_warehouse.lineage import verifying
    from dialogue_warehouse.terminal.results import print_results

    settings = Settings.from_environment(**options)
    paths = warehouse_paths(settings)
    verifying.refuse_damage(paths)
    build_id, results = verifying.verify_published(paths, settings, options["only"] or ())
    print_results(results, as_json)
    try:
        verifying.keep_results(paths, build_id, results)
    finally:
        verifying.refuse_differences(results)


@cli.command()
@click.option("--corpus", required=True, shell_complete=completing.corpus, help="Corpus whose files are written.")
@click.option("--to", "to", type=Folder, required=True, help="Folder to write them into, as TO/<path as published>.")
@click.option("--force", "overwrites", is_flag=True, help="Overwrite existing files that differ.")
@place_option
def restore(corpus: str, to: Path, overwrites: bool, **options: Any) -> None:
    """Write the upstream files of a corpus again.

    The files are rebuilt from the core tables alone.

    If an existing file differs, nothing is written unless --force is given.
    """
    from dialogue_warehouse.lineage import restoring

    settings = Settings.from_environment(**options)
    written = restoring.restore_published(warehouse_paths(settings), settings, corpus, to, overwrites)
    click.echo(f"{counted(len(written), 'file')} written below {to}")


@cli.command()
@click.argument("key", shell_complete=completing.keys)
@click.option("--source", type=Folder, help="Folder with the releases.  [default: the source of the build]")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@place_option
def trace(key: str, as_json: bool, **options: Any) -> None:
    """Show where the row with a KEY comes from.

    The output has the source file, the record, the JSON pointer, and the JSON there. KEY is a key of any table, such as
    an action_key. In SQL: core.json_pointer(KEY), from core.source_of(KEY).
    """
    from dialogue_warehouse.lineage import tracing
    from dialogue_warehouse.terminal import results

    settings = Settings.from_environment(**options)
    found = tracing.trace(warehouse_paths(settings), settings, key)
    if found.missing and settings.source is None and is_other_place():
        found = replace(found, missing="only the folder of a warehouse names its source; give --source")
    results.print_trace(found, as_json)
