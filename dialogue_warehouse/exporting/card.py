"""The page of an export for the Hugging Face Hub: `README.md`, with the metadata that the Hub and `datasets` read.

The page is made of the written files, of the ledger and of the warehouse. Texts of a warehouse are not trusted: `plain`
makes them text that is neither Markdown nor HTML, and the metadata are written by a YAML library.
"""

from __future__ import annotations

import importlib.metadata
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import yaml
from markupsafe import Markup, escape

from dialogue_warehouse.common.database import NO_PATH, literal
from dialogue_warehouse.common.text import visible
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import counted
from dialogue_warehouse.exporting import losses
from dialogue_warehouse.exporting.huggingface import AS_TEXT
from dialogue_warehouse.reading.findings import read_rows
from dialogue_warehouse.reading.selection import NO_SPLIT, SPLITS, Selection

CARD = "README.md"
TEMPLATE = "card.md"
ALL = "all"
"""The config with every corpus."""
SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M")
"""The Hub's words for the number of examples; each is ten times the one before."""
LICENSES = {"cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc0-1.0", "mit", "apache-2.0"}
"""Identifiers of the Hub that are those of SPDX in small letters; any other license is `other`."""
NOT_STATED = ("unknown", "none stated")
MARKS = re.compile(r"([\\`*_{}\[\]|~#$@])")
"""Characters that Markdown can give a meaning inside a line."""
ADDRESS = re.compile(r"https?://[\w.~:/?#@!$'()*+,;=%-]+")
OPTIONS = {"splits": "split"}
"""Names of options that are not those of their fields."""


def write(
    con: duckdb.DuckDBPyConnection, folder: Path, paths: Sequence[str], ledger: dict[str, Any], selection: Selection
) -> None:
    """Write the page beside the files of an export.

    `paths` are the Parquet files whose messages are JSON values. `con` has core as its default schema.
    """
    con.execute(
        "create or replace temp table written as select source.corpus_id, source.split, source.dialogue_key, id, "
        f"len(tools) > 0 as has_tools from read_parquet(?, {NO_PATH})",
        [[str(folder / path) for path in paths]],
    )
    ((has_tools,),) = con.execute("select coalesce(bool_or(has_tools), false) from written").fetchall()
    corpora = read_rows(con, _CORPORA)
    counts = {path: of for corpus in ledger["corpora"].values() for path, of in corpus["files"].items()}
    filled = [path for path in paths if counts[path]["examples"]]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(plain=plain, link=_link, counted=counted)
    metadata = yaml.safe_dump(_metadata(filled, corpora, has_tools), sort_keys=False, allow_unicode=True, width=1_000)
    page = environment.get_template(TEMPLATE).render(
        metadata=Markup(metadata),  # noqa: S704 it is YAML
        command=_fenced(command(ledger, selection)),
        version=importlib.metadata.version("dialogue-warehouse"),
        ledger=ledger,
        has_tools=has_tools,
        corpora=corpora,
        licenses=sorted({corpus["license"] for corpus in corpora}),
        splits=read_rows(con, _SPLITS),
        defects=read_rows(con, _DEFECTS),
        risky=read_rows(con, _RISKY),
        fates={corpus_id: list(_losses(of_corpus["tables"])) for corpus_id, of_corpus in ledger["corpora"].items()},
        no_split=NO_SPLIT,
        as_text=AS_TEXT,
    )
    (folder / CARD).write_text(page, encoding="utf-8")


def command(ledger: dict[str, Any], selection: Selection) -> str:
    """Return the command that writes the same export."""
    words = ["dialogue-warehouse", "export", "--form", ledger["form"], "--to", "DIR"]
    if keys := ", ".join(map(literal, sorted(set(selection.keys)))):
        condition = f"dialogue_key in ({keys})"
        where = condition if selection.where is None else f"{condition} and ({selection.where}\n)"
        selection = replace(selection, keys=(), where=where)
    given = asdict(selection)
    defaults = {field.name: field.default for field in fields(Selection)}
    options = {name: value for name, value in given.items() if value != defaults[name]}
    options |= {name: value for name, value in ledger["options"].items() if value not in (None, False)}
    for name, value in options.items():
        words.append(f"--{OPTIONS.get(name, name).replace('_', '-')}")
        if value is not True:
            words.append(",".join(value) if isinstance(value, tuple) else str(value))
    return shlex.join(words)


def plain(text: object) -> Markup:
    """Return a text as one line that Markdown shows as it is."""
    line = visible(" ".join(str(text).split()))
    return Markup(MARKS.sub(r"\\\1", str(escape(line))))  # noqa: S704 it is escaped


def _link(address: str | None) -> Markup:
    """Return a URL as a link; anything else as text."""
    if address and ADDRESS.fullmatch(address):
        return Markup(f"<{address}>")  # noqa: S704 it has no mark of HTML
    return plain(address or "none stated")


