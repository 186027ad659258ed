"""The group of all commands, and the options that several commands share."""

from __future__ import annotations

import functools
import importlib.metadata
import logging
import math
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dialogue_warehouse.cli import completing
from dialogue_warehouse.common import progress
from dialogue_warehouse.common.text import visible_lines
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import IS_CLONE, WarehousePaths, refuse_root
from dialogue_warehouse.settings import (
    FORMATS,
    FORMS,
    LOG_FORMATS,
    RELEASE_FORM,
    Settings,
    corpora_named,
    folder_named,
    read_variable,
)

CHECK_FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
"""The exit statuses other than 0."""

DEFAULT_PLACE = "warehouse/ of the clone" if IS_CLONE else "warehouse/ of the working folder"
"""Default folder of the warehouse, as the help describes it."""


class _Folder(click.Path):
    """A local folder, which may already exist. An error is one line."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Read the path. Raises InputError for a URL, an empty text and a file."""
        folder = folder_named(str(value), param.opts[0] if param else "folder")
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: is not a folder")
        refuse_root(folder)
        return folder


class Amount(click.FloatRange):
    """A number in a range. `nan`, which is in no range, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


Folder = _Folder(file_okay=False, path_type=Path)


class _Place(_Folder):
    """A warehouse to read: its folder, a DuckDB file, a folder of Parquet tables, or a URL."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the folder of a warehouse, a temporary one if needed. Raises InputError and DownloadError."""
        from dialogue_warehouse.reading import places

        if ctx is not None and ctx.resilient_parsing:  # a shell completes: nothing is downloaded for that
            return Path(str(value))
        if places.is_folder_of_a_warehouse(str(value)):
            return super().convert(value, param, ctx)
        place = places.Place(str(value), Settings.from_environment(), lambda notice: say(f"note: {notice}", 0))
        if ctx is not None:
            ctx.find_root().meta[f"{__name__}.place"] = place  # its folder is removed with it
        return place.paths.root


def is_other_place() -> bool:
    """Return whether --warehouse is a place other than a folder, which has only published data."""
    return f"{__name__}.place" in click.get_current_context().find_root().meta


def place_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--warehouse` to a command that only reads, for every kind of place."""
    text = (
        "Folder of the warehouse, a published DuckDB file, a folder of Parquet tables, or a URL of a published file.  "
        f"[default: {DEFAULT_PLACE}]"
    )
    return click.option("--warehouse", type=_Place(file_okay=False, path_type=Path), help=text)(_explained(command))


def warehouse_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--warehouse` to a command that needs the folder of a warehouse."""
    text = f"Folder of the warehouse.  [default: {DEFAULT_PLACE}]"
    return click.option("--warehouse", type=Folder, help=text)(_explained(command))


def scores_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--scores` to a command that shows the results of `score --to`."""
    text = "Add the results that `score --to` has written into this file."
    return click.option("--scores", type=click.Path(dir_okay=False, path_type=Path), help=text)(command)


