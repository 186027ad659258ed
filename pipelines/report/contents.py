"""What the pages of the report say: rows of the published tables, and what the declarations add to them.

Every number is read from the database. Two things are not in it and come from the clone: how many files a release
lists, and the arguments of an expectation, as this version of the project declares them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from expectations.suites import Expectation, load_suites
from pipelines.building import dbt
from pipelines.corpora import registry
from pipelines.corpora.declarations import DeclarationError
from pipelines.paths import WarehousePaths
from pipelines.reading import catalog, findings
from pipelines.reading.connection import Connection

CASES_SHOWN = 50
"""Cases of a rule that its page lists."""
BUILDS_SHOWN = 10
"""Builds whose results are shown beside each other, the newest."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Contents:
    """Everything that the pages show."""

    build: Row
    """The row of this build in `quality.builds`."""
    builds: list[Row]
    """The builds shown, newest first, this one among them."""
    older_builds: int
    """Builds of which the database knows and that are not shown."""
    corpora: list[Row]
    changes: list[str]
    """What is different from the build before, a sentence each."""
    claims: list[Row]
    rules: list[Row]
    suites: dict[str, list[Row]]
    tables: list[Row]
    lineage: dict[str, Row] = field(default_factory=dict)
    """By model: what it is built from and what is built from it; empty where dbt's manifest is not there."""


def read(con: Connection, paths: WarehousePaths) -> Contents:
    """Read the contents from an open published build; its own row is the newest of `quality.builds`."""
    builds = _rows(con, "select * from quality.builds order by started_at desc, build_id desc")
    shown = builds[:BUILDS_SHOWN]
    results = _rows(
        con,
        "select * from quality.expectation_results where list_contains(?, build_id) order by suite, expectation",
        [[build["build_id"] for build in shown]],
    )
    suites = _suites(results, [build["build_id"] for build in shown])
    claims = _rows(con, findings.claims_query((), verdict=None, only_unexpected=False, is_short=False))
    return Contents(
        build=builds[0],
        builds=shown,
        older_builds=len(builds) - len(shown),
        corpora=_corpora(con, builds[0]["build_id"]),
        changes=_changes(builds[0], builds[1], suites) if len(builds) > 1 else [],
        claims=claims,
        rules=_rules(con),
        suites=suites,
        tables=_tables(con),
        lineage=_lineage(paths),
    )


def _rows(con: Connection, query: str, parameters: list[Any] | None = None) -> list[Row]:
    found = con.execute(query, parameters)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _corpora(con: Connection, build_id: str) -> list[Row]:
    """A line a corpus: how much of it is there, and what was found out about it."""
    rows = _rows(
        con,
        """
        with

        files as (
            select
                corpus_id,
                count(*) as files_present,
                count(*) filter (where verification = 'verified') as files_verified,
                count(*) filter (where verification = 'simulated') as files_generated
            from core.dim_source_files
            group by corpus_id
        ),

        verdicts as (
            select
                corpus_id,
                count(*) filter (where verdict = 'reproduced' and is_as_recorded) as reproduced,
                count(*) filter (where verdict = 'refuted' and is_as_recorded) as refuted_as_recorded,
                count(*) filter (where not is_as_recorded) as unexpected,
                count(*) filter (where verdict = 'source_absent') as source_absent,
                count(*) filter (where verdict = 'not_checkable') as not_checkable
            from quality.claim_checks
            group by corpus_id
        ),

        outcomes as (
            select
                suite,
                count(*) filter (where success) as passed,
                count(*) filter (where not success) as not_passed
            from quality.expectation_results
            where build_id = ?
            group by suite
        )

        select
            overview.*,
            corpora.homepage,
            coalesce(files.files_present, 0) as files_present,
            coalesce(files.files_verified, 0) as files_verified,
            coalesce(files.files_generated, 0) as files_generated,
            coalesce(verdicts.reproduced, 0) as reproduced,
            coalesce(verdicts.refuted_as_recorded, 0) as refuted_as_recorded,
            coalesce(verdicts.unexpected, 0) as unexpected,
            coalesce(verdicts.source_absent, 0) as source_absent,
            coalesce(verdicts.not_checkable, 0) as not_checkable,
            coalesce(outcomes.passed, 0) as passed,
            coalesce(outcomes.not_passed, 0) as not_passed
        from analytics.corpus_overview as overview
        inner join core.dim_corpora as corpora
            on overview.corpus_id = corpora.corpus_id
        left join files
            on overview.corpus_id = files.corpus_id
        left join verdicts
            on overview.corpus_id = verdicts.corpus_id
        left join outcomes
            on overview.corpus_id = outcomes.suite
        order by overview.corpus_id
        """,
        [build_id],
    )
    known = set(registry.corpus_ids())
    for row in rows:
        files = registry.load_corpus(row["corpus_id"]).files if row["corpus_id"] in known else ()
        row["files_listed"] = sum(not file.is_documentation for file in files)
    return rows


