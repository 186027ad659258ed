"""The pages of claims, defects, expectations and builds as the server shows them: in parts, filtered by address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.datastructures import QueryParams

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.findings import SEGMENTS, Row, read_rows
from dialogue_warehouse.site import drawing
from dialogue_warehouse.site.contents import Reading
from dialogue_warehouse.site.histories import result_of
from dialogue_warehouse.site.paging import ROWS, Paging, address, filled, number, paged
from dialogue_warehouse.site.report import outcome
from dialogue_warehouse.site.results import turn_key

CASES_LISTED = 3
"""Cases of a rule in the list of rules; the page of one rule has all of them."""
FIGURES = {
    "dialogue_count": "Dialogues",
    "turn_count": "Turns",
    "action_count": "Actions",
    "slot_count": "Slots",
    "violation_count": "Defects",
}
"""The numbers of a build, and their names on the page."""
OF_RULE = "from quality.violations where rule_id = $rule and $corpus in ('', corpus_id)"
CASES = f"""
    select *
    {OF_RULE}
    order by source_file_id, record_index, turn_index, detail, row_key, other_key, occurrence
    limit {ROWS} offset $start
"""
EXCLUDED = "does not match the other filters of this URL"
"""Said of a claim or a rule that exists."""
CHANGES = """
    select *
    from quality.build_changes
    where build_id = $build
    order by kind, corpus_id nulls first, table_name, change
"""


class Links:
    """The URLs of dialogues: the server has a page for each."""

    def address(self, key: str | None, turn_index: int | None = None) -> str | None:
        """Return the URL of a dialogue with the row of a key, and its turn in sight."""
        segments = (key or "").split("/")
        if len(segments) < SEGMENTS:
            return None
        turn = "" if turn_index is None else str(turn_index)
        if not turn and len(segments) > SEGMENTS and segments[SEGMENTS].isdecimal():
            turn = segments[SEGMENTS]  # `int` refuses a text of thousands of digits
        return address("dialogues", [("key", key)], turn and f"turn-{turn}")


class Found:
    """The contents of the report's pages, with other URLs for dialogues."""

    conversations = Links()

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reading, name)


def _asked(parameters: QueryParams, *names: str) -> dict[str, str]:
    return filled({name: parameters.get(name, "") for name in names})


def _has_words(row: Row, words: str) -> bool:
    text = " ".join(_texts(row)).lower()
    return all(word in text for word in words.lower().split())


def _texts(value: object) -> Iterator[str]:
    """Yield the texts and numbers in a value, not the names of columns, which no page shows."""
    match value:
        case None | bool():
            return
        case dict() | list():
            for inner in value.values() if isinstance(value, dict) else value:
                yield from _texts(inner)
        case _:
            yield str(value)


def _part(page: str, rows: list[Row], asked: dict[str, str], parameters: QueryParams) -> tuple[list[Row], Paging]:
    """Return the part of a list that a URL asks for."""
    shown = paged(
        len(rows), number(parameters.get("page")), lambda other: address(page, [*asked.items(), ("page", other)])
    )
    return rows[shown.start : shown.last], shown


def claims(reading: Reading, parameters: QueryParams) -> dict[str, Any]:
    """Return the claims that a URL asks for. Raises InputError if it names one that does not exist."""
    asked = _asked(parameters, "corpus", "outcome", "voice", "files", "kind", "document", "search", "claim")
    columns = {
        "corpus": "corpus_id",
        "voice": "quotes_whom",
        "files": "judged_on",
        "kind": "kind",
        "document": "document_title",
        "claim": "claim_id",
    }
    rows = [
        claim
        for claim in reading.claims
        if all(claim[column] == asked[name] for name, column in columns.items() if name in asked)
        and asked.get("outcome") in (None, outcome(claim))
        and _has_words(claim, asked.get("search", ""))
    ]
    if "claim" in asked and not rows:
        is_known = any(claim["claim_id"] == asked["claim"] for claim in reading.claims)
        raise InputError(
            f"the claim '{asked['claim']}' {EXCLUDED}" if is_known else f"there is no claim '{asked['claim']}'"
        )
    listed, paging = _part("claims.html", rows, asked, parameters)
    return {"listed": listed, "paging": paging, "asked": asked}


