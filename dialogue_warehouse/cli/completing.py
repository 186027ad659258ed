"""Names that a shell completes: tables, corpora, claims, rules, kept builds, and keys of dialogues.

They are those of the warehouse that the command is about. If it cannot be read, there are none.
"""

from __future__ import annotations

from pathlib import Path

import click

from dialogue_warehouse.common.text import is_unicode
from dialogue_warehouse.errors import Error
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings

MOST = 100
"""Number of names that a shell gets."""


def _paths(ctx: click.Context) -> WarehousePaths:
    given = ctx.params.get("warehouse")
    return WarehousePaths(Settings.from_environment(warehouse=given and Path(given)).warehouse)


def _found(ctx: click.Context, query: str, incomplete: str) -> list[str]:
    """Return the names that a query of the published build finds for the beginning of one."""
    import duckdb  # a command that completes nothing does not need it

    from dialogue_warehouse.reading import connection

    if not is_unicode(incomplete):
        return []
    try:
        with connection.open_published(_paths(ctx), settings=Settings.from_environment()) as con:
            rows = con.execute(f"from ({query}) as names (name) where starts_with(name, ?) order by name", [incomplete])
            return [name for (name,) in rows.fetchmany(MOST)]
    except (Error, duckdb.Error):  # a table may be damaged, or absent in a build of another version
        return []


def tables(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the tables, without a schema unless one was typed."""
    name = "schema_name || '.' || view_name" if "." in incomplete else "view_name"
    listed = " union all ".join(
        f"select {name.replace('view_name', f'{kind}_name')} from duckdb_{kind}s() "
        "where database_name = 'dialogues' and not internal"
        for kind in ("table", "view")
    )
    return _found(ctx, listed, incomplete)


def claims(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the claims."""
    return _found(ctx, "select claim_id from quality.claims", incomplete)


def rules(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the rules of violations."""
    return _found(ctx, "select distinct rule_id from quality.violation_rules", incomplete)


def keys(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the keys of dialogues."""
    return _found(ctx, "select dialogue_key from core.dim_dialogues", incomplete)


def kept_builds(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the kept builds, the newest first."""
    from dialogue_warehouse.storage import retention

    try:
        return [name for name in reversed(retention.kept_builds(_paths(ctx))) if name.startswith(incomplete)]
    except (Error, OSError):
        return []


def corpora(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the corpora; after a comma, those that are not named yet."""
    from dialogue_warehouse.corpora import registry

    named, comma, beginning = incomplete.rpartition(",")
    names = [name for name in registry.corpus_ids() if name.startswith(beginning) and name not in named.split(",")]
    return [f"{named}{comma}{name}" for name in names]


def corpus(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the corpora, of which one is named."""
    from dialogue_warehouse.corpora import registry

    return [name for name in registry.corpus_ids() if name.startswith(incomplete)]