def _rules(con: Connection) -> list[Row]:
    """The rules, broken ones first, each with its first cases: of its corpus, or of all corpora."""
    rules = _rows(con, "select * from quality.violation_rules")
    cases = _rows(
        con,
        f"""
        select *
        from quality.violations
        qualify
            row_number() over (
                partition by rule_id, corpus_id order by source_file_id, record_index, turn_index, detail, row_key
            ) <= {CASES_SHOWN}
        order by rule_id, corpus_id, source_file_id, record_index, turn_index, detail, row_key
        """,
    )
    counts = _rows(con, "select rule_id, corpus_id, count(*) as observed from quality.violations group by all")
    listed = {rule["rule_id"] for rule in rules}
    nothing = dict.fromkeys(("corpus_id", "title", "description", "upstream_reference", "expected", "why"))
    for rule_id in sorted({row["rule_id"] for row in counts} - listed):
        observed = sum(row["observed"] for row in counts if row["rule_id"] == rule_id)
        rules.append(nothing | {"rule_id": rule_id, "observed": observed, "is_guarded": False})
    for rule in rules:
        own = [
            case
            for case in cases
            if case["rule_id"] == rule["rule_id"] and rule["corpus_id"] in (None, case["corpus_id"])
        ]
        for case in own:
            case["key"] = case.get("row_key") or _turn_key(case)
            rule["upstream_reference"] = rule["upstream_reference"] or case["upstream_reference"]
        rule["cases"] = own[:CASES_SHOWN]
    return sorted(rules, key=lambda rule: (not rule["observed"], rule["corpus_id"] or "", rule["rule_id"]))


def _turn_key(case: Row) -> str | None:
    if case["dialogue_key"] is None or case["turn_index"] is None:
        return case["dialogue_key"]
    return f"{case['dialogue_key']}/{case['turn_index']}"


def _suites(results: list[Row], builds: list[str]) -> dict[str, list[Row]]:
    """By suite: each expectation with its last result and, by build from the oldest, whether it held."""
    declared = _declared()
    histories: dict[tuple[str, str], dict[str, Row]] = defaultdict(dict)
    for result in results:
        histories[result["suite"], result["expectation"]][result["build_id"]] = result
    suites: dict[str, list[Row]] = defaultdict(list)
    for (suite, name), history in histories.items():
        newest = next(history[build_id] for build_id in builds if build_id in history)
        expectation = declared.get((suite, name))
        suites[suite].append(
            newest
            | {
                "is_current": builds[0] in history,
                "history": [history.get(build_id) for build_id in reversed(builds)],
                "type": expectation and expectation.type,
                "why": expectation and expectation.why,
                "arguments": _arguments(expectation.kwargs) if expectation else [],
                "query": expectation and expectation.kwargs.get("query"),
            }
        )
    return dict(suites)


def _declared() -> Mapping[tuple[str, str], Expectation]:
    try:
        suites = load_suites()
    except DeclarationError:  # a room that is being edited must not take the report of a published build away
        return {}
    return {(suite.name, entry.expectation_id): entry for suite in suites for entry in suite.expectations}