def rules(reading: Reading, con: Connection, parameters: QueryParams) -> dict[str, Any]:
    """Return the rules that a URL asks for, or one rule with a part of its cases.

    Raises InputError if it names one that does not exist.
    """
    asked = _asked(parameters, "corpus", "kind", "broken", "search", "rule")
    rows = [rule for rule in (_of_corpus(one, asked.get("corpus")) for one in reading.rules) if _is_asked(rule, asked)]
    is_of_several = len(rows) > 1 and "corpus" not in asked and all(rule["corpus_id"] for rule in rows)
    if "rule" in asked and is_of_several:  # none of them has all cases
        asked["search"] = asked.pop("rule")
    if "rule" not in asked:
        listed, paging = _part("violations.html", rows, asked, parameters)
        return {
            "listed": [rule | {"cases": rule["cases"][:CASES_LISTED]} for rule in listed],
            "paging": paging,
            "asked": asked,
        }
    if not rows:
        named = {name: asked[name] for name in ("rule", "corpus") if name in asked}
        is_known = any(_is_asked(_of_corpus(one, asked.get("corpus")), named) for one in reading.rules)
        raise InputError(
            f"the rule '{asked['rule']}' {EXCLUDED}"
            if is_known
            else _absent(reading, asked["rule"], asked.get("corpus"))
        )
    rule = next((rule for rule in rows if rule["corpus_id"] == asked.get("corpus")), rows[0])
    values = {"rule": rule["rule_id"], "corpus": asked.get("corpus") or rule["corpus_id"] or ""}
    ((total,),) = con.execute(f"select count(*) {OF_RULE}", values).fetchall()
    paging = paged(
        total,
        number(parameters.get("page")),
        lambda other: address("violations.html", [*asked.items(), ("page", other)]),
    )
    read = read_rows(con, CASES, values | {"start": paging.start})
    cases = [case | {"key": case.get("row_key") or turn_key(case)} for case in read]
    return {"listed": [rule | {"cases": cases}], "paging": paging, "asked": asked}


def _absent(reading: Reading, rule_id: str, corpus: str | None) -> str:
    """Return why a rule has no page: it does not exist, or it is of all corpora and has no case in this one."""
    is_shared = any(rule["rule_id"] == rule_id and rule["corpus_id"] is None for rule in reading.rules)
    if is_shared and corpus in {row["corpus_id"] for row in reading.corpora}:
        return f"the rule '{rule_id}' has no case in '{corpus}'"
    return f"there is no rule '{rule_id}'" + (f" of '{corpus}'" if corpus else "")


def _of_corpus(rule: Row, corpus: str | None) -> Row:
    """Return a rule with the cases of a corpus alone, if the rule is of all corpora and a corpus is given."""
    return rule | rule["of_corpora"].get(corpus, {})


def _is_asked(rule: Row, asked: dict[str, str]) -> bool:
    return (
        ("corpus" not in asked or asked["corpus"] in rule["corpora"])
        and asked.get("kind") in (None, rule["kind"] or "defect")
        and asked.get("broken") in (None, "yes" if rule["observed"] else "no")
        and asked.get("rule") in (None, rule["rule_id"])
        and _has_words(
            {name: value for name, value in rule.items() if name not in ("of_corpora", "apart", "in_dialogues")},
            asked.get("search", ""),
        )
    )


def expectations(reading: Reading, parameters: QueryParams) -> dict[str, Any]:
    """Return the expectations that a URL asks for."""
    asked = _asked(parameters, "suite", "result", "severity", "search")
    rows = [
        entry
        for entries in reading.suites.values()
        for entry in entries
        if asked.get("suite") in (None, entry["suite"])
        and asked.get("result") in (None, result_of(entry))
        and asked.get("severity") in (None, entry["severity"])
        and _has_words({name: value for name, value in entry.items() if name != "history"}, asked.get("search", ""))
    ]
    listed, paging = _part("expectations.html", rows, asked, parameters)
    return {"listed": listed, "paging": paging, "asked": asked}


def builds(con: Connection, parameters: QueryParams) -> dict[str, Any]:
    """Return the builds, a chart of one of their numbers, and what one of them changed.

    Raises InputError if the URL names a build that does not exist.
    """
    every = read_rows(con, "select * from quality.builds order by build_id desc")
    known = every[:ROWS]
    figure = parameters.get("figure", "")
    figure = figure if figure in FIGURES else next(iter(FIGURES))
    build = parameters.get("build", "")
    if build and build not in {row["build_id"] for row in every}:
        raise InputError(f"there is no build '{build}' in quality.builds")
    history = [(row["build_id"], [row[figure]]) for row in reversed(known)]
    return {
        "builds": known,
        "total": len(every),
        "figures": FIGURES,
        "figure": figure,
        "build": build,
        "chart": drawing.bars("Build", [FIGURES[figure]], history),
        "changes": read_rows(con, CHANGES, {"build": build}) if build else [],
    }