def _explained(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let an error that a damaged file causes name the file."""

    @functools.wraps(command)
    def explained(**options: Any) -> Any:
        try:
            return command(**options)
        except Exception as error:
            if (damage := _damage_behind(error, options["warehouse"])) is not None:
                raise damage from error
            raise

    return explained


def _damage_behind(error: Exception, warehouse: Path | None) -> InputError | None:
    """Name the damaged file that caused an error. The files are only checked if damage can cause this error."""
    if isinstance(error, click.ClickException | click.exceptions.Exit | OSError):
        return None
    from dialogue_warehouse.reading import damage

    return damage.cause_of(error, warehouse_paths(Settings.from_environment(warehouse=warehouse)))


CORPORA_HELP = "Only these corpora, separated by commas; may be given more than once."


def corpora_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that limits a command to some corpora."""
    return click.option(
        "--corpora",
        "only",
        metavar="A,B",
        multiple=True,
        callback=_corpora,
        shell_complete=completing.corpora,
        help=CORPORA_HELP,
    )(command)


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select dialogues; the command gets them as one `selection`."""

    @functools.wraps(command)
    def selecting(**options: Any) -> Any:
        from dialogue_warehouse.reading.selection import Selection

        is_seeded = click.get_current_context().get_parameter_source("seed") == ParameterSource.COMMANDLINE
        if is_seeded and options["sample"] is None:
            raise click.UsageError("--seed has no effect without --sample N")
        names = {one.name for one in fields(Selection)} & options.keys()
        given = {name: value for name in names if (value := options.pop(name)) is not None}
        return command(selection=Selection(**given), **options)

    leaks = "Leave out training dialogues whose texts a dialogue of another split has, too."
    where = "Only dialogues for which this expression over core.dim_dialogues is true."
    licenses = "Only corpora with these licenses, written as in core.dim_corpora, separated by commas."
    splits = "Only these splits, separated by commas: train, validation, test, none (the publisher gives no split)."
    defects = (
        "Leave out dialogues with a known defect: of themselves, of a turn, or of a definition that a turn uses. Both "
        "values leave out the same dialogues; `score` distinguishes them."
    )
    for option in (
        click.option("--licenses", metavar="A,B", multiple=True, callback=_words, help=licenses),
        click.option("--without-leaks", is_flag=True, help=leaks),
        click.option("--without-defects", type=click.Choice(("here", "from-then-on")), help=defects),
        click.option("--where", metavar="SQL", help=where),
        click.option("--split", "splits", metavar="A,B", multiple=True, callback=_words, help=splits),
        click.option(
            "--corpora",
            metavar="A,B",
            multiple=True,
            callback=_words,
            shell_complete=completing.corpora,
            help=CORPORA_HELP,
        ),
    ):
        selecting = option(selecting)
    return selecting


def sample_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that take a part of the selected dialogues. They go below `selection_options`."""
    sample = "Only N of these dialogues, chosen by a hash of key and seed: the same ones on every run."
    for option in (
        click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample."),
        click.option("--sample", type=click.IntRange(1), metavar="N", help=sample),
    ):
        command = option(command)
    return command


def result_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the format of rows, of which at most one may be given; the command gets `form`."""

    @functools.wraps(command)
    def chosen(format_name: str | None, as_json: bool, as_csv: bool, **options: Any) -> Any:
        given = {"--format": format_name, "--json": "json" if as_json else None, "--csv": "csv" if as_csv else None}
        given["--parquet"] = "parquet" if options.get("parquet") else None
        asked = {option: form for option, form in given.items() if form}
        if len(asked) > 1:
            raise click.UsageError(f"{' and '.join(asked)} cannot be given together")
        return command(form=next(iter(asked.values()), None), **options)

    for option in (
        click.option("--csv", "as_csv", is_flag=True, help="Short for --format csv."),
        click.option("--json", "as_json", is_flag=True, help="Short for --format json."),
        click.option(
            "--format",
            "format_name",
            type=click.Choice(FORMATS),
            help="Output format; table and vertical show the first rows, the others all.  [default: table if it fits, "
            "else vertical]",
        ),
    ):
        chosen = option(chosen)
    return chosen


def verbose_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that shows more than fits a narrow terminal."""
    return click.option("--verbose", is_flag=True, help=text)


def form_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option for the form of the releases."""
    text = (
        "Form of the releases: the publishers' own files, or copies of the Hugging Face Hub in "
        f"SOURCE/<dataset>/<config>/.  [default: {RELEASE_FORM}]"
    )
    return click.option("--form", type=click.Choice(FORMS), help=text)(command)


def log_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option for the form of the progress. It is read first, so that every error has this form too."""
    text = "Format of the progress: lines, or events as JSON, one object per line.  [default: text]"
    kind = click.Choice(LOG_FORMATS)
    return click.option("--log-format", type=kind, is_eager=True, callback=_begin_log, help=text)(command)


def _begin_log(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str:
    log_format = value or read_variable("log_format")
    progress.write_events(log_format)
    return log_format


def say(line: str, status: int) -> None:
    """Print why a command ends with this status: a line on standard error, or an event."""
    if progress.is_logging():
        progress.log_event("error", logging.ERROR, text=line.removeprefix("error: "), status=status)
    else:
        click.echo(visible_lines(line), err=True)


def _corpora(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    return corpora_named(values, "--corpora") if values else None


def _words(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Read words separated by commas. Raises InputError if an option that is given has none."""
    words = tuple(word.strip() for value in values for word in value.split(",") if word.strip())
    if values and not words:
        raise InputError(f"{parameter.opts[-1] if parameter.opts else parameter.name}: is empty")
    return words


class _Commands(click.Group):
    """A group whose commands may be interrupted, or write into a pipe that closes early (`| head`)."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Click alone treats a closed pipe as a failure, and prints an empty line at an interrupt."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise click.exceptions.Exit(0) from None
        except KeyboardInterrupt:
            say("interrupted", INTERRUPTED)
            raise click.exceptions.Exit(INTERRUPTED) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(importlib.metadata.version("dialogue-warehouse"), prog_name="dialogue-warehouse")
def cli() -> None:
    """Public dialogue corpora in one SQL warehouse.

    Start with `build`, which generates a sample if it is given no data, then use `tables` and `sql`. `fetch` downloads
    the real releases.
    """


def warehouse_paths(settings: Settings) -> WarehousePaths:
    """Return the paths of the warehouse of these settings."""
    return WarehousePaths(settings.warehouse)
