"""The report's parts: tables side by side, escaping, and a folder that is replaced completely or not at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.catalogue import ColumnDescription, Filling
from dialogue_warehouse.reading.descriptions import Join, Links
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import contents, drawing, histories, report
from dialogue_warehouse.site.contents import KINDS, Conversations, page_name
from dialogue_warehouse.site.dictionary import draw_relations
from tests.unit.dialogues import everything

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\''
BUILD = {
    "build_id": HOSTILE,
    "started_at": datetime(2026, 1, 1),
    "finished_at": datetime(2026, 1, 1),
    "source": HOSTILE,
    "fingerprint": HOSTILE,
    "code_version": HOSTILE,
    "corpora": HOSTILE,
    "dialogue_count": 1,
    "turn_count": 2,
    "action_count": 3,
    "slot_count": 4,
    "violation_count": 5,
}
CLAIM = dict.fromkeys(
    [
        "claim_id",
        "corpus_id",
        "document",
        "document_title",
        "locator",
        "quote",
        "description",
        "severity",
        "query",
        "files",
        "why",
        "explanation",
        "recorded_reason",
        "expected",
        "recorded",
    ],
    HOSTILE,
) | {
    "document_url": "javascript:alert(1)",
    "quotes_whom": "own_measurement",
    "judged_on": "generated",
    "rows_tested": 1234,
    "is_recalled": True,
    "verdict": "refuted",
    "is_as_recorded": False,
    "kind": "count",
    "observed": f'[["{HOSTILE[:17]}", 1]]',
}
RESULT = dict.fromkeys(
    ("build_id", "suite", "expectation", "claim_id", "table_name", "observed", "severity"), HOSTILE
) | {
    "description": HOSTILE,
    "success": False,
}
CASE = dict.fromkeys(("rule_id", "corpus_id", "source_file_id", "dialogue_key", "detail", "key"), HOSTILE) | {
    "record_index": 1,
    "turn_index": 2,
    "upstream_reference": "javascript:alert(1)",
}
RULE = dict.fromkeys(("rule_id", "corpus_id", "title", "description", "why"), HOSTILE) | {
    "kind": "property",
    "upstream_reference": "javascript:alert(1)",
    "files": HOSTILE,
    "expected": 3,
    "observed": 4,
    "in_dialogues": 1,
    "observed_in_files": 4,
    "is_guarded": True,
    "cases_read": 20,
    "cases_right": 19,
    "cases_right_again": 20,
    "cases_agreed": 19,
    "cases": [CASE],
    "corpora": [HOSTILE],
    "apart": [],
}
CORPUS = (
    dict.fromkeys(("corpus_id", "title", "license"), HOSTILE)
    | {"homepage": "data:text/html,x", "carried_from": HOSTILE, "carried_because": HOSTILE}
    | dict.fromkeys(
        [
            "dialogue_count",
            "turn_count",
            "violation_count",
            "files_verified",
            "files_listed",
            "files_generated",
            "files_present",
            "reproduced",
            "refuted_as_recorded",
            "unexpected",
            "vacuous",
            "source_absent",
            "not_checkable",
            "property_count",
            "passed",
            "not_passed",
        ],
        1,
    )
)
VOICE = {"quotes_whom": "own_measurement", "judged_on": "generated", "claim_count": 77} | dict.fromkeys(
    ["reproduced", "refuted_as_recorded", "unexpected", "vacuous", "source_absent", "not_checkable"], 11
)


def changed(kind: str, change: str, cases: list[dict[str, object]], more: int = 0) -> dict[str, object]:
    """Return a row of `quality.build_changes` as its page gets it."""
    table = {"row": "core.fct_turns", "claim": "quality.claim_checks", "rule": "quality.violations", "column": None}
    return {"kind": kind, "change": change, "corpus_id": HOSTILE, "table_name": table[kind], "more": more} | {
        "cases": [{"before": None, "after": None, "anchor": None, "is_verdict": False} | case for case in cases],
        "row_count": len(cases) + more,
    }


DIFFERENCES = contents.Differences(
    BUILD,
    {
        "row": [changed("row", "added", [{"name": HOSTILE}], 7), changed("row", "removed", [{"name": "b"}])],
        "claim": [changed("claim", "changed", [{"name": HOSTILE, "before": HOSTILE, "after": f"refuted: {HOSTILE}"}])],
        "rule": [changed("rule", "changed", [{"name": HOSTILE, "before": "1", "after": "2", "anchor": HOSTILE}])],
        "column": [changed("column", "changed", [{"name": HOSTILE}])],
    },
)


class Tags(HTMLParser):
    """Collect the elements of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def hostile() -> contents.Contents:
    entry = RESULT | {
        "is_current": True,
        "history": [None, RESULT],
        "type": HOSTILE,
        "why": HOSTILE,
        "arguments": [(HOSTILE, HOSTILE)],
        "query": HOSTILE,
    }
    column = ColumnDescription(HOSTILE, HOSTILE, HOSTILE, Filling({HOSTILE: 0.5, "b": 1.0}, HOSTILE))
    table = {"schema": HOSTILE, "table": HOSTILE, "rows": 1, "comment": HOSTILE, "columns": [column]} | {
        "links": Links((HOSTILE,), (Join((HOSTILE,), f"core.{HOSTILE}", (HOSTILE * 2,)),), (f"core.{HOSTILE}",))
    }
    dialogue = everything(HOSTILE)
    lineage = {HOSTILE: {"reads": [HOSTILE], "read_by": [HOSTILE]}}
    return contents.Contents(
        build=BUILD,
        builds=[BUILD, BUILD],
        older_builds=1,
        corpora=[CORPUS],
        generated=[HOSTILE],
        changes=[HOSTILE],
        voices=[VOICE],
        claims=[CLAIM],
        rules=[RULE],
        differences=DIFFERENCES,
        suites={HOSTILE: [entry]},
        tables=[table],
        relations=draw_relations([table | {"schema": "core"}]),
        conversations=Conversations({"a/b/c": replace(dialogue, key="a/b/c"), HOSTILE: dialogue}),
        defects=[dict.fromkeys(("rule_id", "corpus_id", "listed_for", "title"), HOSTILE) | {"case_count": 4}],
        lineage=lineage,
    )


