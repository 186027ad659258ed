"""The SQL that dbt renders: models, tests, hooks, and SQL that macros write into them.

dbt renders each node with its own context; in parallel, SQLFluff's tracer learns which part of the SQL comes from which
part of the file. Ephemeral models are not inserted into their readers: each is linted once, in its own file. No
database is opened. See https://docs.getdbt.com/reference/dbt-jinja-functions and `sqlfluff.core.templaters.jinja`.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dbt.adapters.factory import register_adapter
from dbt.cli.main import dbtRunner
from dbt.compilation import Compiler
from dbt.config.runtime import RuntimeConfig
from dbt.contracts.graph.manifest import Manifest
from dbt.contracts.graph.nodes import GenericTestNode, ManifestNode
from dbt.mp_context import get_mp_context
from dbt_common.clients.jinja import get_environment
from dbt_common.exceptions import DbtBaseException
from jinja2 import Environment
from sqlfluff.core import FluffConfig
from sqlfluff.core.errors import SQLTemplaterError
from sqlfluff.core.templaters import TemplatedFile
from sqlfluff.core.templaters.jinja import JinjaTemplater

from tests.lint.macros import Macros
from tests.lint.pieces import MADE_BY_DBT, Finding, Piece, files_of, pieces_of_file

VARIANTS = 8
"""Number of ways to render a file that are linted: with the other branch of each `if`."""


class ProjectError(Exception):
    """dbt cannot read the project; `finding` has the place."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


class Renderer(JinjaTemplater):
    """SQLFluff's tracing templater, with dbt's environment and the context of one node instead of SQLFluff's."""

    def __init__(self, node: ManifestNode, context: dict[str, Any]) -> None:
        super().__init__()
        self.node = node
        self.context = context

    def _get_jinja_env(self, config: FluffConfig | None = None) -> Environment:
        environment = get_environment(self.node)
        environment.keep_trailing_newline = True
        return environment

    def construct_render_func(self, fname: str | None = None, config: FluffConfig | None = None) -> tuple:
        """Return the environment, its names, and the function that renders a text with them."""
        environment = self._get_jinja_env()

        def render(text: str) -> str:
            try:
                return environment.from_string(text, globals=self.context).render(self.context)
            except DbtBaseException as error:
                raise SQLTemplaterError(" ".join(str(error).split()), line_no=1, line_pos=1) from error

        return environment, self.context, render


