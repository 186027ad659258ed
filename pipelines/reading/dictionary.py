"""Writes the data dictionary from the descriptions in the dbt project: `python -m pipelines.reading.dictionary`.

The descriptions live with the models; warehouse/dictionary.md is generated from them, and a test regenerates it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipelines.corpora import registry
from pipelines.paths import CLONE
from pipelines.reading import declared, raw_comments

DICTIONARY = CLONE / "warehouse" / "dictionary.md"
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
    definitions, links = declared.definitions(), declared.links()
    for schema in declared.SCHEMAS:
        yield f"## {schema}\n"
        for name, model in declared.models().items():
            if not name.startswith(f"{schema}."):
                continue
            yield f"### {name}\n\n{model['description']}\n"
            yield from _links(links[name])
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


def _links(links: declared.Links) -> Iterator[str]:
    """The key of a table and its joins."""
    if links.key:
        yield f"Key: {', '.join(f'`{column}`' for column in links.key)}.\n"
    if links.joins:
        yield f"Joins {'; '.join(str(join) for join in links.joins)}.\n"


def _names_of_landing() -> str:
    """What landing adds to each record; the key only where records have one."""
    return ", ".join(f"`{name}` ({what})" for name, what in raw_comments.OF_LANDING.items())


if __name__ == "__main__":
    DICTIONARY.write_text(dictionary(), encoding="utf-8")
