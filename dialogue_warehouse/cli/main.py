"""Run the command and return its exit status.

The status is 0, 1 (a check failed), 2 (bad input), or 128 plus the number of a signal. An error is one line on standard
error, never a traceback.
"""

from __future__ import annotations

import contextlib
import os
import sys

import click

from dialogue_warehouse.cli import builds, corpora, exports, queries, releases, scores
from dialogue_warehouse.cli.options import BAD_INPUT, CHECK_FAILED, INTERRUPTED, cli, say
from dialogue_warehouse.cli.process import OwnProcess
from dialogue_warehouse.common import progress
from dialogue_warehouse.common.text import command
from dialogue_warehouse.errors import (
    CheckError,
    InputError,
    causes,
    first_line,
    is_full,
    is_out_of_memory,
    words_of_full,
)
from dialogue_warehouse.settings import SWITCHES, silence_telemetry, variable_of

COMMANDS = (builds, corpora, exports, queries, releases, scores)
"""The modules that add their commands to `cli` on import."""
LIMITS = f"{variable_of('memory_limit')} (for a query, {variable_of('query_memory_limit')})"
"""The settings of the memory that DuckDB may use."""


def main(arguments: list[str] | None = None, process: OwnProcess | None = None) -> int:
    """Run the command and return its exit status. Only the process of the command is changed (`process`)."""
    try:
        return _main(arguments, process)
    finally:
        progress.end_events()


def _main(arguments: list[str] | None, process: OwnProcess | None) -> int:
    try:
        status = cli.main(arguments, standalone_mode=False, obj=process) or 0
        sys.stdout.flush()
    except BaseException as error:
        is_interrupted = process is not None and process.signal and not isinstance(error, click.exceptions.Exit)
        return _status_of(KeyboardInterrupt() if is_interrupted else error)  # a library may have changed the error
    return status


def run() -> None:
    """Run the command in its own process."""
    process = OwnProcess()
    process.begin()
    silence_telemetry()
    process.leave(main(process=process))


def _status_of(error: BaseException) -> int:
    """Print an error in one line and return its exit status."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.Abort() | KeyboardInterrupt():
            return _say("interrupted", INTERRUPTED)
        case click.exceptions.NoArgsIsHelpError():
            return _say(error.format_message(), BAD_INPUT)
        case click.ClickException():
            return _say(f"error: {_describe_usage(error)}", BAD_INPUT)
        case SystemExit():
            return _status_of_exit(error)
        case BrokenPipeError():  # without a reader, as with `| head`
            return 0
        case InputError():
            return _say(f"error: {error}", BAD_INPUT)
        case CheckError():
            return _say(f"error: {error}", CHECK_FAILED)
    return _status_of_system(error)


def _describe_usage(error: click.ClickException) -> str:
    """Return an error of the command line in one line, with the command whose help says more."""
    message = " ".join(error.format_message().split()).removesuffix(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return message
    names = [context.info_name] if context.parent is not None else []
    return f"{message} (see `{command(*names, '--help')}`)"


def _status_of_system(error: BaseException) -> int:
    """Print an error of the operating system (a full disk, say), even if a library wraps it; return the exit status."""
    for cause in causes(error):
        if is_full(cause):
            place = getattr(cause, "filename", None) or ("standard output" if cause is error else "the warehouse")
            return _say(f"error: {place}: {words_of_full(cause)}", CHECK_FAILED)
    if is_out_of_memory(error):
        return _say("error: out of memory", CHECK_FAILED)
    if isinstance(error, OSError) and error.strerror:
        files = " -> ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
        return _say(f"error: {files or 'an unnamed file'}: {error.strerror}", BAD_INPUT)
    if duckdb := sys.modules.get("duckdb"):
        if any(isinstance(cause, duckdb.OutOfMemoryException) for cause in causes(error)):
            return _say(f"error: DuckDB needs more memory than it may use: set a larger {LIMITS}", CHECK_FAILED)
        if isinstance(error, duckdb.IOException):
            return _say(f"error: {first_line(error)}", CHECK_FAILED)
    return _say_defect(error)


def _status_of_exit(error: SystemExit) -> int:
    """Return the status with which a library wanted to end the process."""
    if error.code is None or isinstance(error.__context__, BrokenPipeError):  # rich raises this for `| head`
        return 0
    return error.code if isinstance(error.code, int) else _say(str(error.code), CHECK_FAILED)


def _say_defect(error: BaseException) -> int:
    """Print an error that is a bug of the project."""
    if SWITCHES.get(os.environ.get("DIALOGUE_DEBUG", "").strip().lower()):
        raise error
    said = f"{type(error).__name__}: {first_line(error)}"
    return _say(f"internal error: {said} (DIALOGUE_DEBUG=1 shows where)", CHECK_FAILED)


def _say(line: str, status: int) -> int:
    with contextlib.suppress(OSError):  # standard error may be closed too
        say(line, status)
    return status
