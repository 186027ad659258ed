"""The macros of a dbt project: their places, their calls, and the macro that wrote a line of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CALL = re.compile(r"\b(\w+)\s*\(")
"""A call of a macro."""
JINJA = re.compile(r"{{.*?}}|{%.*?%}|{#.*?#}")
"""The parts of a template that are not copied as they are."""


@dataclass(frozen=True)
class Macro:
    """A macro or a generic test of the project."""

    name: str
    path: str
    line: int
    lines: tuple[str, ...]
    """The text of the macro."""
    called: tuple[str, ...]
    """The unique ids of the macros that it calls."""


class Macros:
    """The macros of one package in a dbt manifest; `place` is put before the names of its files."""

    def __init__(self, macros: dict[str, Any], package: str, folder: Path, place: str) -> None:
        ours = {unique_id: macro for unique_id, macro in macros.items() if macro.package_name == package}
        texts = {
            macro.original_file_path: (folder / macro.original_file_path).read_text(encoding="utf-8")
            for macro in ours.values()
        }
        self.paths = {f"{place}/{path}" for path in texts}
        self.replacing = {macro.name for macro in macros.values() if macro.package_name != package}
        self.by_id = {
            unique_id: Macro(
                macro.name,
                f"{place}/{macro.original_file_path}",
                texts[macro.original_file_path].partition(macro.macro_sql)[0].count("\n") + 1,
                tuple(macro.macro_sql.splitlines()),
                tuple(macro.depends_on.macros),
            )
            for unique_id, macro in ours.items()
        }
        self.ids = {macro.name: unique_id for unique_id, macro in self.by_id.items()}

    def reached(self, unique_ids: Iterable[str]) -> list[Macro]:
        """Return the project's macros among these, and the macros that they call, the nearest first."""
        seen, waiting = {}, list(unique_ids)
        while waiting:
            unique_id = waiting.pop(0)
            if unique_id in self.by_id and unique_id not in seen:
                seen[unique_id] = self.by_id[unique_id]
                waiting += seen[unique_id].called
        return list(seen.values())

    def unreached(self, unique_ids: Iterable[str]) -> list[Macro]:
        """Return the macros that none of these call, except those that replace a part of dbt.

        Replacements of dbt's own macros and materializations are called by dbt while it builds a table: their statements
        are put together for a database, so they cannot be shown here. The variant of a macro for another engine is only
        rendered there: tests/integration/test_spark.py runs all of them.
        """
        called_by_dbt = [
            unique_id
            for unique_id, macro in self.by_id.items()
            if macro.name in self.replacing
            or macro.name.startswith("materialization_")
            or self._is_of_another_engine(macro.name)
        ]
        reached = set(self.reached([*unique_ids, *called_by_dbt]))
        return [macro for macro in self.by_id.values() if macro not in reached]

    def _is_of_another_engine(self, name: str) -> bool:
        engine, _, replaced = name.partition("__")
        return engine not in ("default", "duckdb") and replaced in self.ids

    def writer(self, call: str, written: str) -> tuple[str, int] | None:
        """Return file and line of what wrote a line of SQL into the place of `call`; None where no macro of ours did.

        The line is the one that has most in common with what it wrote, or else the first one of the macro called.
        """
        reached = self.reached(self.ids[name] for name in CALL.findall(call) if name in self.ids)
        if not reached:
            return None
        lines = [(macro, macro.line + offset, line) for macro in reached for offset, line in enumerate(macro.lines)]
        macro, line, text = max(lines, key=lambda line: _share(line[2], written))
        return (macro.path, line) if _share(text, written) else (reached[0].path, reached[0].line)


def _share(line: str, written: str) -> int:
    """Return the number of letters of a macro's line if all of them occur in `written`, in this order; else 0."""
    literals = [literal.strip() for literal in JINJA.split(line)]
    pattern = ".*?".join(re.escape(literal) for literal in literals)
    return len(re.findall(r"\w", "".join(literals))) if re.search(pattern, written) else 0