class Project:
    """The dbt project in a folder of the clone, parsed. Raises ProjectError."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.place = folder.relative_to(root).as_posix()
        manifest = self._parse()
        self.manifest = manifest
        self.macros = Macros(manifest.macros, self.config.project_name, folder, self.place)
        self.nodes = [node for node in manifest.nodes.values() if self._is_ours(node)]

    def _parse(self) -> Manifest:
        """Parse in an empty folder, which the profile's paths are relative to; dbt keeps its parse for the next time."""
        places = {
            "project_dir": str(self.folder),
            "profiles_dir": str(self.folder),
            "target_path": str(self.folder / MADE_BY_DBT / "lint"),
        }
        options = [word for name, path in places.items() for word in (f"--{name.replace('_', '-')}", path)]
        quiet = ["--quiet", "--log-level", "none", "--log-level-file", "none"]
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            result = dbtRunner().invoke([*quiet, "parse", "--no-write-json", *options])
            if not isinstance(result.result, Manifest):
                raise ProjectError(self._problem(str(result.exception)))
            unset = dict.fromkeys(("profile", "target", "threads"))
            self.config = RuntimeConfig.from_args(Namespace(**places, **unset, vars={}, which="compile"))
        register_adapter(self.config, get_mp_context())
        return result.result

    def _problem(self, message: str) -> Finding:
        """Return the finding for a file that dbt cannot read."""
        path = re.search(r"\((\S+\.\w+)\)", message)
        line = re.search(r"\bline (\d+)", message)
        name = f"{self.place}/{path[1]}" if path else f"{self.place}/dbt_project.yml"
        return Finding(name, int(line[1]) if line else 1, 1, "DBT", " ".join(message.split()))

    def _is_ours(self, node: ManifestNode) -> bool:
        """Return whether the node's SQL is written in this project; the SQL of a built-in test is dbt's."""
        if node.package_name != self.config.project_name or node.language != "sql":
            return False
        return not isinstance(node, GenericTestNode) or f"test_{node.test_metadata.name}" in self.macros.ids

    def overlooked(self) -> Iterator[Finding]:
        """Return a finding for each SQL file that dbt does not read, and for each macro whose SQL is in no node."""
        read = [*self.nodes, *self.manifest.fixtures.values()]
        known = {f"{self.place}/{node.original_file_path}" for node in read} | self.macros.paths
        for path in files_of(self.folder, ".sql"):
            name = path.relative_to(self.root).as_posix()
            if name not in known:
                yield Finding(name, 1, 1, "DBT", "dbt does not read this file, so it is not linted")
        called = [unique_id for node in self.nodes for unique_id in node.depends_on.macros]
        for macro in self.macros.unreached(called):
            message = f"no model and no test calls {macro.name}, so its SQL is not linted"
            yield Finding(macro.path, macro.line, 1, "DBT", message)

    def pieces(self, config: FluffConfig) -> Iterator[Piece | Finding]:
        """Return all SQL of the project, and a finding for SQL that cannot be rendered."""
        yield from self._node_pieces(config)
        yield from self._unit_test_pieces()

    def _node_pieces(self, config: FluffConfig) -> Iterator[Piece | Finding]:
        """Yield each rendered node, and each of its hooks."""
        compiler = Compiler(self.config)
        for node in self.nodes:
            path = f"{self.place}/{node.original_file_path}"
            renderer = Renderer(node, compiler._create_node_context(node, self.manifest, {}))
            if isinstance(node, GenericTestNode):
                yield from _rendered(renderer, f"{node.raw_code}\n", path, node.name, 1, config)
                continue
            text = (self.root / path).read_text(encoding="utf-8")
            yield from _rendered(renderer, text, path, "", 1, config)
            for hook in (*getattr(node.config, "pre_hook", ()), *getattr(node.config, "post_hook", ())):
                yield from _rendered(renderer, f"{hook.sql}\n", path, "hook", _line_of(hook.sql, text), config)

    def _unit_test_pieces(self) -> Iterator[Piece]:
        """Yield the given and expected rows of unit tests that are written as SQL, in YAML or in separate files."""
        for test in self.manifest.unit_tests.values():
            path = f"{self.place}/{test.original_file_path}"
            text = (self.root / path).read_text(encoding="utf-8")
            for rows in (*test.given, test.expect):
                if isinstance(rows.rows, str) and rows.fixture is None and rows.format == "sql":
                    template = TemplatedFile(rows.rows.rstrip("\n") + "\n", path)
                    yield Piece(path, test.name, (template,), _line_of(rows.rows.strip().partition("\n")[0], text))
        for file in self.manifest.fixtures.values():
            path = f"{self.place}/{file.original_file_path}"
            if path.endswith(".sql"):
                yield from pieces_of_file(path, (self.root / path).read_text(encoding="utf-8"))


def _line_of(part: str, text: str) -> int:
    """Return the line where a part of a file starts; 1 if dbt has changed the part after it was read."""
    return text.partition(part)[0].count("\n") + 1 if part in text else 1


def _rendered(
    renderer: Renderer, text: str, path: str, name: str, line: int, config: FluffConfig
) -> Iterator[Piece | Finding]:
    try:
        ways = renderer.process_with_variants(in_str=text, fname=path, config=config)
        variants, problems = zip(*islice(ways, VARIANTS), strict=True)
    except SQLTemplaterError as error:
        variants, problems = (), ([error],)
    for problem in {(problem.line_no, problem.desc()): problem for found in problems for problem in found}.values():
        yield Finding(path, line + problem.line_no - 1, problem.line_pos, problem.rule_code(), problem.desc())
    if variants:
        yield Piece(path, name, variants, line)