def test_no_value_becomes_markup(hostile) -> None:
    for name, page in report.render(hostile).items():
        tags = Tags(page).found
        assert [attributes for tag, attributes in tags if tag == "script"] == [{"src": "report.js", "defer": None}], (
            name
        )
        assert "img" not in {tag for tag, _ in tags}, name
        assert [key for _, attributes in tags for key in attributes if key.startswith("on")] == [], name
        assert "&lt;script&gt;" in page, name


def test_absent_corpus_takes_one_line(hostile) -> None:
    absent = CORPUS | {"corpus_id": "absent", "title": "Absent One", "files_present": 0}
    pages = report.render(replace(hostile, corpora=[CORPUS, absent]))
    assert "none of their files was found: Absent One.</p>" in pages["index.html"]
    assert pages["index.html"].count("Absent One") == 1
    assert "Absent One" not in pages["corpora.html"]


@pytest.mark.parametrize("is_there", [True, False])
def test_claim_of_an_earlier_build_leads_nowhere(hostile, is_there: bool) -> None:
    """Regression: expectations and changes of a build with other corpora led to claims that this one does not have."""
    found = replace(hostile, claims=[CLAIM] if is_there else [])
    change = {"corpus_id": "a", "kind": "claim", "table_name": "b", "change": "changed", "row_count": 1}
    builds = report.templates().get_template("builds.html")
    about = {
        "builds": [BUILD],
        "total": 1,
        "figures": {},
        "figure": "",
        "build": "c",
        "chart": drawing.bars("Build", [], []),
    }
    about["changes"] = [change | {"first_keys": [HOSTILE]}]
    for page in (report.render(found)["expectations.html"], builds.render(report.shared(found) | about, page="builds")):
        links = [str(attributes.get("href")) for tag, attributes in Tags(page).found if tag == "a"]
        assert any(link.startswith("claims.html#") for link in links) == is_there


