"""The SQLAlchemy dialect through which Great Expectations reads DuckDB: `duckdb+warehouse:///<absolute path>`.

Great Expectations has no DuckDB support, and duckdb-engine 0.17 is not enough for it. Results are read after their
connection was returned, when DuckDB has dropped them. SQLAlchemy 2.1 reflects through a Postgres catalog that DuckDB
lacks, and Great Expectations then queries the table without its schema. Importing this module registers the dialect.
Only `expectations.validation` may import it: SQLAlchemy takes half a second.
"""

from __future__ import annotations

import urllib.parse
from pathlib import Path
from typing import Any

import duckdb_engine
from sqlalchemy import text, types
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg2 import PGExecutionContext_psycopg2
from sqlalchemy.engine.cursor import FullyBufferedCursorFetchStrategy
from sqlalchemy.exc import NoSuchTableError

from dialogue_warehouse.storage import builds

NAME = "duckdb.warehouse"

_TYPES: dict[str, type[types.TypeEngine[Any]]] = {
    "BIGINT": types.BIGINT,
    "BOOLEAN": types.BOOLEAN,
    "DATE": types.DATE,
    "DOUBLE": types.DOUBLE,
    "FLOAT": types.FLOAT,
    "HUGEINT": types.NUMERIC,
    "INTEGER": types.INTEGER,
    "SMALLINT": types.SMALLINT,
    "TIMESTAMP": types.TIMESTAMP,
    "VARCHAR": types.VARCHAR,
}
"""SQLAlchemy's types of DuckDB's; a type that is not listed (lists, maps) is reflected as NullType."""

_COLUMNS = """
    select column_name, data_type, is_nullable
    from duckdb_columns()
    where database_name = current_database()
        and schema_name = coalesce(:schema_name, current_schema())
        and table_name = :table_name
    order by column_index
"""


class _BufferingContext(PGExecutionContext_psycopg2):
    """Context that fetches each result whole when it is made, so that it outlives its connection."""

    def post_exec(self) -> None:
        super().post_exec()
        description = self.cursor.description
        if description is not None:
            self.cursor_fetch_strategy = FullyBufferedCursorFetchStrategy(
                self.cursor, description, initial_buffer=self.cursor.fetchall()
            )


class WarehouseDialect(duckdb_engine.Dialect):
    """duckdb-engine's dialect with buffered results and reflection from DuckDB's own catalog."""

    supports_statement_cache = False
    execution_ctx_cls = _BufferingContext

    def connect(self, *cargs: Any, **cparams: Any) -> Any:
        """Return a connection to a build, with its Parquet files if its rows are in those."""
        con = super().connect(*cargs, **cparams)
        builds.serve(con, Path(cparams["database"]))
        return con

    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        """Return the columns of a table or view. Raises NoSuchTableError when there are none."""
        rows = connection.execute(text(_COLUMNS), {"schema_name": schema, "table_name": table_name}).fetchall()
        if not rows:
            raise NoSuchTableError(f"{schema}.{table_name}" if schema else table_name)
        return [
            {"name": name, "type": _TYPES.get(data_type, types.NullType)(), "nullable": is_nullable, "default": None}
            for name, data_type, is_nullable in rows
        ]

    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Return no primary key: the warehouse tests uniqueness instead of declaring it."""
        return {"constrained_columns": [], "name": None}


def connection_string(database: Path) -> str:
    """Return the connection string of Great Expectations for this database file."""
    return f"duckdb+warehouse:///{urllib.parse.quote(str(database.absolute()))}"


registry.register(NAME, __name__, WarehouseDialect.__name__)
