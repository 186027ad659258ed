"""A dialogue as a reader sees it: its spans are marked correctly, and texts of a corpus are only text."""

from __future__ import annotations

import datetime
import json
import re
from html.parser import HTMLParser

import duckdb
import pytest
from rich.console import Console

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading import dialogue_parts
from dialogue_warehouse.reading.dialogue_parts import cut, marked
from dialogue_warehouse.reading.dialogues import keys_of, read_dialogues, shown_key
from dialogue_warehouse.site import rendering
from dialogue_warehouse.terminal.dialogue_text import MARK, print_dialogue
from tests.unit import core_tables
from tests.unit.dialogues import HOSTILE, dialogue, everything, span, turn


def printed(found: dialogue_parts.Dialogue, width: int = 100, **console: object) -> str:
    drawn = Console(width=width, highlight=False, **console)
    with drawn.capture() as capture:
        print_dialogue(found, drawn)
    return capture.get()


@pytest.mark.parametrize(
    ("text", "spans", "expected"),
    [
        ("go to Oslo now", [span(6, 10)], "go to [Oslo](city) now"),
        ("Oslo", [span(0, 4)], "[Oslo](city)"),
        ("go", [], "go"),
        ("", [span(0, 0)], "[](city)"),
        ("at 7 pm.", [span(3, 7, "time"), span(3, 8, "time", status="reject")], "at [[7 pm](time).](time:reject)"),
        ("abcdef", [span(0, 4, "a"), span(2, 6, "b")], "[ab[cd](a)ef](b)"),
        ("abcd", [span(0, 2, "a"), span(2, 4, "b")], "[ab](a)[cd](b)"),
        ("ab", [span(0, 1, "b"), span(0, 1, "a"), span(0, 1, "b")], "[a](a, b x2)b"),
        ("ab", [span(-5, 1, "a"), span(1, 99, "b"), span(7, 3, "c")], "[a](a)[b](b)[](c)"),
        ("ab", [span(None, None), span(1, None)], "ab"),
        ("née 🙂 x", [span(4, 5, "face")], "née [🙂](face) x"),
        ("a", [span(0, 1, None, source_label="as published"), span(0, 1, None)], "[a](as published, span)"),
    ],
)
def test_spans_are_marked_at_their_places(text: str, spans: list[dialogue_parts.Span], expected: str) -> None:
    assert marked(text, spans) == expected
    assert "".join(piece.text for piece in cut(text, spans)) == text


def test_lines_have_speaker_text_and_actions_of_a_turn() -> None:
    text = printed(everything("word"))
    lines = text.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    assert lines[:2] == ["c/p/d", "word, no split, word"]
    assert any(re.fullmatch(r" +0 USER +\[word\]\(word\)", line) for line in lines)
    assert any(line.endswith("+ word: word / other · ~ word: before → word / other · - word: before") for line in lines)
    assert any(re.search(r" call +word\.word\(word=word\)$", line) for line in lines)
    assert any(line.endswith("word=word, the shared one") for line in lines)
    assert "1, the target at 0: word" in text
    assert re.search(r"\n +mention +word=word\n", text)


@pytest.mark.parametrize(
    ("kind", "is_shared", "line", "html"),
    [
        ("find_shared_item", True, "selects   book=1, hat=0, the shared one", "<b>the shared one</b>"),
        ("find_shared_item", False, "selects   book=1, hat=0, not the shared one", "<b>not the shared one</b>"),
        ("divide_items", None, "gets      1 book, 0 hat", "gets <span"),
        ("none", None, "selects   book=1, hat=0", '<span class="pair">'),
    ],
)
def test_goal_decides_how_a_selection_is_worded(kind: str, is_shared: bool | None, line: str, html: str) -> None:
    chosen = dialogue_parts.Selection(
        key="c/p/d/0/action/0",
        agent="0",
        item_index=None,
        item={"book": "1", "hat": "0"},
        is_shared=is_shared,
        is_last=True,
    )
    found = dialogue(turn(None, event_type="selection", selections=[chosen]), goal_kind=kind)
    assert [one for one in printed(found).splitlines() if re.sub(" +", " ", one).endswith(re.sub(" +", " ", line))]
    page = rendering.render_fragment(found)
    assert html in page
    assert ("shared one" in page) == (kind == "find_shared_item")


@pytest.mark.parametrize(
    ("reward", "people", "text"),
    [(1, [("0", 8.0), ("1", 6.5)], "1 (0: 8, 1: 6.5)"), (0, [("0", None)], "0"), (None, [("0", 3.0)], "(0: 3)")],
)
def test_rewards_are_shown_for_the_dialogue_and_for_each_person(
    reward: int | None, people: list[tuple[str, float | None]], text: str
) -> None:
    there = [dialogue_parts.Participant(speaker=name, type=None, reward=own) for name, own in people]
    found = dialogue(turn(), outcome_reward=reward, participants=there)
    assert any(re.fullmatch(rf"reward +{re.escape(text)}", line) for line in printed(found).splitlines())
    assert f"reward {rendering.text_of(text)}" in rendering.render_fragment(found)


