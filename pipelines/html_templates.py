"""Templates of HTML: every value is escaped, and one that is not given is an error.

What a template is compiled to is kept beside dbt's last parse, as Python keeps what its modules are compiled to: the
templates of the report take 0.2 s to compile, in every process anew.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from pipelines.paths import DBT_LAST_PARSE


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Code by template and text, in a folder of this version of the library; of nobody where it cannot be written."""

    def __init__(self) -> None:
        folder = DBT_LAST_PARSE.with_name(f"jinja2-{importlib.metadata.version('jinja2')}")
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        super().__init__(str(folder))

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):  # such as a path of which a part is no folder
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def environment(folder: Path, **filters: Callable[..., Any]) -> jinja2.Environment:
    """The templates of a folder, with these filters besides jinja's own."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_Compiled(),
    )
    made.filters |= filters
    return made