def _arguments(kwargs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The arguments of an expectation in words; its query is shown on its own."""
    told = []
    for name, value in kwargs.items():
        if name == "row_condition":
            told.append(("only rows where", _condition(value)))
        elif name != "query":
            told.append((name.replace("_", " "), _value(value)))
    return told


def _condition(condition: Mapping[str, Any]) -> str:
    if condition["type"] == "and":
        return " and ".join(_condition(part) for part in condition["conditions"])
    operator = {"==": "is", "IN": "is one of"}.get(condition["operator"], condition["operator"])
    return f"{condition['column']['name']} {operator} {_value(condition['parameter'])}"


def _value(value: Any) -> str:
    match value:
        case {"$PARAMETER": name}:
            return f"the build's {str(name).replace('_', ' ')}"
        case list() if not any(isinstance(element, list | dict) for element in value):
            return ", ".join(map(str, value))
        case list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def _changes(build: Row, before: Row, suites: Mapping[str, list[Row]]) -> list[str]:
    """What is different from the build before, a sentence each."""
    told = []
    for name in ("source", "corpora", "code_version"):
        if build[name] != before[name]:
            told.append(f"{name.replace('_', ' ')}: {build[name]}, before {before[name]}")
    for name in ("dialogue_count", "turn_count", "action_count", "slot_count", "violation_count"):
        difference = (build[name] or 0) - (before[name] or 0)
        if difference:
            noun = name.removesuffix("_count").replace("_", " ")
            told.append(f"{noun}s: {build[name] or 0:,}, {difference:+,}")
    kinds: dict[str, list[str]] = defaultdict(list)
    for suite, expectations in suites.items():
        for entry in expectations:
            earlier, now = entry["history"][-2:]
            kind = _outcome_change(earlier, now)
            if kind:
                kinds[kind].append(f"{suite}: {entry['expectation']}")
    for kind, names in sorted(kinds.items()):
        first = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        told.append(f"{len(names)} expectation{'' if len(names) == 1 else 's'} {kind}: {first}")
    return told


def _outcome_change(earlier: Row | None, now: Row | None) -> str | None:
    if earlier is None or now is None:
        return None if earlier is now else "new" if now else "no longer judged"
    if earlier["success"] != now["success"]:
        return "now pass" if now["success"] else "no longer pass"
    return "with another observed value" if earlier["observed"] != now["observed"] else None


def _tables(con: Connection) -> list[Row]:
    """Every published table with its rows and columns, as the database's own comments describe them."""
    comments = _rows(
        con, "select schema_name, table_name, comment from duckdb_tables() where database_name = 'dialogues'"
    )
    columns: dict[tuple[str, str], list[catalog.ColumnDescription]] = defaultdict(list)
    for schema, table, *described in con.execute(
        """
        select schema_name, table_name, column_name, data_type, comment
        from duckdb_columns()
        where database_name = 'dialogues'
        order by column_index
        """
    ).fetchall():
        columns[schema, table].append(catalog.ColumnDescription(*described))
    by_name = {(row["schema_name"], row["table_name"]): row["comment"] for row in comments}
    return [
        {
            "schema": table.schema,
            "table": table.table,
            "rows": table.rows,
            "comment": by_name[table.schema, table.table],
            "columns": columns[table.schema, table.table],
        }
        for table in catalog.list_tables(con)
    ]


class _Depends(msgspec.Struct):
    nodes: list[str] = []


class _Node(msgspec.Struct):
    resource_type: str = ""
    depends_on: _Depends = msgspec.field(default_factory=_Depends)


class _Manifest(msgspec.Struct):
    nodes: dict[str, _Node] = {}


def _lineage(paths: WarehousePaths) -> dict[str, Row]:
    """By model: the models and sources that it reads (`reads`) and the models that read it (`read_by`)."""
    try:
        manifest = msgspec.json.decode(dbt.manifest_path(paths).read_bytes(), type=_Manifest)
    except (FileNotFoundError, msgspec.MsgspecError):
        return {}
    reads = {
        _model_name(name): sorted(_model_name(parent) for parent in node.depends_on.nodes)
        for name, node in manifest.nodes.items()
        if node.resource_type == "model"
    }
    lineage: dict[str, Row] = {name: {"reads": parents, "read_by": []} for name, parents in reads.items()}
    for name, parents in sorted(reads.items()):
        for parent in parents:
            if parent in lineage:
                lineage[parent]["read_by"].append(name)
    return lineage


def _model_name(unique_id: str) -> str:
    """`fct_turns` of a model, `<source>.<table>` of a source."""
    return unique_id.split(".", 2)[2]