def _fenced(text: str) -> Markup:
    """Return a text as a block of code, whatever is in it."""
    fence = "`" * (1 + max([2, *(len(run) for run in re.findall("`+", text))]))
    return Markup(f"{fence}\n{text}\n{fence}")  # noqa: S704 in the block nothing has a meaning


def _metadata(paths: Sequence[str], corpora: list[dict[str, Any]], has_tools: bool) -> dict[str, Any]:
    """Return what the Hub and `datasets` read: how the files are loaded, and words to search for."""
    examples = sum(corpus["examples"] for corpus in corpora)
    size = next((size for power, size in enumerate(SIZES, 3) if examples < 10**power), "n>10M")
    languages = {registry.load_corpus(corpus["corpus_id"]).language for corpus in corpora} - {None}
    names = ", ".join(corpus["corpus_id"] for corpus in corpora)
    tags = ["conversational", "dialogue", *(["tool-calling"] if has_tools else [])]
    return {
        "pretty_name": f"Dialogues of {names or 'no corpus'}",
        "license": sorted({_license(corpus["license"]) for corpus in corpora}),
        "language": sorted(language for language in languages if language),
        "size_categories": [size],
        "task_categories": ["text-generation"],
        "tags": [*tags, *(corpus["corpus_id"] for corpus in corpora)],
        "configs": list(_configs(paths)),
    }


def _license(name: str | None) -> str:
    """Return the Hub's identifier of a license."""
    if name is None or name in NOT_STATED:
        return "unknown"
    return name.lower() if name.lower() in LICENSES else "other"


def _configs(paths: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield how the files are loaded: every corpus, and all of them; each with JSON values, and with texts.

    A file without examples is left out, because `datasets` cannot open a split without rows.
    """
    of_corpora: dict[str, list[str]] = {}
    for path in paths:
        of_corpora.setdefault(path.partition("/")[0], []).append(path)
    groups = ({ALL: list(paths)} if len(of_corpora) > 1 else {}) | of_corpora
    for end in ("", AS_TEXT):
        for name, of_group in groups.items():
            config: dict[str, Any] = {"config_name": f"{name}{end}"}
            if config["config_name"] == next(iter(groups)):
                config["default"] = True
            yield config | {"data_files": list(_data_files(of_group, end))}


def _data_files(paths: Sequence[str], end: str) -> Iterator[dict[str, Any]]:
    """Yield the files of each split."""
    for split in SPLITS:
        found = [path.replace("/", f"{end}/") for path in paths if Path(path).name.partition("-")[0] == split]
        if found:
            yield {"split": split, "path": found}


def _losses(tables: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the sums of the fates of each table, without the keys that are in `source`."""
    for table in tables:
        columns = [each for each in table["columns"] if each["column"] not in losses.IN_SOURCE | {"turn_key"}]
        yield {"table": table["table"]} | {fate: sum(each[fate] for each in columns) for fate in losses.FATES}


_CORPORA = """
    select
        corpora.corpus_id, corpora.title, corpora.homepage, corpora.license, corpora.citation, corpora.release,
        corpora.is_generated,
        count(*) as examples,
        count(distinct written.dialogue_key) as dialogues
    from written
    inner join dim_corpora as corpora on written.corpus_id = corpora.corpus_id
    group by all
    order by corpora.corpus_id
"""
_SPLITS = f"""
    select
        corpus_id,
        coalesce(split, '{NO_SPLIT}') as split,
        count(distinct dialogue_key) as dialogues,
        count(*) as examples
    from written
    group by corpus_id, coalesce(split, '{NO_SPLIT}')
    order by corpus_id, list_position({list(SPLITS)}, coalesce(written.split, '{NO_SPLIT}'))
"""
_DEFECTS = """
    with
    found as (
        select corpus_id, rule_id, count(*) as violations, count(distinct dialogue_key) as dialogues
        from quality.violations
        where kind = 'defect' and dialogue_key in (select dialogue_key from written)
        group by corpus_id, rule_id
    )

    select
        found.corpus_id, found.rule_id, found.violations, found.dialogues,
        any_value(rules.title order by rules.corpus_id nulls last) as title
    from found
    left join quality.violation_rules as rules
        on found.rule_id = rules.rule_id and found.corpus_id = coalesce(rules.corpus_id, found.corpus_id)
    group by all
    order by found.corpus_id, found.violations desc, found.rule_id
"""
_RISKY = """
    with
    risky as (
        select corpus_id, count(*) as turns
        from quality.annotation_risk
        where defects_here > 0 and dialogue_key in (select dialogue_key from written)
        group by corpus_id
    )

    select
        dialogues.corpus_id,
        sum(dialogues.turn_count) as turns,
        coalesce(any_value(risky.turns), 0) as with_defect
    from dim_dialogues as dialogues
    left join risky on dialogues.corpus_id = risky.corpus_id
    where dialogues.dialogue_key in (select dialogue_key from written)
    group by dialogues.corpus_id
    order by dialogues.corpus_id
"""