@pytest.mark.parametrize(
    ("slot", "value", "text", "html"),
    [
        ("size", "2", "size=2", f"<b>{rendering.text_of('size')}</b> {rendering.text_of('2')}</span>"),
        (None, "2", "2", f">{rendering.text_of('2')}</span>"),
        ("size", None, "size", f"<b>{rendering.text_of('size')}</b> </span>"),
    ],
)
def test_annotation_of_a_kind_of_one_corpus_is_shown_with_its_name(
    slot: str | None, value: str | None, text: str, html: str
) -> None:
    own = dialogue_parts.Annotation(key="c/p/d/0/mention/0", type="mention", service=None, slot=slot, value=value)
    found = dialogue(turn(annotations=[own]))
    assert re.search(rf"\n +mention +{text}$", printed(found), re.M)
    page = rendering.render_fragment(found)
    assert "mention" in page
    assert html in page


@pytest.mark.parametrize("key", sorted(set(keys_of(everything("word"))) | {"d/0/span/0-4/0"}))
def test_requested_row_is_marked_once_at_its_place(key: str) -> None:
    whole = everything("word")
    mark = dialogue_parts.Mark(key=key, table="core.t", shown_key=key, turn_index=None, json_pointer="/0", row={})
    found = dialogue(
        *whole.turns, mark=mark, knowledge=whole.knowledge, answers=whole.answers, guideline=whole.guideline
    )
    head, _, body = printed(found).partition("\n\n")
    assert head.count(MARK.plain) == 1
    assert {line[0] for line in body.splitlines() if MARK.plain in line} <= {MARK.plain, " "}
    if key != found.key and key != "g":
        assert 1 <= body.count(MARK.plain) <= 2
        assert len(re.findall(" data-marked[ >]", rendering.render_page(found))) == 1


@pytest.mark.parametrize("text", [HOSTILE, HOSTILE[:200] + "\n\r\t\0\x9b1mnext"])
def test_hostile_text_reaches_no_terminal(text: str) -> None:
    plain = printed(everything(text))
    assert all(character.isprintable() or character == "\n" for character in plain)
    assert "\\x1b[31mred" in plain
    assert "[bold]no[/bold]" in plain.replace("\n", "")
    colored = printed(everything(text), force_terminal=True, color_system="standard", _environ={})
    assert re.findall(r"\x1b(?!\[[0-9;]*m)", colored) == []
    assert all(letter.isprintable() or letter in "\n\x1b" for letter in colored)
    assert max(map(len, plain.splitlines()[-30:])) <= 100


def test_brackets_and_colons_of_a_corpus_are_shown() -> None:
    """Regression: the name of a column, a person or an option, such as `[/b]`, ended `show` in an internal error."""
    text = printed(everything("[/b] :key:"))
    assert "[/b] :key: knows" in text
    assert re.search(r"^ +\[/b\] :key: *$", text, flags=re.M), "the column of the list"
    assert re.search(r" 1 +chosen +\[/b\] :key: +\[/b\] :key:", text), "the option and its answer"


def test_colors_are_left_out_on_request() -> None:
    def colors(**environment: str) -> list[str]:
        text = printed(everything("word"), force_terminal=True, color_system="standard", _environ=environment)
        return re.findall(r"\x1b\[[0-9;]*3[0-7]m", text)

    assert colors()
    assert colors(NO_COLOR="1") == []


def test_json_keeps_every_text_and_controls_no_terminal() -> None:
    found = everything(HOSTILE + "\ud7ff\u2028\x9b")
    text = dialogue_parts.as_json(found)
    assert all(character.isprintable() or character == "\n" for character in text)
    reported = json.loads(text)
    assert reported["turns"][0]["text"] == found.turns[0].text
    assert reported["format"] == dialogue_parts.FORMAT
    assert reported["turns"][0]["calls"][0]["results"][0]["values"] == [found.turns[0].text]


