"""Runs the command and gives its exit status.

Exit status 0, 1 (a check failed) or 2 (bad input); an error is one line on standard error, never a traceback.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys

import click

from pipelines.cli import builds, corpora, proofs, queries, releases
from pipelines.cli.options import BAD_INPUT, CHECK_FAILED, INTERRUPTED, cli
from pipelines.errors import CheckError, InputError
from pipelines.settings import silence_telemetry

COMMANDS = (builds, proofs, queries, releases, corpora)
"""The modules whose commands `cli` has once they are imported."""


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