def test_only_web_addresses_become_links(hostile) -> None:
    for page in report.render(hostile).values():
        targets = [attributes["href"] or "" for tag, attributes in Tags(page).found if tag == "a"]
        assert targets
        assert all(
            target.startswith(
                (
                    "#",
                    "dialogue-",
                    "http://127.0.0.1:8501/?key=",
                    report.DBT_DOCS,
                    *(f"{name}.html" for name in report.PAGES),
                )
            )
            for target in targets
        )
    linked = replace(hostile, claims=[CLAIM | {"document_url": "https://example.org/a?b=1"}])
    assert 'href="https://example.org/a?b=1"' in report.render(linked)["claims.html"]


def test_claims_name_their_source_and_the_judged_files(hostile) -> None:
    """In the row of a claim, and counted separately on the first page."""
    pages = report.render(hostile)
    assert "Quoted from this project&#39;s own measurement" in pages["claims.html"]
    assert "Tested on 1,234 rows of generated files." in pages["claims.html"]
    index = " ".join(pages["index.html"].split())
    assert '<th scope="row">this project&#39;s own measurement</th><td>generated files</td>' in index
    assert "claims.html?voice=own_measurement&amp;files=generated&amp;outcome=vacuous" in index


def test_properties_by_design_are_distinguished_from_defects(hostile) -> None:
    pages = report.render(hostile)
    assert "<td>by design</td>" in pages["violations.html"]
    assert "<td>defect</td>" not in pages["violations.html"]
    defective = replace(hostile, rules=[RULE | {"kind": "defect"}])
    assert "<td>defect</td>" in report.render(defective)["violations.html"]


@pytest.mark.parametrize(
    ("in_files", "is_alarm", "words"), [(3, False, "the same number in them."), (2, True, "2 in them.")]
)
def test_known_cases_are_compared_in_their_files(hostile, in_files, is_alarm, words) -> None:
    """Regression: all cases of the build were compared with those of some files, and a right number was an alarm."""
    rule = RULE | {"files": "a.json", "observed": 9, "observed_in_files": in_files}
    page = report.render(replace(hostile, rules=[rule]))["violations.html"]
    assert f"3 cases are known in these files of the complete release: a.json;\nthis build has {words}" in page
    assert "3<br><small>in some files</small>" in page
    assert ('class="number alarm"' in page) == is_alarm


def test_differences_of_tables_are_marked() -> None:
    grid = histories.compare('[["alexa", 92.6], ["none", 0.0]]', '[["alexa", 92.60], ["none", 3]]')
    assert grid is not None
    assert [[(cell.text, cell.differs) for cell in row] for row in grid] == [
        [("alexa", False), ("92.6", False)],
        [("none", False), ("0.0", True)],
    ]


def test_rows_and_cells_without_counterpart_differ() -> None:
    grid = histories.compare("[[1, 2], [3, 4]]", "[[1]]")
    assert grid is not None
    assert [[cell.differs for cell in row] for row in grid] == [[False, True], [True, True]]


@pytest.mark.parametrize(
    ("reported", "rows"),
    [
        ("7", [[7]]),
        ("0.5", [[0.5]]),
        ("none", [["none"]]),
        ("007", [["007"]]),
        ("1_000", [["1_000"]]),
        ("true", [["true"]]),
        ("[[", [["[["]]),
        ("[[1, null]]", [[1, None]]),
        (None, None),
    ],
)
def test_described_values_are_read_back(reported, rows) -> None:
    assert histories.read_rows(reported) == rows


@pytest.mark.parametrize(
    ("reported", "words"),
    [
        ('[["train", 8034], ["dev", null]]', "train 8,034; dev NULL"),
        ('{"unexpected": 0, "of": 3000}', "0 of 3,000 rows unexpected"),
        ('{"value": [1, "a"]}', 'value [1, "a"]'),
        ("{broken", "{broken"),
        (None, ""),
    ],
)
def test_measured_values_are_described_in_words(reported, words) -> None:
    assert histories.in_words(reported) == words
    assert len(histories.in_words(reported, 6)) <= 6