class Page(HTMLParser):
    """Collect the tags of a page, their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


def test_hostile_text_is_only_text_on_a_page() -> None:
    html = rendering.render_page(everything(HOSTILE))
    found, harmless = Page(html), Page(rendering.render_page(everything("word")))
    assert (found.tags, found.attributes) == (harmless.tags, harmless.attributes)
    assert "script" not in found.tags
    assert not any(name.startswith("on") for name in found.attributes)
    assert found.text.count("<script>alert(1)</script>") > 30
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", html)
    assert "default-src 'none'" in html


@pytest.mark.parametrize(
    ("values", "canonical", "shown"),
    [
        (["noon", "tea time"], ["12:00"], "noon (12:00), tea time"),
        (["noon"], ["12:00", "16:00"], "noon (12:00) (16:00)"),
        (["noon"], ["noon", "16:00"], "noon (16:00)"),
        ([], ["12:00"], "(12:00)"),
        (["noon"], [], "noon"),
        (["noon"], None, "noon"),
        ([], [], ""),
    ],
)
def test_lists_of_unequal_length_are_shown_as_they_are(
    values: list[str], canonical: list[str] | None, shown: str
) -> None:
    """An act of SGD may have more values than canonical values, or fewer."""
    act = dialogue_parts.Act(
        key="a",
        type="t",
        service=None,
        act="OFFER",
        slot=None,
        values=values,
        canonical_values=canonical,
        guideline_steps=[],
    )
    html = rendering.render_page(dialogue(turn("Hello", acts=[act])))
    reported = Page(re.search(r'<span class="act".*?</span>', html, flags=re.S)[0]).text
    assert " ".join(reported.split()) == f"OFFER {shown}".strip()
    printed(dialogue(turn("Hello", acts=[act])))


def test_value_or_service_that_is_missing_is_not_shown_as_a_text() -> None:
    """Regression: a state and a call without a service had the text None before them, and a value of null was None."""
    slot = dialogue_parts.StateSlot(
        key="a", slot="city", change="changed", value="Rome", variants=["Rome", None], previous_value=None
    )
    state = dialogue_parts.State(key="b", service=None, active_intent="buy", requested_slots=[], slots=[slot])
    call = dialogue_parts.Call(
        key="c", service=None, method="price", parameters={"city": None}, result_count=0, columns=[], results=[]
    )
    found = dialogue(turn("Hello", states=[state], calls=[call]))
    lines = [" ".join(line.split()) for line in printed(found).splitlines()]
    assert {"state buy", "~ city: NULL → Rome / NULL", "call price(city=NULL)"} <= set(lines)
    page = " ".join(Page(rendering.render_page(found)).text.split())
    assert "buy ~ city NULL Rome / NULL" in page
    assert "price city NULL" in page


@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        (datetime.datetime(2016, 12, 3, 3, 45, 33, 500), 'datetime="2016-12-03T03:45:33">03:45:33'),
        ("33658-09-27 01:46:39.5", 'datetime="33658-09-27T01:46:39">01:46:39'),
        ("29720-04-05 (BC) 22:13:21", 'datetime="29720-04-05T(BC)T22:13:21">22:13:21'),
    ],
)
def test_time_beyond_the_years_of_python_is_shown(moment: datetime.datetime | str, shown: str) -> None:
    """MutualFriends writes seconds as text, and DuckDB gives a time beyond the year 9999 as text."""
    assert f"<time {shown}</time>" in rendering.render_page(dialogue(turn("Hello", occurred_at=moment)))


def test_page_has_no_characters_that_change_the_writing_direction() -> None:
    hidden = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    html = rendering.render_page(everything(f"שלום{hidden}x"))
    assert not set(hidden) & set(html)
    assert "שלום\\u202a\\u202b" in html
    places = [html[: found.start()] for found in re.finditer("שלום", html)]
    openings = [before[before.rindex("<") :] for before in places]
    assert len(openings) > 30
    assert {opening for opening in openings if 'dir="auto"' not in opening} == {'<mark class="deep1">'}


def test_speakers_are_distinguished_by_side() -> None:
    turns = [
        turn(role=role, speaker=who) for role, who in (("peer", "1"), ("peer", "0"), ("user", "U"), ("system", "S"))
    ]
    assert rendering.sides(turns) == {
        ("peer", "1"): "left",
        ("peer", "0"): "right",
        ("user", "U"): "left",
        ("system", "S"): "right",
    }


@pytest.mark.parametrize(
    ("table", "key", "row", "shown"),
    [
        ("fct_turns", "c/p/d/0", {}, "c/p/d/0"),
        ("fct_slots", "c/p/d/0/frame/0/state/city/0", {"annotation_type": "state"}, "c/p/d/0/frame/0/state/city"),
        ("fct_slots", "c/p/d/0/span/0/1", {"annotation_type": "span"}, "c/p/d/0/span/0/1"),
        (
            "fct_slots",
            "c/p/d/0/frame/0/action_value/3/1",
            {"annotation_type": "action_value", "action_index": 3},
            "c/p/d/0/frame/0/action/3",
        ),
        (
            "fct_slots",
            "c/p/d/2/selection/School",
            {"annotation_type": "selection", "action_index": 0},
            "c/p/d/2/action/0",
        ),
        (
            "fct_slots",
            "c/p/d/0/frame/0/call_parameter/city",
            {"annotation_type": "call_parameter"},
            "c/p/d/0/frame/0/call",
        ),
        ("fct_knowledge_items", "c/p/d/item/0/3/School", {}, "c/p/d/item/0/3"),
    ],
)
def test_row_is_shown_with_its_context(table: str, key: str, row: dict[str, object], shown: str) -> None:
    assert shown_key(table, key, row) == shown


@pytest.mark.parametrize(
    "lacking", ["alter table core.dim_corpora drop column goal_kind", "drop table core.dim_corpora"]
)
def test_build_of_an_older_version_is_named(lacking: str) -> None:
    with duckdb.connect() as con:
        core_tables.create(con)
        con.execute("create schema analytics")
        acts = "missing_acts varchar[], extra_acts varchar[]"
        con.execute(f"create table analytics.guideline_conformance (dialogue_key varchar, conformance varchar, {acts})")
        con.execute(lacking)
        with pytest.raises(
            InputError, match=r"^the build was made by an older version .*: build again, or open a newer copy$"
        ):
            list(read_dialogues(con, ["c/p/d"]))
