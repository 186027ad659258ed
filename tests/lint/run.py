"""One run of the linter: it takes pieces and returns findings.

dbt takes seconds to parse its project. In the meantime, other processes lint everything that does not need dbt.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from sqlfluff.core import FluffConfig, Linter
from sqlfluff.core.config import load_config_file
from sqlfluff.core.errors import SQLBaseError, SQLLintError
from sqlfluff.core.linter.common import RenderedFile
from sqlfluff.core.parser.markers import PositionMarker
from sqlfluff.core.rules import RulePack

from tests.lint import sound
from tests.lint.macros import Macros
from tests.lint.pieces import Finding, Piece, files_of, pieces_of_file
from tests.lint.toml_sql import sql_in_toml

DBT_PROJECT = "dbt_project"
LONG_LINE = "LT05"
UNPARSABLE = "PRS"
NOT_IN_THE_GRAMMAR = re.compile(r"(?:\s*comment on macro (?:table )?[\w.]+ is '(?:[^']|'')*';)+\s*")
"""SQL that DuckDB knows and SQLFluff 4.5 cannot parse."""
PLACE = re.compile(r"^Line \d+, Position \d+: ")
"""The place in a parse error, counted from the start of the piece."""


@dataclass(frozen=True)
class Found:
    """A finding of SQLFluff; if a template writes the SQL, also the text in the file and the line made from it."""

    finding: Finding
    call: str = ""
    written: str = ""


class Findings:
    """The findings so far, of this process and of those that are still running."""

    def __init__(self, pool: ProcessPoolExecutor, root: Path) -> None:
        self.pool = pool
        self.root = root
        self.known: list[Finding] = []
        self.awaited: dict[str, Future[list[Found]]] = {}
        self.sound = sound.remembered()

    def take(self, found: Iterable[Piece | Finding]) -> None:
        """Keep each finding, and submit each piece for linting."""
        for one in found:
            if not isinstance(one, Piece):
                self.known.append(one)
            elif (digest := sound.digest(one, self.root)) not in self.sound:
                self.awaited[digest] = self.pool.submit(lint_piece, one, self.root)

    def settled(self, macros: Macros | None) -> list[Finding]:
        """Return all findings. SQL from a macro is found at each call, and reported once, at the line of the macro."""
        findings, calls = {*self.known}, defaultdict(list)
        results = {digest: future.result() for digest, future in self.awaited.items()}
        sound.remember({digest for digest, founds in results.items() if not founds})
        for found in (found for founds in results.values() for found in founds):
            writer = macros.writer(found.call, found.written) if macros else None
            if writer:
                calls[*writer, found.finding.code, found.finding.message].append(found)
            else:
                findings.add(found.finding)
        for (path, line, code, message), founds in calls.items():
            first = min(founds, key=lambda found: found.finding)
            places = len({(found.finding.path, found.finding.line) for found in founds})
            others = f" and {places - 1} more" if places > 1 else ""
            written = f", written for {first.finding.path}:{first.finding.line}{others} as `{first.written.strip()}`"
            findings.add(Finding(path, line, 1, code, message + written))
        return sorted(findings)


def lint(root: Path, only: Collection[str] = ()) -> list[Finding]:
    """Return the problems of the SQL in the clone at `root`, in order; with `only`, those that these files show."""
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("fork")) as pool:
        # The first call forks all processes, before dbt is imported: neither its memory nor its threads are copied.
        pool.submit(os.getpid).result()
        findings = Findings(pool, root)
        findings.take(_outside_dbt(root, only))
        macros = _take_dbt(findings, only) if not only or any(map(_is_of_dbt, only)) else None
        return findings.settled(macros)


def _is_of_dbt(path: str) -> bool:
    return path.startswith(f"{DBT_PROJECT}/")


def _outside_dbt(root: Path, only: Collection[str]) -> Iterator[Piece | Finding]:
    for suffix, read in ((".sql", pieces_of_file), (".toml", sql_in_toml)):
        for file in files_of(root, suffix):
            path = file.relative_to(root).as_posix()
            # dbt cannot render models outside its project: they must be copied into one first.
            if DBT_PROJECT not in Path(path).parts and (not only or path in only):
                yield from read(path, file.read_text(encoding="utf-8"))


def _take_dbt(findings: Findings, only: Collection[str]) -> Macros | None:
    """Add the SQL of the dbt project, and return its macros; None, with a finding of dbt's error, if it cannot be read."""
    from tests.lint.dbt_sql import Project, ProjectError

    try:
        project = Project(findings.root, findings.root / DBT_PROJECT)
    except ProjectError as error:
        findings.take([error.finding])
        return None
    is_wanted = not only or not project.macros.paths.isdisjoint(only)
    pieces = project.pieces(rules(findings.root)[0])
    findings.take(piece for piece in pieces if is_wanted or piece.path in only)
    findings.take(project.overlooked())
    return project.macros


@cache
def rules(root: Path) -> tuple[FluffConfig, RulePack]:
    """Return SQLFluff's configuration in pyproject.toml, without that of any home folder, and the rules it lists."""
    config = FluffConfig(load_config_file(str(root), "pyproject.toml"))
    return config, Linter(config=config).get_rulepack()


def lint_piece(piece: Piece, root: Path) -> list[Found]:
    """Return the findings of SQLFluff in a piece."""
    config, rule_pack = rules(root)
    source = piece.variants[0].source_str
    rendered = RenderedFile([*piece.variants], [], config, {}, piece.path, "utf-8", source)
    errors = Linter.lint_rendered(rendered, rule_pack).get_violations()
    return [_found(piece, error) for error in errors if not _is_allowed(piece, error)]


def _is_allowed(piece: Piece, error: SQLBaseError) -> bool:
    if error.rule_code() == UNPARSABLE:
        segment = getattr(error, "segment", None)
        return segment is not None and NOT_IN_THE_GRAMMAR.fullmatch(segment.raw) is not None
    return piece.may_be_long and error.rule_code() == LONG_LINE


def _found(piece: Piece, error: SQLBaseError) -> Found:
    line = piece.line + error.line_no - 1
    column = error.line_pos + (piece.column - 1 if error.line_no == 1 else 0)
    message = PLACE.sub("", error.desc()) + (f" [{piece.name}]" if piece.name else "")
    finding = Finding(piece.path, line, column, error.rule_code(), message)
    segment = getattr(error, "segment", None)
    is_of_the_file = isinstance(error, SQLLintError) and error.rule.targets_templated
    if is_of_the_file or segment is None or segment.pos_marker is None or segment.pos_marker.is_literal():
        return Found(finding)
    return Found(finding, *_written(segment.pos_marker))


def _written(marker: PositionMarker) -> tuple[str, str]:
    """Return the text in the file at a place that a template fills, and the line made from it."""
    text, start = marker.templated_file.templated_str, marker.templated_slice.start
    line = text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0]
    return marker.source_str(), line
