"""Forms, extra keys and refused records, which core's columns cannot show, are restored at their places."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dialogue_warehouse.corpora.release import Container, Entity
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.lineage.restored_files import EXCEPTION_FORMS, SourceFile, put_back
from dialogue_warehouse.releases.records import Record

ARRAY = Entity("things", dict, Container.ARRAY, r"x\.json")
ENTRIES = Entity("things", dict, Container.ENTRIES, r"x\.json")


def put(entity: Entity, exceptions: list[tuple[str, str]], *records: Record) -> list[Any]:
    """Return the values of the records after these exceptions are restored."""
    file = SourceFile("toy/x.json", "x.json", None, 1, "", exceptions=exceptions)
    return [json.loads(record.text) for record in put_back(entity, file, iter(records))]


def record(value: Any, index: int = 0) -> Record:
    return Record(index, None, f"/{index}", json.dumps(value).encode())


def test_every_form_that_the_tables_accept_is_restored() -> None:
    exceptions = [("/0/a", "absent"), ("/0/b", "null"), ("/0/c", "empty_list"), ("/0/d", "empty_object")]
    assert {form for _, form in exceptions} == set(EXCEPTION_FORMS)
    assert put(ARRAY, exceptions, record({"a": 1, "b": 1, "e": 1})) == [{"b": None, "e": 1, "c": [], "d": {}}]


def test_absent_key_leaves_its_neighbors_and_other_records() -> None:
    found = put(ARRAY, [("/1/turns/0/a~1b", "absent")], *(record({"turns": [{"a/b": 1, "a": 2}]}, n) for n in (0, 1)))
    assert found == [{"turns": [{"a/b": 1, "a": 2}]}, {"turns": [{"a": 2}]}]


def test_absent_key_stays_absent() -> None:
    assert put(ARRAY, [("/0/a", "absent")], record({"b": 1})) == [{"b": 1}]


def test_absent_record_is_left_out() -> None:
    entries = [Record(index, key, f"/{key}", b"{}") for index, key in enumerate("ab")]
    assert [
        found.key
        for found in put_back(
            ENTRIES, SourceFile("t/x", "x", None, 1, "", exceptions=[("/a", "absent")]), iter(entries)
        )
    ] == ["b"]


def test_element_of_an_array_cannot_be_absent() -> None:
    with pytest.raises(InputError, match="/a/0: an element of an array cannot be absent"):
        put(ARRAY, [("/0/a/0", "absent")], record({"a": [1]}))


@pytest.mark.parametrize("key", ["²", "٣", "①", "007", ""])
def test_key_that_only_looks_like_a_number_is_a_key(key: str) -> None:
    exceptions = [(f"/0/{key}", "null"), ("/0/1", "empty_list"), ("/0/b", "null")]
    assert put(ARRAY, exceptions, record({})) == [{key: None, "1": [], "b": None}]


def test_elements_are_inserted_in_the_order_of_their_numbers() -> None:
    exceptions = [(f"/0/{index}", "empty_list") for index in (10, 9, 2, 0)]
    found = put(ARRAY, exceptions, record(list(range(1, 9))))
    assert found == [[[], 1, [], 2, 3, 4, 5, 6, 7, [], [], 8]]


def test_quarantined_document_is_restored_unchanged() -> None:
    """Core has no row of a document that the schema rejects, and a query can still make an empty document of no rows."""
    document = Entity("thing", dict, Container.DOCUMENT, r"x\.json")
    file = SourceFile("toy/x.json", "x.json", None, 1, "", quarantine=[(0, "", b"[]")])
    (found,) = put_back(document, file, iter([Record(0, None, "", b'{"names": []}')]))
    assert (found.pointer, found.text) == ("", b"[]")
    file = SourceFile("toy/x.json", "x.json", None, 1, "")
    (found,) = put_back(document, file, iter([Record(0, None, "", b'{"names": []}')]))
    assert found.text == b'{"names": []}'


@pytest.mark.parametrize(("entity", "keys"), [(ENTRIES, "abcdef"), (ARRAY, "012345")])
def test_records_that_are_empty_have_their_places(entity: Entity, keys: str) -> None:
    file = SourceFile("toy/x.json", "x.json", None, 1, "", quarantine=[(4, f"/{keys[4]}", b"1")])
    file.exceptions.extend((f"/{keys[index]}", "empty_list") for index in (5, 1))
    key = keys if entity is ENTRIES else [None] * 6
    found = put_back(entity, file, iter([Record(index, key[index], f"/{keys[index]}", b"{}") for index in (0, 2, 3)]))
    texts = [b"{}", b"[]", b"{}", b"{}", b"1", b"[]"]
    assert [(record.key, record.pointer, record.text) for record in found] == [
        (key[index], f"/{keys[index]}", text) for index, text in enumerate(texts)
    ]


def test_empty_member_is_before_a_refused_one_of_its_key() -> None:
    """Regression: with another empty member, whose key is earlier in the alphabet, it came after the refused one."""
    file = SourceFile("toy/x.json", "x.json", None, 1, "", quarantine=[(3, "/true", b"[1]")])
    file.exceptions.extend((f"/{key}", "empty_list") for key in ("true", "cost"))
    found = put_back(
        ENTRIES, file, iter([Record(index, key, f"/{key}", b"[2]") for index, key in ((0, "a"), (2, "b"))])
    )
    assert [(record.key, record.text) for record in found] == [
        ("a", b"[2]"),
        ("true", b"[]"),
        ("b", b"[2]"),
        ("true", b"[1]"),
        ("cost", b"[]"),
    ]


def test_rejected_record_with_an_equal_key_is_unchanged() -> None:
    """Content of the first of two equal keys is not searched for in the second, which is in quarantine."""
    file = SourceFile(
        "toy/x.json",
        "x.json",
        None,
        1,
        "",
        extras=[("/a/names/Oslo/x", msgspec.Raw(b"1.10"))],
        quarantine=[(1, "/a", b'{"names": {}}')],
    )
    found = put_back(ENTRIES, file, iter([Record(0, "a", "/a", b'{"names": {"Oslo": {}}}')]))
    assert [record.text for record in found] == [b'{"names":{"Oslo":{"x":1.10}}}', b'{"names": {}}']