def test_first_table_has_no_marks() -> None:
    assert histories.compare("[[1]]", None) == ((histories.GridCell("1", False),),)
    assert histories.compare(None, "1") is None


@pytest.mark.parametrize(
    ("verdict", "is_as_recorded", "expected"),
    [
        ("reproduced", True, "reproduced"),
        ("refuted", True, "as_recorded"),
        ("refuted", False, "unexpected"),
        ("reproduced", False, "unexpected"),
        ("source_absent", None, "source_absent"),
        ("not_checkable", None, "not_checkable"),
    ],
)
def test_outcome_distinguishes_recorded_refutations(verdict, is_as_recorded, expected) -> None:
    assert report.outcome({"verdict": verdict, "is_as_recorded": is_as_recorded}) == expected


def test_anchors_of_different_names_differ() -> None:
    names = ["a/b", "a b", "a_b", "a-b", "a~2f~b"]
    assert len({report.anchor(name) for name in names}) == len(names)


def test_text_in_backticks_is_code() -> None:
    assert report.prose("`a<b`, `c` or <i> `") == "<code>a&lt;b</code>, <code>c</code> or &lt;i&gt; `"
    assert report.prose(None) == ""
    assert report.prose("`over\nlines`") == "`over\nlines`"


@pytest.mark.parametrize(
    ("key", "turn_index", "fragment"),
    [
        ("a/b/c", None, ""),
        ("a/b/c/0", None, "#turn-0"),
        ("a/b/c/0/frame/0", None, "#turn-0"),
        ("a/b/c", 0, "#turn-0"),
        ("a/b/c/99", None, ""),
        ("a/b/c/vote/x", None, ""),
    ],
)
def test_key_leads_to_its_turn_in_the_page_of_its_dialogue(hostile, key: str, turn_index: int, fragment: str) -> None:
    assert hostile.conversations.address(key, turn_index) == f"{page_name('a/b/c')}{fragment}"


@pytest.mark.parametrize("key", [None, "", "a/b", "a/b/d", "a/b/cc/0", "sgd"])
def test_key_of_a_dialogue_without_a_page_leads_nowhere(hostile, key: str | None) -> None:
    assert hostile.conversations.address(key) is None


def test_conditions_and_parameters_are_described_in_words() -> None:
    one = {"type": "comparison", "column": {"name": "split"}, "operator": "==", "parameter": "train"}
    two = {"type": "comparison", "column": {"name": "role"}, "operator": "IN", "parameter": ["user", "system"]}
    condition = {"type": "and", "conditions": [one, two]}
    assert histories.describe_arguments(
        {"row_condition": condition, "value_set": {"$PARAMETER": "corpora"}, "query": "x"}
    ) == [
        ("only rows where", "split is train and role is one of user, system"),
        ("value set", "the build's corpora"),
    ]


def test_changes_name_counts_and_outcomes() -> None:
    before = BUILD | {"source": "one", "turn_count": 10}
    now = BUILD | {"source": "two", "turn_count": 7}
    passed, failed = {"success": True, "observed": "0"}, {"success": False, "observed": "1"}
    suites = {
        "marts": [
            {"expectation": "keys", "history": [passed, failed]},
            {"expectation": "new", "history": [None, passed]},
        ]
    }
    assert contents.describe_changes(now, before, suites) == [
        "source: two, before one",
        "turns: 7, 3 fewer than before",
        "1 expectation new: marts: new",
        "1 expectation no longer pass: marts: keys",
    ]
    assert contents.describe_changes(now, now, {"marts": [{"expectation": "keys", "history": [passed, passed]}]}) == []


