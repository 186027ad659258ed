"""The commands about new corpora: `new-corpus` and `check-corpus`. Both need a clone of the project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from dialogue_warehouse.cli import completing
from dialogue_warehouse.cli.options import CHECK_FAILED, cli, warehouse_option
from dialogue_warehouse.common.text import command
from dialogue_warehouse.errors import CheckError, InputError
from dialogue_warehouse.paths import CLONE, IS_CLONE, absolute

QUICK_TESTS = tuple(
    f"tests/unit/{name}.py"
    for name in (
        "test_vocabulary",
        "test_sentences",
        "test_models_are_proven",
        "test_fixtures",
        "test_architecture",
        "test_dialects_of_models",
        "test_rules",
        "corpora/test_schemas",
        "corpora/test_claims",
    )
)
"""Tests about the pieces of a corpus that build nothing: together they take seconds."""


@cli.command("new-corpus")
@click.argument("name")
@click.option(
    "--like",
    metavar="CORPUS",
    shell_complete=completing.corpus,
    help="Copy this corpus.  [default: the smallest possible corpus]",
)
@warehouse_option
def new_corpus(name: str, like: str | None, warehouse: Path | None) -> None:
    """Start a new corpus in a clone of the project.

    Every file that it needs is written, ready to be edited.

    Nothing is overwritten. docs/add_a_corpus.md explains each file, and the order in which to edit them.
    """
    from dialogue_warehouse.corpora import starting

    for path in starting.start_corpus(name, like):
        click.echo(f"{path} (one entry added)" if path == starting.PROJECT else path)
    build = command("build", warehouse=warehouse and absolute(warehouse))
    click.echo(f"next: `{command('check-corpus', name, '--no-tests')}` says what is left to do, step by step")
    click.echo(f"`{build}` builds the sample with it; docs/add_a_corpus.md explains each step")


@cli.command("check-corpus")
@click.argument("name", shell_complete=completing.corpus)
@click.option("--no-tests", is_flag=True, help="Leave out the tests that build warehouses: the rest takes seconds.")
@warehouse_option
def check_corpus(name: str, no_tests: bool, warehouse: Path | None) -> None:
    """Check one corpus of a clone.

    The command says what is missing, in the order of docs/add_a_corpus.md, and then runs the tests of the corpus:
    first those that build nothing, about its words, quotes, models and fixtures, then those that build warehouses.

    Text that `new-corpus` copied from another corpus is reported until it is replaced. The tests build this corpus
    alone; `make test` runs all tests. The exit status is 1 if something is missing or a test fails.
    """
    if not (IS_CLONE and (CLONE / "tests").is_dir()):
        raise InputError(f"`check-corpus` needs a clone of the project; {CLONE} is an installed package")
    from dialogue_warehouse.corpora import registry

    if name not in registry.corpus_ids():
        raise InputError(f"{name}: no such corpus; there are {', '.join(registry.corpus_ids())}")
    is_complete = _report("files", _missing_files(name))
    if not is_complete:
        click.echo("the other checks need these files")
        raise click.exceptions.Exit(CHECK_FAILED)
    found = [
        _report("agreement", _disagreements(name)),
        _report("texts", _left_over(name)),
        *_report_pieces(name),
        _report("dictionary", _stale_dictionary()),
    ]
    found.append(_run_tests("rules", name, "-n", "0", *QUICK_TESTS))
    if not no_tests:
        found.append(_run_tests("tests", name, *(f"--ignore={path}" for path in QUICK_TESTS)))
    if not all(found):
        raise click.exceptions.Exit(CHECK_FAILED)


def _report(step: str, problems: list[str]) -> bool:
    """Print the result of a step; return whether nothing is missing."""
    click.echo(f"{step:<11} {'ok' if not problems else f'{len(problems)} to do'}")
    for problem in problems:
        click.echo(f"  {problem}")
    return not problems


def _missing_files(name: str) -> list[str]:
    """List the missing files of the corpus and the missing models of its entities, or what cannot be loaded."""
    from dialogue_warehouse.corpora import registry, starting

    entities = starting.entities_of(name)
    models = [starting.model_of(name, entity) for entity in entities or ()]
    needed = [*(f"{starting.PLACES[0].format(name)}/{file}" for file in registry.REQUIRED_FILES), *models]
    missing = [f"{path} is missing" for path in needed if not (CLONE / path).is_file()]
    if entities is None:
        missing.append(f"{starting.PROJECT}: vars.corpora has no entry {name}")
    return missing or _unreadable_files(name)


def _unreadable_files(name: str) -> list[str]:
    """Return why the corpus cannot be loaded: an error of its code or of a declaration, in one line."""
    from dialogue_warehouse.corpora import claims, column_types, registry

    try:
        for entity in registry.load_corpus(name).entities:
            column_types.duckdb_type(column_types.type_of(entity.record))
        claims.load_claims(name)
    except InputError as error:
        return [str(error)]
    return []


def _disagreements(name: str) -> list[str]:
    """Return where two pieces of the corpus do not agree, one line each."""
    from dialogue_warehouse.corpora import registry
    from dialogue_warehouse.lineage import restoring
    from dialogue_warehouse.paths import DBT_PROJECT
    from pipelines.building import pieces

    unlisted = (line for line in pieces.unlisted_models(DBT_PROJECT) if line.startswith(f"{name}: "))
    found = [*pieces.unread_pieces(DBT_PROJECT, name), *pieces.unknown_tables(DBT_PROJECT, (name,)), *unlisted]
    found += _repeated_claims(name)
    try:
        restoring.restore_queries(registry.load_corpus(name))
    except InputError as error:
        found.append(str(error))
    return found


def _repeated_claims(name: str) -> Iterator[str]:
    """Yield a line for each claim whose id a claim of another corpus has: a build of this corpus alone has no other."""
    from dialogue_warehouse.corpora import claims, registry

    others = {
        claim.claim_id: other for other in registry.corpus_ids() if other != name for claim in claims.load_claims(other)
    }
    for claim in claims.load_claims(name):
        if claim.claim_id in others:
            yield (
                f"{name}/{claims.CLAIMS}: the corpus {others[claim.claim_id]} has a claim {claim.claim_id}, too: "
                f"write {name}_{claim.claim_id} here, and in tests/fixtures/{name}"
            )


def _left_over(name: str) -> list[str]:
    from dialogue_warehouse.corpora import left_over

    return [str(found) for found in left_over.find(name)]


def _report_pieces(name: str) -> Iterator[bool]:
    """Report what the tests lack; missing documents are not a failure, because the repository has none."""
    for step, problems in _of_tests(name).items():
        is_complete = _report(step, problems)
        yield is_complete or step == "documents"


def _of_tests(name: str) -> dict[str, list[str]]:
    """Return what the tests lack of this corpus, by step."""
    completed = _run_in_clone("tests.corpus_pieces", name, capture_output=True)
    if completed.returncode:
        lines = completed.stderr.strip().splitlines() or ["no message"]
        raise CheckError(f"{name}: the pieces of tests/fixtures/{name} cannot be read: {lines[-1]}")
    return json.loads(completed.stdout)


def _run_in_clone(module: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a module with the tests, which are not installed: Python finds them in its working folder."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    line = [sys.executable, "-m", module, *arguments]
    return subprocess.run(line, cwd=CLONE, env=variables, text=True, check=False, **options)


def _stale_dictionary() -> list[str]:
    from dialogue_warehouse.reading import descriptions

    if descriptions.is_current():
        return []
    return ["warehouse/dictionary.md is stale: run `python -m dialogue_warehouse.reading.descriptions`"]


def _run_tests(step: str, name: str, *options: str) -> bool:
    """Run tests of this corpus with pytest, which prints their results; return whether all passed."""
    click.echo(f"{step:<11} pytest --corpus {name} {' '.join(options)}")
    started = time.monotonic()
    status = _run_in_clone("pytest", "--corpus", name, *options).returncode
    click.echo(f"{step:<11} {'ok' if status == 0 else 'failed'} after {time.monotonic() - started:.0f} s")
    return status == 0
