"""Writes the data dictionary from the descriptions in the dbt project: `python -m pipelines.reading.dictionary`.

The descriptions live with the models; warehouse/dictionary.md is generated from them, and a test regenerates it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from pipelines.corpora import registry
from pipelines.paths import CLONE, DBT_PROJECT
from pipelines.reading import raw_comments

DICTIONARY = CLONE / "warehouse" / "dictionary.md"
SCHEMAS = ("core", "analytics", "quality")
HEADER = """# Data dictionary

Every published table and column. Generated from the descriptions in `dbt_project/` by
`python -m pipelines.reading.dictionary`; the same texts are comments inside the database
(`dialogue-warehouse describe TABLE`). The tables of `raw` are there with `sql --raw` alone, described by the rooms'
schemas.

Keys are text and sort as text, `…/10` before `…/2`: what comes in order is ordered by the numbers beside them, such as
`order by dialogue_key, turn_index`.
"""


def dictionary() -> str:
    """The dictionary as Markdown."""
    return "\n".join([HEADER, *_lines()]) + "\n"


def _lines() -> Iterator[str]:
    definitions = _definitions()
    for schema in SCHEMAS:
        yield f"## {schema}\n"
        for model in _models(DBT_PROJECT / "models" / "marts" / schema):
            yield f"### {schema}.{model['name']}\n\n{model['description']}\n"
            yield "| column | type | what it is |\n|---|---|---|"
            for column in model["columns"]:
                what = re.sub(r'\{\{ doc\("(\w+)"\) \}\}', lambda match: definitions[match[1]], column["description"])
                yield f"| {column['name']} | {column['data_type']} | {what.replace('|', chr(92) + '|')} |"
            yield ""
    yield "## raw\n"
    yield f"Beside the fields of its records each has {_names_of_landing()}.\n"
    for corpus in registry.load_corpora():
        for table in raw_comments.raw_tables(corpus):
            yield f"### raw.{table.name}\n\n{table.description}\n"
            yield "| column | type | what it is |\n|---|---|---|"
            for column in table.columns:
                yield f"| {column.name} | {column.type} | {column.description.replace('|', chr(92) + '|')} |"
            yield ""


def _names_of_landing() -> str:
    """What landing adds to each record; the key only where records have one."""
    return ", ".join(f"`{name}` ({what})" for name, what in raw_comments.OF_LANDING.items())


def _models(folder: Path) -> list[dict[str, Any]]:
    """The described models of a folder, by name."""
    files = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yml")))
    return [model for file in files for model in file.get("models", [])]


def _definitions() -> dict[str, str]:
    """The one definition of each column name."""
    text = (DBT_PROJECT / "models" / "columns.md").read_text(encoding="utf-8")
    return dict(re.findall(r"{% docs (\w+) %}\n(.*?)\n{% enddocs %}", text, flags=re.DOTALL))


if __name__ == "__main__":
    DICTIONARY.write_text(dictionary(), encoding="utf-8")
