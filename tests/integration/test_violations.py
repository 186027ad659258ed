"""Each rule finds its defects at their places, and no similar rows; `defective_release` has the cases of both kinds.

The counts on the real files are computed a second time here, in plain Python from the JSON.
"""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import ENOUGH_READ
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.reading.findings import violations_query
from tests import fixtures
from tests.fixtures.shapes import EXTRA_PART, TIMES, Again, Broken, Case, Never, unchanged
from tests.integration.defective_release import BROKEN, place

SHARED = CLONE / "dialogue_warehouse" / "corpora" / "defects.toml"
KEYS = {"id", "kind", "title", "description", "upstream", "expected", "files", "why", "precision"}
ELSEWHERE = {"lossy_form"}
"""Rules about another form of a release, which test_huggingface_form breaks."""
CASES = [
    pytest.param(corpus_id, case, id=f"{corpus_id}-{case.rule_id}")
    for corpus_id, broken in BROKEN.items()
    for case in broken.CASES
]
DOCUMENTED = f"(coalesce(split_part(dialogue_key, '/', 2), '') <> '{EXTRA_PART}')"
"""Return whether a violation is outside the parts that only the defective releases have."""
FILES = {corpus_id: f"{corpus_id}/{broken.FILE}" for corpus_id, broken in BROKEN.items()}
PLACES = " ".join(
    f"when source_file_id = '{FILES[corpus_id]}' then {broken.PLACE}" for corpus_id, broken in BROKEN.items()
)
VIOLATIONS = f"(select * replace (case {PLACES} else record_index end as record_index) from quality.violations)"
CORPORA = tuple(BROKEN)
FOR_ALL = "select rule_id from quality.violation_rules where corpus_id is null"
RECOUNTED = fixtures.load_all("recount")