def test_page_of_changes_says_if_there_is_an_earlier_build(hostile) -> None:
    """ "Nothing to compare with" is not the same as "nothing changed"."""
    full = report.render(hostile)["changes.html"]
    assert "and 7 more" in full
    assert "<b>8</b> rows added" in full
    first = report.render(replace(hostile, differences=contents.Differences(None, {kind: [] for kind in KINDS})))
    assert "First build: nothing to compare with." in first["changes.html"]
    same = report.render(replace(hostile, differences=contents.Differences(BUILD, {kind: [] for kind in KINDS})))
    assert "Nothing changed: every table has the same rows" in same["changes.html"]
    reported = ("First build", "Nothing changed", "data-row")
    assert [[text in page for text in reported] for page in (full, first["changes.html"], same["changes.html"])] == [
        [False, False, True],
        [True, False, False],
        [False, True, False],
    ]


@pytest.mark.parametrize("kind", ["file", "folder", "page", "link"])
def test_only_a_report_is_overwritten(tmp_path: Path, kind: str) -> None:
    to = tmp_path / "site"
    if kind == "file":
        to.write_text("mine")
    elif kind == "link":
        to.symlink_to(tmp_path)
    else:
        to.mkdir()
        (to / ("index.html" if kind == "page" else "notes.txt")).write_text("mine")
    with pytest.raises(InputError, match="site"):
        report.write_report(WarehousePaths(tmp_path), Settings(warehouse=tmp_path), to)


@pytest.mark.parametrize("build_id", ["20260101T000000000000Z", "20260102T000000000000Z"])
def test_page_names_its_build_and_lists_others(tmp_path: Path, hostile, build_id: str) -> None:
    others = [{**BUILD, "build_id": f"2026010{day}T000000000000Z"} for day in (1, 2, 3)]
    found = replace(hostile, build={**BUILD, "build_id": build_id}, builds=others)
    page = report.render(found)["index.html"]
    assert all(other["build_id"] in page for other in others)
    for text in (page, page.replace("<p>Build ", "<p>Made by ")):
        (tmp_path / "index.html").write_text(text)
        assert [one["build_id"] for one in others if report.is_about(one["build_id"], tmp_path)] == [build_id]


def test_page_of_an_earlier_version_names_its_build_first(tmp_path: Path) -> None:
    """Such a page has no meta element."""
    (tmp_path / "index.html").write_text(
        "<!doctype html><head><meta charset='utf-8'><title>Overview</title></head><body><dl class='facts'>"
        "<div><dt>Build</dt><dd><code>20260102T000000000000Z</code></dd></div></dl>"
        "<p>Before it: <code>20260101T000000000000Z</code></p>"
    )
    assert report.is_about("20260102T000000000000Z", tmp_path)
    assert not report.is_about("20260101T000000000000Z", tmp_path)
    (tmp_path / "index.html").write_text("20260102T000000000000Z")
    assert not report.is_about("20260102T000000000000Z", tmp_path)


def test_report_needs_a_published_build(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no warehouse"):
        report.write_report(WarehousePaths(tmp_path), Settings(warehouse=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_old_report_is_restored_if_the_new_one_cannot_replace_it(tmp_path: Path) -> None:
    old = tmp_path / "site"
    old.mkdir()
    (old / "index.html").write_text("old")
    with pytest.raises(FileNotFoundError):
        report._replace(old, tmp_path / "never written")
    assert (old / "index.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize("name", ["notes.txt", "thesis.html", "dialogue-1.html", "folder", "index.css"])
def test_report_folder_with_foreign_files_is_not_replaced(tmp_path: Path, name: str) -> None:
    """Regression: files in the folder of a report were deleted with it."""
    to = tmp_path / "site"
    to.mkdir()
    for page in ("index.html", "report.css", f"dialogue-{'0' * 16}.html"):
        (to / page).write_text(report.MARK)
    report._refuse_foreign(to)
    (to / name).mkdir() if name == "folder" else (to / name).write_text("mine")
    with pytest.raises(InputError, match=rf"contains something other than a report \({name}\): not overwritten"):
        report._refuse_foreign(to)