@pytest.fixture(scope="module")
def con(defective_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return the warehouse of the defective releases."""
    with duckdb.connect(str(defective_folder / "dialogues.duckdb"), read_only=True) as connection:
        yield connection


def violations(con: duckdb.DuckDBPyConnection, where: str, columns: str) -> list[tuple[Any, ...]]:
    return con.execute(f"select {columns} from {VIOLATIONS} where {where} order by all").fetchall()


def quoted(names: Iterable[str]) -> str:
    """Return the names as a list in SQL, which is never empty."""
    return ", ".join(f"'{name}'" for name in ("", *names))


@pytest.mark.parametrize(("corpus_id", "case"), CASES)
def test_rule_finds_its_defect_and_not_the_near_miss(
    con: duckdb.DuckDBPyConnection, corpus_id: str, case: Case
) -> None:
    record = place(corpus_id, case)
    found = violations(
        con,
        f"source_file_id = '{FILES[corpus_id]}' and {DOCUMENTED} "
        f"and rule_id not in ({quoted(BROKEN[corpus_id].ALWAYS)}) "
        f"and (record_index in ({record}, {record + 1}) or (record_index is null "
        f"and (contains(detail, '/{record}/') or contains(detail, '/{record + 1}/'))))",
        "rule_id, record_index, turn_index, detail",
    )
    expected_record = None if case.rule_id == "unknown_key" else record
    detail = case.detail.replace("RECORD", str(record))
    assert [row for row in found if row[0] not in case.also] == [(case.rule_id, expected_record, case.turn, detail)]
    assert [row[:2] for row in found if row[0] in case.also] == [(rule_id, record) for rule_id in sorted(case.also)]


REPEATED = [
    pytest.param(corpus_id, case, times, id=f"{corpus_id}-{case.rule_id}-{times}")
    for corpus_id, broken in BROKEN.items()
    for case in broken.CASES
    if case.is_repeated
    for times in TIMES
]


@pytest.mark.parametrize(("corpus_id", "case", "times"), REPEATED)
def test_rule_that_is_broken_again_at_one_place_has_a_row_each_time(
    con: duckdb.DuckDBPyConnection, corpus_id: str, case: Case, times: int
) -> None:
    """A publication may break a rule more than once at one place, with the same text too, and is still built.

    Overlapping annotations of equal text are real: https://github.com/chanzuckerberg/MedMentions/issues/13.
    """
    assert isinstance(case.again, Again)
    record = place(corpus_id, case) + 1 + TIMES.index(times) + 1
    found = violations(
        con,
        f"source_file_id = '{FILES[corpus_id]}' and rule_id = '{case.rule_id}' "
        f"and (record_index = {record} or (record_index is null and contains(detail, '/{record}/')))",
        "turn_index",
    )
    assert found == [(case.turn,)] * case.again.row_count(times)


def test_cases_with_the_same_rows_are_numbered_in_the_order_of_their_texts(con: duckdb.DuckDBPyConnection) -> None:
    """The same rows break a rule again, with different texts and with equal ones, and the numbers have no gaps."""
    rows = "rule_id, source_file_id, record_index, row_key, other_key"
    wrong = con.execute(
        f"select * from quality.violations qualify occurrence <> row_number() over (partition by {rows} "
        f"order by detail, occurrence) - 1"
    ).fetchall()
    assert wrong == []
    most, texts = con.execute(
        f"select max(cases), min(texts) from (select count(*) as cases, count(distinct detail) as texts "
        f"from quality.violations where row_key is not null group by {rows} having count(*) > 2)"
    ).fetchall()[0]
    assert most > 2
    assert texts == 1


def test_violation_has_the_service_and_the_slot_of_its_row(con: duckdb.DuckDBPyConnection) -> None:
    named = []
    for table, key, columns in (
        ("fct_slots", "slot_key", {"service": "service", "slot_name": "slot_name"}),
        ("fct_actions", "action_key", {"service": "service", "slot_name": "slot_name"}),
        ("fct_frames", "frame_key", {"service": "service"}),
        ("fct_service_calls", "call_key", {"service": "service"}),
        ("fct_service_results", "result_key", {"service": "service"}),
        ("dim_slots", "slot_definition_key", {"service": "service", "slot_name": "slot"}),
        ("dim_intents", "intent_key", {"service": "service"}),
        ("dim_services", "service_definition_key", {"service": "service"}),
    ):
        for column, of_row in columns.items():
            joined = f"from quality.violations as found inner join core.{table} as named on found.row_key = named.{key}"
            differing = con.execute(
                f"select found.rule_id, found.{column}, named.{of_row} {joined} "
                f"where found.{column} is distinct from named.{of_row}"
            ).fetchall()
            assert differing == []
            named += con.execute(f"select named.{of_row} {joined} where named.{of_row} is not null").fetchall()
    assert named


def test_violation_joins_to_the_row_of_its_key(con: duckdb.DuckDBPyConnection) -> None:
    """Only lines of the split files have no key column: their key is the file and the number of the line."""
    columns = con.execute(
        "select table_name, column_name from duckdb_columns() "
        "where schema_name = 'core' and column_index = 1 and column_name like '%\\_key' escape '\\'"
    ).fetchall()
    keys = " union all ".join(f"select {column} as key from core.{table}" for table, column in columns)
    lines = "select source_file_id || '/' || cast(record_index as varchar) as key from core.dim_split_members"
    for column in ("row_key", "other_key"):
        lost = f"{column} is not null and {column} not in ({keys} union all {lines})"
        assert violations(con, lost, f"distinct rule_id, {column}") == []
        assert violations(con, f"{column} is not null", "rule_id")


def test_every_other_key_leads_to_its_place(con: duckdb.DuckDBPyConnection) -> None:
    assert violations(con, "other_key is not null and core.json_pointer(other_key) is null", "rule_id, other_key") == []
    assert violations(con, "other_key is not null", "rule_id")


@pytest.mark.parametrize("corpus_id", BROKEN)
def test_clean_record_breaks_no_rule(con: duckdb.DuckDBPyConnection, corpus_id: str) -> None:
    place = f"source_file_id = '{FILES[corpus_id]}' and record_index = 0 and {DOCUMENTED}"
    found = violations(con, place, "distinct rule_id")
    assert {rule_id for (rule_id,) in found} == BROKEN[corpus_id].ALWAYS


@pytest.mark.parametrize("corpus_id", BROKEN)
def test_rules_about_other_files_find_their_defects_and_nothing_else(
    con: duckdb.DuckDBPyConnection, corpus_id: str
) -> None:
    broken = BROKEN[corpus_id]
    found = violations(
        con,
        f"corpus_id = '{corpus_id}' and rule_id not in ({quoted(broken.ALWAYS)}) and (source_file_id <> "
        f"'{FILES[corpus_id]}' or not {DOCUMENTED} or (record_index is null and rule_id <> 'unknown_key'))",
        "source_file_id, record_index, rule_id, detail",
    )
    assert found == [(f"{corpus_id}/{file}", *rest) for file, *rest in sorted(broken.ELSEWHERE, key=str)]


@pytest.mark.parametrize("corpus_id", BROKEN)
def test_rule_that_the_format_itself_breaks_is_found_in_every_dialogue(
    con: duckdb.DuckDBPyConnection, corpus_id: str
) -> None:
    dialogues = con.execute(
        f"select dialogue_key from core.dim_dialogues where corpus_id = '{corpus_id}' order by all"
    ).fetchall()
    for rule_id in BROKEN[corpus_id].ALWAYS:
        found = violations(con, f"corpus_id = '{corpus_id}' and rule_id = '{rule_id}'", "dialogue_key")
        assert found == dialogues


def test_every_key_leads_to_its_place(con: duckdb.DuckDBPyConnection) -> None:
    assert violations(con, "row_key is not null and core.json_pointer(row_key) is null", "rule_id, row_key") == []
    without_key = {row[0] for row in violations(con, "row_key is null", "distinct rule_id")}
    of_corpora = {rule_id for broken in BROKEN.values() for rule_id in broken.WITHOUT_KEY}
    assert without_key == {"unknown_key", "refused_record"} | of_corpora


@pytest.mark.parametrize("corpora", [*[(corpus,) for corpus in CORPORA], CORPORA], ids="-".join)
def test_rules_of_corpora_have_the_cases_of_these_corpora(
    con: duckdb.DuckDBPyConnection, corpora: tuple[str, ...]
) -> None:
    """Regression: the rules for all corpora were left out, and then cases with a corpus' own entry counted twice."""
    query = violations_query(corpora, None, is_summary=True, detail="verbose")
    shown = con.execute(f"select rule_id, sum(observed) from ({query}) group by rule_id").fetchall()
    cases = con.execute(
        "select rule_id, count(*) from quality.violations where list_contains(?, corpus_id) group by rule_id",
        [list(corpora)],
    ).fetchall()
    assert {rule: count for rule, count in shown if count} == dict(cases)
    for_all = {rule for (rule,) in con.execute(FOR_ALL).fetchall()}
    assert for_all <= {rule for rule, _ in shown}


def test_detail_is_one_line(con: duckdb.DuckDBPyConnection, awkward_folder: Path) -> None:
    broken = "contains(detail, chr(10)) or contains(detail, chr(9)) or trim(detail) = ''"
    assert violations(con, broken, "rule_id") == []
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as awkward:
        assert violations(awkward, broken, "rule_id") == []


# --- the catalog ------------------------------------------------------------------------------------------------------


def entries(path: Path) -> list[dict[str, Any]]:
    return tomllib.loads(path.read_text(encoding="utf-8")).get("defects", [])


CATALOGUE = {
    None: entries(SHARED),
    **{name: entries(registry.corpus_folder(name) / "claims.toml") for name in registry.corpus_ids()},
}
"""Maps a corpus, or None for all corpora, to its entries."""
ENTRIES = [(corpus_id, entry) for corpus_id, listed in CATALOGUE.items() for entry in listed]


def test_every_rule_of_the_catalogue_is_broken_once_here(con: duckdb.DuckDBPyConnection) -> None:
    broken = {row[0] for row in violations(con, "true", "distinct rule_id")}
    assert broken == {entry["id"] for _, entry in ENTRIES} - ELSEWHERE


def again_unsaid(rules: set[str], broken: Broken) -> set[str]:
    """Return the rules that a corpus neither breaks twice at one place nor explains why that is impossible."""
    said = {case.rule_id for case in broken.CASES} | set(broken.NEVER_AGAIN)
    often = Counter((file, record, rule_id) for file, record, rule_id, _ in broken.ELSEWHERE)
    return rules - said - {rule_id for (*_, rule_id), number in often.items() if number >= max(TIMES)}


def test_every_rule_is_broken_three_times_at_one_place_or_says_why_not() -> None:
    unsaid = {
        corpus_id: again_unsaid({entry["id"] for entry in CATALOGUE[corpus_id]}, broken)
        for corpus_id, broken in BROKEN.items()
    }
    shared = {entry["id"] for entry in CATALOGUE[None]} - ELSEWHERE
    assert {rule_id for of_corpus in unsaid.values() for rule_id in of_corpus} - shared == set()
    assert set.intersection(*(again_unsaid(shared, broken) for broken in BROKEN.values())) == set()


def test_reason_is_given_for_rules_that_are_broken_and_no_others() -> None:
    for broken in BROKEN.values():
        elsewhere = {rule_id for _, _, rule_id, _ in broken.ELSEWHERE} | broken.ALWAYS
        assert set(broken.NEVER_AGAIN) <= elsewhere
        assert again_unsaid(elsewhere, broken) == set()


def test_rule_that_is_not_broken_again_is_named() -> None:
    never = Case("never", None, "", unchanged, unchanged, Never("a reason"))
    rows = [("f", 0, "often", "")] * 3 + [("f", 0, "twice", "")] * 2 + [("f", n, "apart", "") for n in range(3)]
    broken = SimpleNamespace(CASES=(never,), ELSEWHERE=rows, NEVER_AGAIN={"known": "a reason"})
    assert again_unsaid({"never", "often", "twice", "apart", "known"}, broken) == {"twice", "apart"}


def test_thread_of_a_row_is_the_one_of_its_corpus_or_else_of_the_rule(con: duckdb.DuckDBPyConnection) -> None:
    threads = {(corpus_id, entry["id"]): entry.get("upstream") for corpus_id, entry in ENTRIES}
    found = violations(con, "true", "distinct rule_id, corpus_id, upstream_reference")
    for rule_id, corpus_id, reference in found:
        assert reference == (threads.get((corpus_id, rule_id)) or threads.get((None, rule_id))), rule_id
    assert any(reference for *_, reference in found)


@pytest.mark.parametrize(
    ("corpus_id", "entry"),
    ENTRIES,
    ids=lambda value: str(value and value["id"]) if isinstance(value, dict) else str(value),
)
def test_entry_is_complete_and_its_files_are_listed(corpus_id: str | None, entry: dict[str, Any]) -> None:
    assert {"id", "title", "description", "why"} <= set(entry) <= KEYS
    assert entry["title"][-1] not in "."
    assert entry["description"][-1] == entry["why"][-1] == "."
    assert re.fullmatch(r"[\w-]+/[\w-]+#\d+", entry.get("upstream", "owner/name#1"))
    assert ("files" in entry) <= ("expected" in entry)
    if corpus_id:
        paths = [file.path for file in registry.load_corpus(corpus_id).files]
        assert [glob for glob in entry.get("files", []) if not fnmatch.filter(paths, glob)] == []
    else:
        assert "expected" not in entry


# --- the real files ---------------------------------------------------------------------------------------------------


def is_measurable(con: duckdb.DuckDBPyConnection, corpus_id: str, globs: list[str]) -> list[str]:
    """Return the files that match these globs; none if one of them is missing or is not the publisher's."""
    paths = [file.path for file in registry.load_corpus(corpus_id).files if not file.is_documentation]
    wanted = [f"{corpus_id}/{path}" for path in paths if any(fnmatch.fnmatchcase(path, glob) for glob in globs)]
    verified = {
        row[0]
        for row in con.execute(
            "select source_file_id from core.dim_source_files where verification = 'verified'"
        ).fetchall()
    }
    return wanted if set(wanted) <= verified else []


COUNTED = [
    pytest.param(corpus_id, entry, id=f"{corpus_id}-{entry['id']}")
    for corpus_id, entry in ENTRIES
    if corpus_id and "expected" in entry
]


@pytest.mark.parametrize(("corpus_id", "entry"), COUNTED)
def test_known_defect_is_found_as_often_as_recorded(
    real_warehouse: duckdb.DuckDBPyConnection, corpus_id: str, entry: dict[str, Any]
) -> None:
    files = is_measurable(real_warehouse, corpus_id, entry.get("files", ["*"]))
    if not files:
        pytest.skip("the files on which it was counted are not among the real data")
    listed = ", ".join(f"'{file}'" for file in files)
    found = violations(real_warehouse, f"rule_id = '{entry['id']}' and source_file_id in ({listed})", "count(*)")
    assert found == [(entry["expected"],)]


def unread(
    entries: Iterable[tuple[str | None, dict[str, Any]]], cases: Iterable[tuple[str, str, int]]
) -> dict[tuple[str | None, str], str]:
    """Return the rules whose precision does not fit their cases (corpus, rule, number), each with the problem.

    The cases of a shared rule are those of the rule, except for corpora with a separate entry for it.
    """
    described = {(corpus_id, entry["id"]): entry for corpus_id, entry in entries}
    numbers: Counter[tuple[str | None, str]] = Counter()
    for corpus_id, rule_id, number in cases:
        numbers[(corpus_id, rule_id) if (corpus_id, rule_id) in described else (None, rule_id)] += number
    wrong = {}
    for rule, entry in described.items():
        read = entry.get("precision", {"read": 0})["read"]
        needed = 0 if entry.get("kind") == "property" else min(ENOUGH_READ, numbers[rule])
        if not needed <= read <= numbers[rule]:
            wrong[rule] = f"{read} cases read of {numbers[rule]}"
    return wrong


@pytest.mark.all_corpora
def test_precision_of_every_rule_with_real_cases_is_known(
    real_warehouse: duckdb.DuckDBPyConnection, only: tuple[str, ...]
) -> None:
    cases = violations(real_warehouse, "true group by all", "corpus_id, rule_id, count(*)")
    entries = [(corpus_id, entry) for corpus_id, entry in ENTRIES if not only or corpus_id in only]
    assert unread(entries, cases) == {}


def test_rule_without_its_precision_is_named() -> None:
    precise = {"id": "gap", "precision": {"read": 40, "right": [39, 39], "agreed": 40}}
    assert unread([("a", precise)], [("a", "gap", 41)]) == {}
    assert unread([("a", precise)], [("a", "gap", 39)]) == {("a", "gap"): "40 cases read of 39"}
    assert unread([("a", {"id": "gap"})], [("a", "gap", 1)]) == {("a", "gap"): "0 cases read of 1"}
    assert unread([("a", {"id": "gap", "kind": "property"}), ("b", {"id": "gap"})], [("a", "gap", 1)]) == {}
    own_and_shared = [(None, {"id": "gap"}), ("a", precise)]
    assert unread(own_and_shared, [("a", "gap", 40)]) == {}
    assert unread(own_and_shared, [("a", "gap", 40), ("b", "gap", 3)]) == {(None, "gap"): "0 cases read of 3"}


@pytest.mark.parametrize("corpus_id", RECOUNTED)
def test_counts_in_plain_python_agree_on_real_files(
    real_warehouse: duckdb.DuckDBPyConnection, real_corpora: Path, corpus_id: str
) -> None:
    if not (real_corpora / corpus_id).is_dir():
        pytest.skip(f"no real files of {corpus_id}")
    counted = Counter(RECOUNTED[corpus_id].broken_rules(real_corpora / corpus_id))
    rules = RECOUNTED[corpus_id].RECOUNTED_RULES
    columns = f"rule_id, substr(source_file_id, {len(corpus_id) + 2}), record_index, turn_index"
    found = violations(real_warehouse, f"corpus_id = '{corpus_id}' and rule_id in ({quoted(rules)})", columns)
    assert Counter(found) == counted
    totals = Counter(rule_id for rule_id, *_ in counted.elements())
    assert set(totals) <= set(rules)
    for rule_id, number in rules.items():
        assert number is None or totals[rule_id] == number, rule_id


@pytest.mark.parametrize("corpus_id", BROKEN)
def test_embedded_sample_has_the_defects_that_are_planted_in_it(sample_warehouse: Path, corpus_id: str) -> None:
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        found = {row[0] for row in violations(con, f"corpus_id = '{corpus_id}'", "distinct rule_id")}
    assert BROKEN[corpus_id].PLANTED - found == set()
